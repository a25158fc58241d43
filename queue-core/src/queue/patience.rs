//! Calls that wait: they poll again and again, until they find something or their timeout is over.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{Error, ErrorKind, Outcome, Result, TokioSpawn, in_millis, values::deadline::within};

/// The least time for a poll, also when the caller's timeout is over sooner: a poll that is cut may have
/// leased a message that nobody will settle.
const LOOK: Duration = Duration::from_secs(1);

/// Pauses double up to this, so that a waiting caller polls soon after the trouble is over.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The first pause of an error that asks for none, so that a waiting caller does not spin.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// One call's time, pauses and failures.
#[derive(Debug)]
pub(crate) struct Patience {
    start: Instant,
    timeout: Duration,
    /// The last pauses after a failed poll and after a failed wait; zero after a success.
    after_look: Duration,
    after_wait: Duration,
    /// A poll whose reply was lost may have taken effect.
    doubtful: bool,
}

impl Patience {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            start: Instant::now(),
            timeout,
            after_look: Duration::ZERO,
            after_wait: Duration::ZERO,
            doubtful: false,
        }
    }

    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    fn left(&self) -> Duration {
        self.timeout.saturating_sub(self.start.elapsed())
    }

    /// Polls once. `None` if the poll failed and there is time to try again; the pause is over by then. An
    /// error if it is permanent or the last.
    ///
    /// A poll that is not `repeatable` is not tried again once it may have taken effect.
    pub(crate) async fn look<T>(
        &mut self,
        repeatable: bool,
        look: impl Future<Output = Result<T>> + Send,
    ) -> Result<Option<T>> {
        if !self.timeout.is_zero() {
            // Without a runtime, the timers of a caller that waits panic.
            TokioSpawn::current()?;
        }
        let error = match self.bounded(look).await {
            Ok(answer) => {
                self.after_look = Duration::ZERO;
                return Ok(Some(answer));
            }
            Err(error) => error,
        };
        self.doubtful |= error.outcome() == Outcome::Unknown;
        let error = if self.doubtful {
            error.with_outcome(Outcome::Unknown)
        } else {
            error
        };
        let left = self.left();
        let again = (repeatable || !self.doubtful) && !left.is_zero();
        let Some(least) = error.retry_after().filter(|_| again) else {
            return Err(error);
        };
        self.after_look = longer(self.after_look, least);
        sleep(self.after_look.min(left)).await;
        Ok(None)
    }

    /// Waits for a hint, no longer than until `next` or the timeout. Where hints fail, a timer takes their
    /// place, and the result is `None`.
    pub(crate) async fn wait<F, T>(
        &mut self,
        next: Option<Duration>,
        wait: impl FnOnce(Duration) -> F,
    ) -> Option<T>
    where
        F: Future<Output = Result<T>> + Send,
        T: Send,
    {
        let begun = Instant::now();
        let left = self.left();
        let longest = next.unwrap_or(left).min(left);
        let error = match wait(longest).await {
            Ok(answer) => {
                self.after_wait = Duration::ZERO;
                return Some(answer);
            }
            Err(error) => error,
        };
        // A poll may work all the same, and its own error says if it does not.
        let least = error.retry_after().unwrap_or(LONGEST_PAUSE);
        self.after_wait = longer(self.after_wait, least);
        sleep(self.after_wait.min(longest.saturating_sub(begun.elapsed()))).await;
        None
    }

    /// A caller with a zero timeout gets one poll, which only the backend bounds.
    async fn bounded<T>(&self, look: impl Future<Output = Result<T>> + Send) -> Result<T> {
        if self.timeout.is_zero() {
            return look.await;
        }
        let limit = self.left().max(LOOK);
        let answer = within(limit, look).await;
        answer.unwrap_or_else(|| Err(unanswered(limit)))
    }
}

fn longer(pause: Duration, least: Duration) -> Duration {
    // An error may ask for any pause.
    let longer = pause.saturating_mul(2);
    longer.clamp(SHORTEST_PAUSE, LONGEST_PAUSE).max(least)
}

fn unanswered(limit: Duration) -> Error {
    let limit = in_millis(limit);
    let message = format!("no reply within {limit}, and the caller's timeout is over");
    Error::new(ErrorKind::Unavailable, message).with_outcome(Outcome::Unknown)
}
