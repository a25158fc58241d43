//! The health of a backend that makes no call.

use std::time::Duration;

use queue_redis::ConnectionHealth;
use real_redis::Server;

use super::{BRIEF, Test, to, until::until};

const INTERVAL: Duration = Duration::from_secs(1);
#[tokio::test]
async fn the_health_of_an_idle_backend_shows_that_a_server_hangs() -> Test {
    let server = Server::start()?;
    let builder = to(&server).keep_alive(INTERVAL).response_timeout(BRIEF);
    let backend = builder.connect().await?;
    assert!(backend.health().is_up());
    server.freeze()?;
    until("the outage is reported", || {
        matches!(backend.health().commands, ConnectionHealth::Down(Some(_)))
    })
    .await;
    server.thaw()?;
    until("its end is reported", || backend.health().is_up()).await;
    Ok(())
}
