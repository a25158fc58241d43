//! Errors as callers read them.

use std::time::Duration;

use queue_core::{Error, ErrorKind, Outcome, QueueName};

const KINDS: [ErrorKind; 11] = [
    ErrorKind::Invalid,
    ErrorKind::ConfigMismatch,
    ErrorKind::Configuration,
    ErrorKind::Full,
    ErrorKind::InUse,
    ErrorKind::LeaseLost,
    ErrorKind::ClaimLost,
    ErrorKind::Codec,
    ErrorKind::Unavailable,
    ErrorKind::OutOfMemory,
    ErrorKind::Internal,
];

#[test]
fn a_pause_is_named_for_exactly_what_is_transient() {
    for kind in KINDS {
        for transient in [true, false] {
            let error = Error::new(kind, "x").with_transient(transient);
            assert_eq!(error.retry_after().is_some(), transient, "{error:?}");
            let error = error.with_retry_after(Duration::from_secs(3));
            assert_eq!(error.is_transient(), transient, "{error:?}");
            let said = transient.then_some(Duration::from_secs(3));
            assert_eq!(error.retry_after(), said, "{error:?}");
        }
    }
}

#[test]
fn no_transient_error_lets_a_loop_spin_by_default() {
    for kind in KINDS {
        let error = Error::new(kind, "x");
        let least = Duration::from_millis(100);
        assert!(
            error.retry_after().is_none_or(|pause| pause >= least),
            "{error:?}"
        );
    }
}

#[test]
fn a_main_that_returns_an_error_prints_a_sentence_with_kind_and_outcome() {
    let jobs = QueueName::new("jobs").unwrap();
    let refused = std::io::Error::other("connection\nrefused");
    let error = Error::new(ErrorKind::Unavailable, "no answer from 10.0.0.1:6379")
        .with_outcome(Outcome::Unknown)
        .with_queue(&jobs)
        .with_source(refused);
    assert_eq!(
        format!("{error:?}"),
        "queue jobs: no answer from 10.0.0.1:6379 (it is unknown whether the call took effect): \
         connection refused [Unavailable, Unknown, try again after 100 ms]"
    );
    let error = Error::invalid("a lease of 0 ms: between 1 ms and 24 h is allowed");
    let line = "a lease of 0 ms: between 1 ms and 24 h is allowed [Invalid, NotApplied]";
    assert_eq!(
        (format!("{error:?}"), format!("{error:#?}")),
        (line.to_owned(), line.to_owned())
    );
    // Errors of others repeat their causes. A cause that the text already contains is shown once.
    let twice = Error::invalid(format!("cannot open: {error}")).with_source(error);
    assert_eq!(format!("{twice:?}").matches("24 h").count(), 1);
}
