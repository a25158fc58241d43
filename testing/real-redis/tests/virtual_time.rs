//! A real server's clients in virtual time.

#![cfg(unix)]

use std::time::Duration;

use real_redis::{Server, VirtualClient, VirtualConnection};
use redis::{Cmd, Value, aio::ConnectionLike};
use tokio::time::Instant;

fn command(words: &str) -> Cmd {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().expect("a command"));
    for word in words {
        command.arg(word);
    }
    command
}

async fn ask(link: &VirtualConnection, words: &str) -> Value {
    let answer = link.clone().req_packed_command(&command(words)).await;
    answer.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn commands_take_no_time() {
    let server = Server::start().expect("a server");
    let client = VirtualClient::new(&server.url()).expect("a URL");
    let link = client.connect().expect("the server runs");
    let start = Instant::now();
    for count in 1..=200 {
        assert_eq!(ask(&link, "INCR key").await, Value::Int(count));
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_is_answered_entry_by_entry() {
    let server = Server::start().expect("a server");
    let client = VirtualClient::new(&server.url()).expect("a URL");
    let mut link = client.connect().expect("the server runs");
    let mut pipeline = redis::pipe();
    pipeline.cmd("INCR").arg("key").cmd("INCR").arg("key");
    let answers: (i64, i64) = pipeline.query_async(&mut link).await.expect("answers");
    assert_eq!(answers, (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_listener_receives_publications_of_others_at_once() {
    let server = Server::start().expect("a server");
    let client = VirtualClient::new(&server.url()).expect("a URL");
    let commands = client.connect().expect("the server runs");
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let (connection, mut pushes) = client.listen().expect("the server runs");
    tokio::spawn(async move {
        while let Some(push) = pushes.recv().await {
            let _ = said.send((push.data, Instant::now()));
        }
    });
    ask(&connection, "SUBSCRIBE channel").await;
    heard.recv().await.expect("that it is subscribed");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let start = Instant::now();
    assert_eq!(ask(&commands, "PUBLISH other x").await, Value::Int(0));
    assert_eq!(ask(&commands, "PUBLISH channel x").await, Value::Int(1));
    let word = |word: &str| Value::BulkString(word.into());
    let (message, when) = heard.recv().await.expect("the message");
    assert_eq!(message, [word("channel"), word("x")]);
    assert_eq!(when, start);
    drop(connection);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ask(&commands, "PUBLISH channel x").await, Value::Int(0));
}
