//! Errors as callers read them.

use std::time::Duration;

use queue_core::{Error, ErrorKind};

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
