//! The errors while a server is demoted, restarted or replaced are transient.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use queue_core::*;
use queue_redis::{ConnectionHealth, Connector, Link, RedisBackend, Role, ServerConnector};
use real_redis::{Server, ServerError};
use redis::RedisResult;

use super::{
    BRIEF, Test,
    errors::{assert_lasts, assert_passes},
    open::open,
    patient::patient,
    through, to,
    until::until,
};

fn with_tcp() -> std::result::Result<Server, ServerError> {
    Server::builder().with_tcp().start()
}

fn follow(server: &Server, primary: Option<&Server>) {
    let ordered = match primary {
        Some(primary) => {
            let port = primary.port().expect("it has a port").to_string();
            server.ask::<()>(&["REPLICAOF", "127.0.0.1", &port])
        }
        None => server.ask(&["REPLICAOF", "NO", "ONE"]),
    };
    ordered.expect("the server obeys");
}

async fn outage(backend: &RedisBackend) {
    until("the outage is noticed", || {
        matches!(backend.health().commands, ConnectionHealth::Down(Some(_)))
    })
    .await;
}

#[tokio::test]
async fn a_demoted_primary_is_left_and_may_come_back() -> Test {
    let (server, other) = (with_tcp()?, with_tcp()?);
    let backend = to(&server).response_timeout(BRIEF).connect().await?;
    let queue = open(&backend, "q").await?;
    follow(&server, Some(&other));
    // The connection is still open.
    let error = queue.push_one("no").await.expect_err("a replica");
    assert_passes(&error, &["READONLY"]);
    outage(&backend).await;
    let error = queue.push_one("no").await.expect_err("no primary");
    assert_passes(&error, &["replica"]);
    // For a program that connects now, the setup is wrong.
    let refused = to(&server).connect().await.expect_err("a replica");
    assert_lasts(&refused, &[]);
    follow(&server, None);
    until("it serves again", || backend.health().is_up()).await;
    let _ = queue.push_one("yes").await?;
    Ok(())
}

#[tokio::test]
async fn a_reader_does_not_stay_on_a_demoted_primary() -> Test {
    let (server, other) = (with_tcp()?, with_tcp()?);
    let backend = to(&server).response_timeout(BRIEF).connect().await?;
    let queue = open(&backend, "q").await?;
    follow(&server, Some(&other));
    assert_passes(&queue.depth().await.expect_err("a replica"), &["READONLY"]);
    outage(&backend).await;
    Ok(())
}

/// Looks up the primary at each connect, as a connector behind a sentinel does.
#[derive(Debug)]
struct Lookup(Arc<Mutex<ServerConnector>>);

#[async_trait]
impl Connector for Lookup {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        let found = self.0.lock().expect("no panic").clone();
        found.connect(role).await
    }

    fn address(&self) -> String {
        "the primary".to_owned()
    }
}

#[tokio::test]
async fn a_live_connection_to_a_demoted_primary_is_replaced_by_one_to_the_new() -> Test {
    let old = with_tcp()?;
    let new = Server::builder().with_tcp().with_primary(&old)?.start()?;
    let find =
        |server: &Server| ServerConnector::new(&server.url(), Arc::new(TokioSpawn::default()));
    let found = Arc::new(Mutex::new(find(&old)?));
    let backend = through(Lookup(Arc::clone(&found)));
    let backend = backend.connect().await?;
    let queue = open(&backend, "q").await?;
    let _ = queue.push_one("before").await?;
    until("the replica has it", || {
        new.ask(&["EXISTS", "qk:{q}:ready"]).expect("it answers")
    })
    .await;
    follow(&new, None);
    follow(&old, Some(&new));
    *found.lock().expect("no panic") = find(&new)?;
    let error = queue.push_one("no").await.expect_err("a replica");
    assert_passes(&error, &["READONLY"]);
    let _ = queue.push_one("after").await?;
    assert_eq!(queue.depth().await?.ready, 2);
    Ok(())
}

#[tokio::test]
async fn a_password_asked_for_later_may_pass() -> Test {
    let server = Server::start()?;
    let backend = to(&server).response_timeout(BRIEF).connect().await?;
    let mut admin = server.connect()?;
    let mut command = |words: &[&str]| redis::cmd(words[0]).arg(&words[1..]).exec(&mut admin);
    command(&["CONFIG", "SET", "requirepass", "secret"])?;
    command(&["CLIENT", "KILL", "TYPE", "normal"])?;
    outage(&backend).await;
    let error = backend.ping().await.expect_err("no password");
    assert_passes(&error, &["password"]);
    let refused = patient(&server.url()).connect().await;
    let refused = refused.expect_err("no password");
    assert_lasts(&refused, &[]);
    command(&["CONFIG", "SET", "requirepass", ""])?;
    until("it lets us in again", || backend.health().is_up()).await;
    backend.ping().await?;
    Ok(())
}

fn loads(server: &Server) -> bool {
    let loading = server.info("persistence", "loading");
    loading.expect("it answers").as_deref() == Some("1")
}

/// Has a server take a minute or so to load the data from its new primary.
async fn load_slowly(server: &Server, primary: &Server) -> Test {
    // While it loads, a server answers once for each 2 MiB read: 50 keys, so about once a second.
    primary.ask::<()>(&["CONFIG", "SET", "rdbcompression", "no"])?;
    let mut connection = primary.connect()?;
    for number in 0..2_000 {
        let mut set = redis::cmd("SET");
        let set = set.arg(number).arg("x".repeat(40 << 10));
        set.exec(&mut connection)?;
    }
    for (setting, value) in [
        ("repl-diskless-load", "disabled"),
        ("key-load-delay", "20000"),
    ] {
        server.ask::<()>(&["CONFIG", "SET", setting, value])?;
    }
    follow(server, Some(primary));
    until("it loads", || loads(server)).await;
    Ok(())
}

#[tokio::test]
async fn a_server_that_loads_its_data_is_waited_for() -> Test {
    let server = with_tcp()?;
    let primary = with_tcp()?;
    let backend = to(&server).connect().await?;
    let queue = open(&backend, "q").await?;
    load_slowly(&server, &primary).await?;
    let error = queue.push_one("no").await.expect_err("it loads");
    assert_passes(&error, &["LOADING"]);
    let error = to(&server).connect().await.expect_err("it loads");
    assert_passes(&error, &["loading"]);
    server.ask::<()>(&["CONFIG", "SET", "key-load-delay", "0"])?;
    until("it has loaded", || !loads(&server)).await;
    follow(&server, None);
    until("it serves again", || backend.health().is_up()).await;
    let _ = open(&backend, "q").await?.push_one("yes").await?;
    Ok(())
}

#[tokio::test]
async fn a_server_without_room_for_another_client_says_so() -> Test {
    let server = Server::builder()
        .with_tcp()
        .with_line("maxclients 10")
        .start()?;
    let tcp = format!("{}/1", server.tcp_url().expect("it has a port"));
    let mut held = Vec::new();
    let mut admin = server.connect()?;
    while let Ok(connection) = server.connect() {
        held.push(connection);
        assert!(held.len() < 10, "the limit holds nothing");
    }
    for url in [server.url(), tcp] {
        let refused = patient(&url).connect().await.expect_err("no room");
        assert_passes(&refused, &["max number of clients"]);
    }
    redis::cmd("CONFIG")
        .arg("SET")
        .arg("maxclients")
        .arg(100)
        .exec(&mut admin)?;
    patient(&server.url()).connect().await?.ping().await?;
    Ok(())
}
