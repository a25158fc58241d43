//! The health of a backend that makes no call.

use std::time::Duration;

use queue_redis::ConnectionHealth;
use real_redis::Server;

use super::{Test, to, until::until};

const INTERVAL: Duration = Duration::from_secs(1);

#[tokio::test]
async fn an_idle_backend_tells_of_a_server_that_hangs() -> Test {
    let server = Server::start()?;
    let builder = to(&server).keep_alive(INTERVAL);
    let builder = builder.response_timeout(INTERVAL).connect_timeout(INTERVAL);
    let backend = builder.connect().await?;
    assert!(backend.health().is_up());
    server.freeze()?;
    until("the outage is told", || {
        matches!(backend.health().commands, ConnectionHealth::Down(Some(_)))
    })
    .await;
    server.thaw()?;
    until("its end is told", || backend.health().is_up()).await;
    Ok(())
}
