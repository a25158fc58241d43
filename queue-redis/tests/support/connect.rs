use std::time::Duration;

use queue_core::Result;
use queue_redis::RedisBackend;
use real_redis::Server;

/// Longer than a busy machine takes for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of this server, for a test in which no connection fails.
pub(crate) async fn connect(server: &Server) -> Result<RedisBackend> {
    RedisBackend::builder(&server.url())?
        .connect_timeout(PATIENCE)
        .response_timeout(PATIENCE)
        .connect()
        .await
}
