//! The end of a connection: by the server, by its silence, or by its last user.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use queue_core::{ErrorKind, Outcome, Running, Spawn, Task, TokioSpawn};
use queue_redis::{ConnectionHealth, Connector, Link, Role, ServerConnector};
use real_redis::{Direction, Proxy, Server};
use redis::RedisResult;

use super::{
    BRIEF, Test, clients, errors::assert_passes, patient::patient, through, to, until::until,
};

#[tokio::test]
async fn a_killed_connection_is_opened_again() -> Test {
    let server = Server::start()?;
    let backend = to(&server).connect().await?;
    for _ in 0..5 {
        server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal"])?;
        // The first request may have gone out on the old connection; it is then `Unknown`, and no
        // other is.
        if let Err(error) = backend.ping().await {
            assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
            backend.ping().await?;
        }
    }
    assert!(backend.health().is_up());
    Ok(())
}

#[tokio::test]
async fn a_call_names_the_end_of_its_connection() -> Test {
    let server = Server::start()?;
    let proxy = Proxy::before(&server)?;
    let backend = patient(&proxy.url()).connect().await?;
    let before = proxy.seen(Direction::Replies);
    proxy.hold(Direction::Replies);
    let ping = tokio::spawn({
        let backend = backend.clone();
        async move { backend.ping().await }
    });
    proxy.beyond(Direction::Replies, before).await;
    proxy.cut();
    let error = ping.await?.expect_err("its connection is cut");
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    assert!(
        error.to_string().contains("the other side closed it"),
        "{error}"
    );
    assert_eq!(queue_testing::chain::texts(&error).len(), 1, "{error}");
    Ok(())
}

#[tokio::test]
async fn a_connection_that_stops_answering_is_opened_again() -> Test {
    let server = Server::start()?;
    let backend = to(&server)
        .response_timeout(BRIEF)
        .connect_timeout(BRIEF)
        .connect()
        .await?;
    let before = clients(&server);
    server.freeze()?;
    for _ in 0..2 {
        let error = backend.ping().await.expect_err("it is frozen");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.outcome(), Outcome::Unknown);
    }
    until("the connection is given up", || !backend.health().is_up()).await;
    let error = backend.ping().await.expect_err("it is frozen");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    assert!(
        !error.to_string().contains("no connection"),
        "why not: {error}"
    );
    server.thaw()?;
    until("there is another", || backend.health().is_up()).await;
    backend.ping().await?;
    let id = |client: &str| client.split(' ').next().map(str::to_owned);
    let old = id(&before[0]);
    until("the old one is closed", || {
        clients(&server).iter().all(|client| id(client) != old)
    })
    .await;
    Ok(())
}

#[tokio::test]
async fn one_slow_answer_does_not_cost_the_connection() -> Test {
    let server = Server::start()?;
    let backend = to(&server).response_timeout(BRIEF).connect().await?;
    let before = clients(&server);
    server.freeze()?;
    backend.ping().await.expect_err("it is frozen");
    server.thaw()?;
    backend.ping().await?;
    let id = |client: &String| client.split(' ').next().map(str::to_owned);
    assert_eq!(id(&clients(&server)[0]), id(&before[0]));
    Ok(())
}

#[tokio::test]
async fn a_server_that_became_unfit_is_not_served_again() -> Test {
    let server = Server::start()?;
    let backend = to(&server).response_timeout(BRIEF).connect().await?;
    server.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"])?;
    backend.ping().await?;
    server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal"])?;
    until("the outage is noticed", || {
        matches!(backend.health().commands, ConnectionHealth::Down(Some(_)))
    })
    .await;
    // A program that connects now gets a permanent error, because its setup is wrong; a program that was
    // connected before keeps trying.
    let error = backend.ping().await.expect_err("it evicts");
    assert_passes(&error, &["allkeys-lru"]);
    server.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "noeviction"])?;
    until("it serves again", || backend.health().is_up()).await;
    backend.ping().await?;
    Ok(())
}

/// Counts the spawned tasks, and the tasks that still run.
#[derive(Debug, Clone, Default)]
struct Counting {
    running: Arc<AtomicUsize>,
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Spawn for Counting {
    fn spawn(&self, task: Task) -> Running {
        self.running.fetch_add(1, Ordering::SeqCst);
        let guard = Guard(Arc::clone(&self.running));
        TokioSpawn::default().spawn(Box::pin(async move {
            let _guard = guard;
            task.await;
        }))
    }
}

#[tokio::test]
async fn the_last_backend_to_be_dropped_leaves_nothing_behind() -> Test {
    let server = Server::start()?;
    let spawn = Counting::default();
    let backend = to(&server).spawn(spawn.clone()).connect().await?;
    let other = backend.clone();
    drop(backend);
    other.ping().await?;
    assert_ne!(spawn.running.load(Ordering::SeqCst), 0);
    drop(other);
    until("every task has ended", || {
        spawn.running.load(Ordering::SeqCst) == 0
    })
    .await;
    until("the server has no client", || clients(&server).is_empty()).await;
    Ok(())
}

/// Counts its connections, and panics for some of them.
#[derive(Debug)]
struct Counted {
    inner: ServerConnector,
    connects: Arc<AtomicUsize>,
    panics: Range<usize>,
}

impl Counted {
    /// A connector to this server that panics at the connections with these numbers.
    fn to(server: &Server, panics: Range<usize>) -> queue_core::Result<Self> {
        let spawn = Arc::new(TokioSpawn::default());
        Ok(Self {
            inner: ServerConnector::new(&server.url(), spawn)?,
            connects: Arc::default(),
            panics,
        })
    }
}

#[async_trait::async_trait]
impl Connector for Counted {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        assert_eq!(role, Role::Commands, "nobody waits");
        let number = self.connects.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics.contains(&number), "as planned");
        self.inner.connect(role).await
    }

    fn address(&self) -> String {
        self.inner.address()
    }
}

#[tokio::test]
async fn a_connector_of_ones_own_is_asked_for_each_connection() -> Test {
    let server = Server::start()?;
    let connector = Counted::to(&server, 0..0)?;
    let connects = Arc::clone(&connector.connects);
    let backend = through(connector).connect().await?;
    backend.ping().await?;
    assert_eq!(connects.load(Ordering::SeqCst), 1);
    server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal"])?;
    until("it connects again", || connects.load(Ordering::SeqCst) == 2).await;
    Ok(())
}

#[tokio::test]
async fn a_connector_that_panics_is_asked_again() -> Test {
    let server = Server::start()?;
    let connector = Counted::to(&server, 1..4)?;
    let connects = Arc::clone(&connector.connects);
    let backend = through(connector).connect().await?;
    server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal"])?;
    until("the panic is reported", || {
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
