//! Why a server cannot be had.

use std::{error::Error, fmt};

/// Why a test has no server: what was tried, what came of it, and the server's own log where
/// there is one.
///
/// `Debug` prints the same text as `Display`, so that an `unwrap` in a test is readable.
#[derive(Clone)]
pub struct ServerError(String);

impl ServerError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Puts what was tried in front of what came of it.
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
