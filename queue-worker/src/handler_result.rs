//! How the handling of a message ended, and its words for logs.

use queue_core::in_millis;

use super::{Failure, Remedy, Verdict, guard::AbnormalEnd};

/// The end of one message's handling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HandlerResult {
    Returned(Verdict),
    /// The body does not decode, for this reason.
    Undecodable(String),
    Abnormal(AbnormalEnd),
}

impl HandlerResult {
    /// Whether the attempt failed. One that was deferred, as that of a durable job that sleeps, did not.
    pub(crate) fn has_failed(&self) -> bool {
        match self.failure() {
            Some(failure) => !matches!(failure.remedy(), Remedy::Defer { .. }),
            None => false,
        }
    }

    /// The failure of the attempt, if it has one.
    pub(crate) fn failure(&self) -> Option<Failure> {
        Some(match self {
            Self::Returned(Verdict::Done | Verdict::DoneWith(_)) => return None,
            Self::Returned(Verdict::Failed(failure)) => failure.clone(),
            Self::Undecodable(reason) => Failure::new(format!("cannot decode: {reason}")),
            Self::Abnormal(AbnormalEnd::Panicked(message)) => {
                Failure::new(format!("panicked: {message}"))
            }
            Self::Abnormal(AbnormalEnd::TimedOut(limit)) => {
                Failure::new(format!("timed out after {}", in_millis(*limit)))
            }
        })
    }
}

#[cfg(any(feature = "tracing", feature = "metrics"))]
impl HandlerResult {
    /// The name in labels and fields.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Returned(Verdict::Done | Verdict::DoneWith(_)) => "done",
            Self::Returned(Verdict::Failed(failure)) => match failure.remedy() {
                Remedy::Defer { .. } => "deferred",
                _ => "failed",
            },
            Self::Undecodable(_) => "undecodable",
            Self::Abnormal(AbnormalEnd::Panicked(_)) => "panicked",
            Self::Abnormal(AbnormalEnd::TimedOut(_)) => "timed_out",
        }
    }
}
