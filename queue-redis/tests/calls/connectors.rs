//! Connectors that panic.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use queue_core::TokioSpawn;
use queue_redis::{ConnectionHealth, Connector, Link, RedisBackend, Role, ServerConnector};
use real_redis::Server;
use redis::RedisResult;

use super::{Test, until::until};

/// Panics for some of its connections.
#[derive(Debug)]
struct Fragile {
    inner: ServerConnector,
    connects: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl Connector for Fragile {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        let number = self.connects.fetch_add(1, Ordering::SeqCst);
        assert!(!(1..4).contains(&number), "as planned");
        self.inner.connect(role).await
    }

    fn address(&self) -> String {
        self.inner.address()
    }
}

#[tokio::test]
async fn a_connector_that_panics_is_asked_again() -> Test {
    let server = Server::start()?;
    let connects = Arc::new(AtomicUsize::new(0));
    let spawn = Arc::new(TokioSpawn::default());
    let backend = RedisBackend::with_connector(Fragile {
        inner: ServerConnector::new(&server.url(), spawn)?,
        connects: Arc::clone(&connects),
    })
    .connect()
    .await?;
    server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal"])?;
    until("the panic is told", || {
        let health = backend.health().commands;
        connects.load(Ordering::SeqCst) >= 4
            || matches!(health, ConnectionHealth::Down(Some(reason))
                if reason.to_string().contains("as planned"))
    })
    .await;
    until("it connects again", || backend.health().is_up()).await;
    assert_eq!(connects.load(Ordering::SeqCst), 5);
    backend.ping().await?;
    Ok(())
}
