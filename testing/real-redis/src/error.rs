//! The error of a test server.

use std::{error::Error, fmt};

/// Why a test has no server: the step that failed, its error, and the server's own log if there is
/// one.
///
/// `Debug` prints the same text as `Display`, so that an `unwrap` in a test is readable.
#[derive(Clone)]
pub struct ServerError(String);

impl ServerError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Puts the failed step in front of its cause.
    pub fn tried(what: &str, cause: impl fmt::Display) -> Self {
        Self(format!("{what}: {cause}"))
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for ServerError {}
