use std::time::Duration;

use tokio::time::{Instant, sleep};

/// For what happens by itself a moment later; also an interval that never ends within a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until this holds, which something that was done must bring about.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never happened: {what}");
        sleep(Duration::from_millis(2)).await;
    }
}
