//! The one error.

use std::fmt;

/// A server that does not start or answer, in words.
#[derive(Debug, Clone)]
pub struct ServerError(String);

impl ServerError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    pub(crate) fn tried(what: &str, error: impl fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}
