//! How a case ends, other than by failing.

use std::{
    any::Any,
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{Arc, OnceLock},
    task::Poll,
};

use queue_core::{Caveat, Condition, Guarantees};
use tokio::sync::Notify;

use crate::Capability;

/// The end of a case that did not fail.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The case played to its end, and the backend kept the rule.
    Played,
    /// The case did not play, or not to its end.
    Skipped(Skip),
}

/// Why a case did not play to its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Skip {
    /// The harness does not declare this.
    Needs(Capability),
    /// The guarantees of the queue say that it breaks this rule, and why.
    Breaks {
        /// The rule's number in `CONTRACT.md`.
        rule: &'static str,
        /// The reason that the guarantees give.
        because: &'static str,
    },
    /// The case asked for something that the queue lacks by its guarantees.
    Lacks(String),
}

impl Skip {
    /// The rule, if these guarantees break it. A rule that each partition keeps for itself is not broken: a case that
    /// needs it of the whole queue asks for [`Feature::Whole`](queue_core::Feature::Whole).
    pub(crate) fn of_rule(guarantees: &Guarantees, rule: &str) -> Option<Self> {
        let mut caveats = guarantees.caveats.iter();
        let broken = |caveat: &&Caveat| caveat.rule == rule && caveat.when != Condition::Partitions;
        let caveat = caveats.find(broken)?;
        Some(Self::Breaks {
            rule: caveat.rule,
            because: caveat.because,
        })
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Needs(capability) => write!(f, "lacks {capability}"),
            Self::Breaks { rule, because } => write!(f, "breaks {rule}: {because}"),
            Self::Lacks(what) => f.write_str(what),
        }
    }
}

/// Ends a case as skipped, from any of its tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exit(Arc<Reason>);

#[derive(Debug, Default)]
struct Reason {
    skip: OnceLock<Skip>,
    ended: Notify,
}

impl Exit {
    /// Ends the case, and unwinds the task that calls this. The first reason counts.
    pub(crate) fn skip(&self, skip: Skip) -> ! {
        // A later reason may follow from the first one.
        let _ = self.0.skip.set(skip);
        self.0.ended.notify_one();
        // This is no panic, so the panic hook prints nothing.
        resume_unwind(Box::new("this case ends as skipped"))
    }

    /// Plays the case until it ends, or until one of its tasks ends it as skipped. Later failures may follow from the
    /// skip, and do not count.
    pub(crate) async fn or_end(&self, case: impl Future<Output = ()>) -> Ending {
        let played = tokio::select! {
            biased;
            () = self.0.ended.notified() => Ok(()),
            played = caught(case) => played,
        };
        match (self.0.skip.get(), played) {
            (Some(skip), _) => Ending::Skipped(skip.clone()),
            (None, Ok(())) => Ending::Played,
            (None, Err(panic)) => resume_unwind(panic),
        }
    }
}

async fn caught(case: impl Future<Output = ()>) -> Result<(), Box<dyn Any + Send>> {
    let mut case = pin!(case);
    poll_fn(move |cx| {
        // After a panic nobody polls the case again.
        match catch_unwind(AssertUnwindSafe(|| case.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => Poll::Ready(Ok(())),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::in_process::runtime_in_virtual_time;

    fn ending(case: impl Future<Output = ()>, exit: &Exit) -> Ending {
        runtime_in_virtual_time().block_on(exit.or_end(case))
    }

    fn skip() -> Skip {
        Skip::Lacks("it lacks headers".to_owned())
    }

    #[test]
    fn a_skip_in_a_task_ends_a_case_that_waits_for_ever() {
        let exit = Exit::default();
        let task = exit.clone();
        let case = async move {
            tokio::spawn(async move { task.skip(skip()) });
            std::future::pending::<()>().await;
        };
        assert_eq!(ending(case, &exit), Ending::Skipped(skip()));
    }

    #[test]
    fn a_failure_after_a_skip_is_the_skips() {
        let exit = Exit::default();
        let task = exit.clone();
        let case = async move {
            let task = tokio::spawn(async move { task.skip(skip()) });
            task.await.expect("runs");
        };
        assert_eq!(ending(case, &exit), Ending::Skipped(skip()));
    }

    #[test]
    fn a_failure_without_a_skip_fails() {
        let exit = Exit::default();
        let case = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            resume_unwind(Box::new("a rule is broken"));
        };
        let failed = catch_unwind(AssertUnwindSafe(|| ending(case, &exit)));
        let panic = failed.expect_err("the case fails");
        assert_eq!(panic.downcast_ref(), Some(&"a rule is broken"));
    }

    #[test]
    fn a_case_that_completes_is_played() {
        assert_eq!(ending(async {}, &Exit::default()), Ending::Played);
    }
}
