use queue_core::{Error, ErrorKind, Outcome};

/// Checks for a permanent error that contains all `parts`.
#[track_caller]
pub(crate) fn assert_lasts(error: &Error, parts: &[&str]) {
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(!error.is_transient(), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    assert_says(error, parts);
}

/// Checks for a transient error, after which a program retries, and that contains all `parts`.
#[track_caller]
pub(crate) fn assert_passes(error: &Error, parts: &[&str]) {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.is_transient(), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    assert!(!error.to_string().contains("report"), "{error}");
    assert_says(error, parts);
}

/// Checks that the error contains all `parts` in one line.
#[track_caller]
pub(crate) fn assert_says(error: &Error, parts: &[&str]) {
    let text = queue_testing::chain::texts(error).join(": ");
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}
