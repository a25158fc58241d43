//! Waiting in real time for what an earlier step brings about.

use std::{fmt::Debug, time::Duration};

use tokio::time::{sleep, timeout};

/// Longer than an event that follows on its own takes; also an interval that no test outlasts.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The bound of a wait. Only a real fault exceeds it, also on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

/// The pause between two looks, or two calls.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits for an event that an earlier step must bring about.
///
/// # Panics
///
/// After a minute.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(value) = timeout(BOUND, future).await else {
        panic!("{what}: not within {BOUND:?}");
    };
    value
}

/// Repeats a call until it succeeds. An error that is not transient fails the test.
///
/// # Panics
///
/// At an error for which `is_transient` is false, and after a minute.
pub async fn at_last<T, E, F>(call: impl Fn() -> F + Send + Sync, is_transient: fn(&E) -> bool) -> T
where
    T: Send,
    E: Debug + Send,
    F: Future<Output = Result<T, E>> + Send,
{
    within("the server answers", async {
        loop {
            match call().await {
                Ok(answer) => return answer,
                Err(error) => assert!(is_transient(&error), "{error:?}"),
            }
            sleep(PAUSE).await;
        }
    })
    .await
}

/// Waits until `holds`, which an earlier step must bring about.
///
/// # Panics
///
/// After a minute.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    within(what, async move {
        while !holds() {
            sleep(PAUSE).await;
        }
    })
    .await;
}
