//! Waiting in real time for what an earlier step brings about.

use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Longer than an event that follows on its own takes; also an interval that no test outlasts.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The bound of a wait. Only a real fault exceeds it, also on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

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

/// Waits until `holds`, which an earlier step must bring about.
///
/// # Panics
///
/// After a minute.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    within(what, async move {
        while !holds() {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
