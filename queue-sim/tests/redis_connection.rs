//! Connections to Redis: what is refused at open, and what happens when one ends.

#![cfg(unix)]

use std::{
    error::Error as StdError,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use queue_core::{Error, ErrorKind, Outcome, Running, Spawn, Task, TokioSpawn};
use queue_redis::{Builder, ConnectionHealth, Connector, Link, RedisBackend, Role, Warning};
use queue_sim::redis::{Aof, Server};
use redis::RedisResult;
use tokio::time::{Instant, sleep};

type Test = Result<(), Box<dyn StdError>>;

/// For what happens by itself a moment later.
const PATIENCE: Duration = Duration::from_secs(30);

/// A timeout that a test waits for. Long enough for a server that does answer.
const BRIEF: Duration = Duration::from_millis(400);

async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never happened: {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

async fn refused(builder: Builder) -> Error {
    let refused = builder.connect().await;
    refused.expect_err("it must be refused")
}

fn to(server: &Server) -> Builder {
    RedisBackend::builder(&server.url()).expect("the harness gives good URLs")
}

fn command(server: &Server, words: &[&str]) -> redis::Value {
    let mut connection = server.connect().expect("the server runs");
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query(&mut connection).expect("the server obeys")
}

/// The clients that the server has, other than the one that asks.
fn clients(server: &Server) -> Vec<String> {
    let mut connection = server.connect().expect("the server runs");
    let mut command = redis::cmd("CLIENT");
    let list: String = command.arg("LIST").query(&mut connection).expect("it does");
    let others = list.lines().filter(|line| !line.contains(" cmd=client"));
    others.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_server_that_is_down_is_an_error_that_names_it() -> Test {
    for (url, address) in [
        (
            "redis://worker:hunter2@127.0.0.1:1/3",
            "redis://127.0.0.1:1/3",
        ),
        (
            "unix:///nowhere/redis.sock?pass=hunter2&user=worker",
            "/nowhere/redis.sock",
        ),
    ] {
        let builder = RedisBackend::builder(url)?;
        assert!(!format!("{builder:?}").contains("hunter2"));
        let error = refused(builder).await;
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.outcome(), Outcome::NotApplied);
        assert!(error.is_transient());
        assert!(error.to_string().contains(address), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"));
    }
    Ok(())
}

#[tokio::test]
async fn a_bad_url_is_refused_before_anything_is_tried() {
    for (url, kind, named) in [
        ("http://localhost", ErrorKind::Invalid, "http"),
        ("localhost:6379", ErrorKind::Invalid, "redis://"),
        ("redis://", ErrorKind::Invalid, "redis://user"),
        ("redis://localhost/one", ErrorKind::Invalid, "redis://user"),
        ("rediss://localhost", ErrorKind::Configuration, "TLS"),
    ] {
        let error = RedisBackend::connect(url).await.expect_err(url);
        assert_eq!(error.kind(), kind, "{url}");
        assert!(error.to_string().contains(named), "{url}: {error}");
    }
    let error = RedisBackend::builder("redis://worker:hunter2@localhost/one").expect_err("bad");
    assert!(!format!("{error:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_setting_beyond_its_limits_is_refused() -> Test {
    let builder = || RedisBackend::builder("unix:///nowhere/redis.sock");
    let too_long = "x".repeat(65);
    for prefix in ["", "a:b", "{a}", "two words", too_long.as_str()] {
        let error = refused(builder()?.prefix(prefix)).await;
        assert_eq!(error.kind(), ErrorKind::Invalid, "{prefix}");
    }
    for wrong in [Duration::ZERO, Duration::from_secs(3601)] {
        for builder in [
            builder()?.connect_timeout(wrong),
            builder()?.response_timeout(wrong),
            builder()?.fall_back(wrong),
        ] {
            assert_eq!(refused(builder).await.kind(), ErrorKind::Invalid);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_user_needs_the_right_password() -> Test {
    let server = Server::builder().with_password("right").start()?;
    let socket = server.socket();
    let with = |query: &str| format!("unix://{}{query}", socket.display());
    for query in ["", "?pass=wrong-one", "?user=nobody&pass=wrong-one"] {
        let error = refused(RedisBackend::builder(&with(query))?).await;
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
        assert!(!error.is_transient());
        assert!(error.to_string().contains("password"), "{error}");
        assert!(!format!("{error:?}").contains("wrong-one"), "{error:?}");
    }
    RedisBackend::connect(&server.url()).await?.ping().await?;
    Ok(())
}

#[tokio::test]
async fn a_database_and_a_port_can_be_named() -> Test {
    let server = Server::builder().with_tcp().start()?;
    let url = server.tcp_url().expect("it has a port");
    let backend = RedisBackend::connect(&format!("{}/7", url.trim_end_matches("/0"))).await?;
    backend.ping().await?;
    let clients = clients(&server);
    assert!(
        clients.iter().any(|client| client.contains(" db=7 ")),
        "{clients:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_replica_is_refused_with_the_reason() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let replica = Server::builder().with_primary(&primary)?.start()?;
    let error = refused(to(&replica)).await;
    assert_eq!(error.kind(), ErrorKind::Configuration);
    let port = primary.port().expect("it has a port").to_string();
    for part in ["replica", "primary", &port] {
        assert!(error.to_string().contains(part), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_drops_messages_is_refused_unless_accepted_by_name() -> Test {
    let server = Server::builder()
        .with_aof(Aof::EverySecond)
        .with_line("maxmemory-policy allkeys-lru")
        .start()?;
    let error = refused(to(&server)).await;
    assert_eq!(error.kind(), ErrorKind::Configuration);
    for part in ["allkeys-lru", "noeviction", "allow_eviction"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let backend = to(&server).allow_eviction().connect().await?;
    assert_eq!(
        backend.warnings(),
        [Warning::Evicts("allkeys-lru".to_owned())]
    );

    command(
        &server,
        &["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"],
    );
    let backend = to(&server).connect().await?;
    assert_eq!(
        backend.warnings(),
        [Warning::EvictsExpiring("volatile-ttl".to_owned())]
    );
    Ok(())
}

#[tokio::test]
async fn a_server_without_persistence_is_warned_of() -> Test {
    let server = Server::start()?;
    command(&server, &["CONFIG", "SET", "save", ""]);
    let warnings = to(&server).connect().await?.warnings();
    assert_eq!(warnings, [Warning::NotPersistent]);
    command(&server, &["CONFIG", "SET", "save", "3600 1"]);
    assert_eq!(to(&server).connect().await?.warnings(), []);
    Ok(())
}

#[tokio::test]
async fn a_user_who_may_not_ask_is_served_with_a_warning() -> Test {
    let server = Server::builder()
        .with_user("worker", "secret", "~* +@all -info -config")
        .start()?;
    let backend = RedisBackend::connect(&server.url_as("worker", "secret")).await?;
    assert_eq!(backend.warnings(), [Warning::Unchecked]);
    backend.ping().await?;
    Ok(())
}

#[tokio::test]
async fn a_killed_connection_is_opened_again() -> Test {
    let server = Server::start()?;
    let backend = to(&server).connect().await?;
    for _ in 0..5 {
        command(&server, &["CLIENT", "KILL", "TYPE", "normal"]);
        // The first may still have been sent on the old one; that is `Unknown`, and no other is.
        if let Err(error) = backend.ping().await {
            assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
            backend.ping().await?;
        }
    }
    assert!(backend.health().is_up());
    Ok(())
}

#[tokio::test]
async fn a_call_during_a_restart_waits_for_the_server() -> Test {
    let server = Server::start()?;
    let backend = to(&server).response_timeout(PATIENCE).connect().await?;
    server.shut_down()?;
    until("the outage is noticed", || !backend.health().is_up()).await;
    let ping = tokio::spawn({
        let backend = backend.clone();
        async move { backend.ping().await }
    });
    server.start_again()?;
    ping.await??;
    assert!(backend.health().is_up());
    Ok(())
}

#[tokio::test]
async fn a_call_during_a_long_outage_was_certainly_not_sent() -> Test {
    let server = Server::start()?;
    let backend = to(&server).response_timeout(BRIEF).connect().await?;
    server.kill()?;
    until("the outage is noticed", || {
        matches!(backend.health().commands, ConnectionHealth::Down(Some(_)))
    })
    .await;
    let error = backend.ping().await.expect_err("there is no server");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.is_transient());
    let socket = server.socket().display().to_string();
    assert!(error.to_string().contains(&socket), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_connection_that_stops_answering_is_opened_anew() -> Test {
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
    command(
        &server,
        &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"],
    );
    backend.ping().await?;
    command(&server, &["CLIENT", "KILL", "TYPE", "normal"]);
    until("the outage is noticed", || {
        matches!(backend.health().commands, ConnectionHealth::Down(Some(_)))
    })
    .await;
    let error = backend.ping().await.expect_err("it evicts");
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("allkeys-lru"), "{error}");
    command(
        &server,
        &["CONFIG", "SET", "maxmemory-policy", "noeviction"],
    );
    until("it serves again", || backend.health().is_up()).await;
    backend.ping().await?;
    Ok(())
}

/// Counts what is spawned, and what of it still runs.
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

#[derive(Debug)]
struct Detour {
    inner: queue_redis::ServerConnector,
    connects: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl Connector for Detour {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        assert_eq!(role, Role::Commands, "nobody waits");
        self.connects.fetch_add(1, Ordering::SeqCst);
        self.inner.connect(role).await
    }

    fn address(&self) -> String {
        self.inner.address()
    }
}

#[tokio::test]
async fn a_connector_of_ones_own_is_asked_for_each_connection() -> Test {
    let server = Server::start()?;
    let connects = Arc::new(AtomicUsize::new(0));
    let spawn = Arc::new(TokioSpawn::default());
    let backend = RedisBackend::with_connector(Detour {
        inner: queue_redis::ServerConnector::new(&server.url(), spawn)?,
        connects: Arc::clone(&connects),
    })
    .connect()
    .await?;
    backend.ping().await?;
    assert_eq!(connects.load(Ordering::SeqCst), 1);
    command(&server, &["CLIENT", "KILL", "TYPE", "normal"]);
    until("it connects again", || connects.load(Ordering::SeqCst) == 2).await;
    Ok(())
}
