//! The connector that lets a real server's clients run in virtual time.

#![cfg(unix)]

use std::time::Duration;

use queue_redis::{Connector, Link, Role};
use queue_sim::redis::{Server, VirtualConnector};
use redis::{Cmd, Value, aio::ConnectionLike};
use tokio::time::Instant;

async fn link(connector: &VirtualConnector, role: Role) -> Link {
    connector.connect(role).await.expect("the server runs")
}

fn command(words: &str) -> Cmd {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().expect("a command"));
    for word in words {
        command.arg(word);
    }
    command
}

async fn ask(link: &Link, words: &str) -> Value {
    let answer = link.clone().req_packed_command(&command(words)).await;
    answer.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn commands_take_no_time() {
    let server = Server::start().expect("a server");
    let connector = VirtualConnector::new(&server.url()).expect("a URL");
    let link = link(&connector, Role::Commands).await;
    let start = Instant::now();
    for count in 1..=200 {
        assert_eq!(ask(&link, "INCR key").await, Value::Int(count));
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_is_answered_entry_by_entry() {
    let server = Server::start().expect("a server");
    let connector = VirtualConnector::new(&server.url()).expect("a URL");
    let mut link = link(&connector, Role::Commands).await;
    let mut pipeline = redis::pipe();
    pipeline.cmd("INCR").arg("key").cmd("INCR").arg("key");
    let answers: (i64, i64) = pipeline.query_async(&mut link).await.expect("answers");
    assert_eq!(answers, (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_blocked_connection_wakes_at_once_and_alone() {
    let server = Server::start().expect("a server");
    let connector = VirtualConnector::new(&server.url()).expect("a URL");
    let commands = link(&connector, Role::Commands).await;
    let mut waiters = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let waiter = link(&connector, Role::Waiter).await;
        waiters.spawn(async move {
            let popped = ask(&waiter, "BZPOPMIN empty marker 30").await;
            (popped, Instant::now())
        });
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let start = Instant::now();
    ask(&commands, "ZADD marker 7 member").await;
    let (popped, when) = waiters.join_next().await.expect("one").expect("no panic");
    let word = |word: &str| Value::BulkString(word.into());
    assert_eq!(
        popped,
        Value::Array(vec![word("marker"), word("member"), Value::Double(7.0)])
    );
    assert_eq!(when, start);
    // The others end with their time, to the millisecond.
    for _ in 0..2 {
        let (nothing, when) = waiters.join_next().await.expect("one").expect("no panic");
        assert_eq!(nothing, Value::Nil);
        assert_eq!(when - start, Duration::from_secs(20));
    }
}

#[tokio::test(start_paused = true)]
async fn a_blocked_connection_can_be_unblocked() {
    let server = Server::start().expect("a server");
    let connector = VirtualConnector::new(&server.url()).expect("a URL");
    let commands = link(&connector, Role::Commands).await;
    let waiter = link(&connector, Role::Waiter).await;
    let Value::Int(id) = ask(&waiter, "CLIENT ID").await else {
        panic!("an id is a number");
    };
    let unblock = format!("CLIENT UNBLOCK {id}");
    assert_eq!(ask(&commands, &unblock).await, Value::Int(0));
    let start = Instant::now();
    let blocked = tokio::spawn(async move { ask(&waiter, "BZPOPMIN marker 0").await });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(ask(&commands, &unblock).await, Value::Int(1));
    assert_eq!(blocked.await.expect("no panic"), Value::Nil);
    assert_eq!(start.elapsed(), Duration::from_secs(60));
}
