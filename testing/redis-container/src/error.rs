//! The error of a container.

use std::{error::Error, fmt};

/// Why there is no container: the step that failed, its causes, and what to do.
///
/// `Debug` prints the same text as `Display`, so that an `unwrap` in a test is readable.
#[derive(Clone)]
pub struct ContainerError(String);

impl ContainerError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Puts the failed step in front of its causes, the innermost last.
    pub(crate) fn tried(what: &str, cause: &dyn Error) -> Self {
        let mut message = format!("{what}: {cause}");
        let mut inner = cause.source();
        while let Some(error) = inner {
            let said = error.to_string();
            // Many errors repeat their cause.
            if !message.contains(&said) {
                message = format!("{message}: {said}");
            }
            inner = error.source();
        }
        Self(message)
    }
}

impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for ContainerError {}
