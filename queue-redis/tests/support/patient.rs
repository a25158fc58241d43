use std::time::Duration;

use queue_redis::{Builder, RedisBackend};

/// Longer than a busy machine takes for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the servers at this URL, for a test in which no timeout has to pass.
pub(crate) fn patient(url: &str) -> Builder {
    RedisBackend::builder(url)
        .expect("the tests give good URLs")
        .connect_timeout(PATIENCE)
        .response_timeout(PATIENCE)
}
