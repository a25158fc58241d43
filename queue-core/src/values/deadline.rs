//! The time for which the caller of a poll waits.

use std::{future::Future, time::Duration};

use tokio::time::Instant;

tokio::task_local! {
    static DEADLINE: Instant;
}

/// How much earlier a backend ends a poll than its caller: the backend's error has to reach the caller in time.
const EARLIER: Duration = Duration::from_millis(20);

/// The time at which a call that this task makes is dropped, if its caller waits for a limited time
/// ([`receive`](crate::LeasingExt::receive) and its like).
///
/// A backend that has sent nothing by then returns an error of the outcome
/// [`NotApplied`](crate::Outcome::NotApplied). A call that is dropped instead is of unknown outcome (L8). A backend need
/// not look at this, and a task that it spawns does not see it.
///
/// Under tokio's paused clock this is a time of that clock, as [`tokio::time::Instant::into_std`] returns it.
pub fn caller_deadline() -> Option<std::time::Instant> {
    let deadline = DEADLINE.try_with(|deadline| *deadline);
    deadline.map(Instant::into_std).ok()
}

/// Runs a poll whose caller waits for `limit` from now on. `None` if the poll takes longer.
pub(crate) async fn within<T>(limit: Duration, poll: impl Future<Output = T>) -> Option<T> {
    let Some(end) = Instant::now().checked_add(limit) else {
        return Some(poll.await);
    };
    let poll = DEADLINE.scope(end - EARLIER.min(limit), poll);
    tokio::time::timeout_at(end, poll).await.ok()
}
