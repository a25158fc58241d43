//! An error's text, with those of its sources.

use std::error::Error;

/// The error's text, and the texts of its sources: the whole chain in one line, for a log, a dead letter or a person.
///
/// Errors of this library have each cause once. Other errors repeat a cause in their own text; a repeated cause is left
/// out.
///
/// ```
/// use queue_core::{Error, ErrorKind, with_sources};
///
/// let refused = Error::new(ErrorKind::Unavailable, "connection refused");
/// let error = Error::new(ErrorKind::Unavailable, "cannot charge").with_source(refused);
/// assert_eq!(error.to_string(), "cannot charge");
/// assert_eq!(with_sources(&error), "cannot charge: connection refused");
/// ```
pub fn with_sources(error: &dyn Error) -> String {
    // In the alternate form, errors that keep their causes show them.
    let mut text = format!("{error:#}");
    let mut source = error.source();
    while let Some(cause) = source {
        let text_of_cause = cause.to_string();
        if !text.contains(&text_of_cause) {
            text.push_str(": ");
            text.push_str(&text_of_cause);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Error, ErrorKind},
        with_sources,
    };

    fn error(text: &'static str) -> Error {
        Error::new(ErrorKind::Unavailable, text)
    }

    #[test]
    fn each_cause_is_shown_once() {
        let refused = error("connection refused");
        assert_eq!(with_sources(&refused), "connection refused");
        let twice = error("cannot ask the bank: connection refused").with_source(refused.clone());
        let deep = error("cannot charge").with_source(error("no bank").with_source(refused));
        assert_eq!(
            with_sources(&twice),
            "cannot ask the bank: connection refused"
        );
        assert_eq!(
            with_sources(&deep),
            "cannot charge: no bank: connection refused"
        );
    }
}
