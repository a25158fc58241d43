//! Waiting in real time for what an earlier step brings about.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Longer than an event that follows on its own takes; also an interval that no test outlasts.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `holds`, which an earlier step must bring about.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never happened: {what}");
        sleep(Duration::from_millis(2)).await;
    }
}
