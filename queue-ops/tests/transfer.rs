//! Messages are carried from queue to queue as they are, and each once.

#![cfg(all(unix, feature = "cli"))]

use std::{num::NonZeroUsize, process::Command, sync::Arc, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{ExportedMessage, ExportedPlace, export, import, move_messages};
use queue_redis::RedisBackend;
use real_redis::Server;

const HOUR: Duration = Duration::from_secs(3_600);

/// A backend in memory, and one on a server, which ends with the returned value.
async fn backends() -> Vec<(Arc<dyn Backend>, Option<Server>)> {
    let server = Server::start().unwrap();
    let redis = RedisBackend::connect(&server.url()).await.unwrap();
    vec![
        (Arc::new(MemoryBackend::new()), None),
        (Arc::new(redis), Some(server)),
    ]
}

async fn exported(backend: &dyn Backend, queue: &str) -> Vec<ExportedMessage> {
    let mut lines = Vec::new();
    let mut write = |message: ExportedMessage| {
        // As a file has it.
        let line = serde_json::to_string(&message).unwrap();
        lines.push(serde_json::from_str(&line).unwrap());
        Ok(())
    };
    let count = export(backend, queue, &mut write).await.unwrap();
    assert_eq!(count, lines.len() as u64);
    lines
}

/// The parts of a message that a transfer keeps.
fn content(message: &ExportedMessage) -> (ExportedPlace, i16, Vec<(String, String)>, Bytes) {
    let body = message.body.bytes().unwrap();
    (
        message.place,
        message.priority,
        message.headers.clone(),
        body,
    )
}

#[tokio::test]
async fn an_import_gives_what_was_exported_and_once() {
    for (backend, _server) in backends().await {
        for kind in [
            QueueKind::Reliable,
            QueueKind::Delay,
            QueueKind::Priority,
            QueueKind::Bounded,
        ] {
            let config = QueueConfig::of(kind, 5_000).with_max_body(4 << 20);
            let open = async |name: String| {
                let name = QueueName::new(name).unwrap();
                backend.open(&name, &config).await.unwrap()
            };
            let (old, new) = (format!("old-{kind}"), format!("new-{kind}"));
            let from = open(old.clone()).await;
            // More than a page, bytes that are no text, and a large body.
            let odd = [
                Bytes::from_static(b"\xff\x00"),
                Bytes::from(vec![b'x'; 2 << 20]),
            ];
            let many = (0..1_300).map(|number| Bytes::from(format!("body {number}")));
            for (number, body) in odd.into_iter().chain(many).enumerate() {
                let push = Push::new(body).with_header("tenant", format!("{}", number % 7));
                let later = (number % 5 == 0).then_some(Due::After(HOUR));
                match &from {
                    AnyQueue::Delay(queue) => {
                        let due = later.unwrap_or(Due::After(Duration::ZERO));
                        queue.schedule_one(push, due).await.unwrap();
                    }
                    other => {
                        let push = match later {
                            Some(due) => push.with_due(due),
                            None => push,
                        };
                        match other {
                            AnyQueue::Priority(queue) => {
                                let priority = (number % 9) as i16 - 4;
                                queue.enqueue_one(push, priority).await.map(drop).unwrap();
                            }
                            AnyQueue::Bounded(queue) => {
                                queue
                                    .offer_one(push, Overflow::Reject)
                                    .await
                                    .map(drop)
                                    .unwrap();
                            }
                            AnyQueue::Reliable(queue) => {
                                queue.push_one(push).await.map(drop).unwrap();
                            }
                            _ => unreachable!("the kinds of this test"),
                        }
                    }
                }
            }
            let lines = exported(&*backend, &old).await;
            assert_eq!(lines.len(), 1_302, "{kind}");
            let to = open(new.clone()).await;
            for (half, before) in [(650, 0), (1_302, 650), (1_302, 1_302)] {
                let done = import(&*backend, &new, "t", &lines[..half]).await.unwrap();
                let pushed = (half - before) as u64;
                assert_eq!((done.pushed, done.pushed_before), (pushed, before as u64));
            }
            let again = exported(&*backend, &new).await;
            let contents =
                |lines: &[ExportedMessage]| lines.iter().map(content).collect::<Vec<_>>();
            assert_eq!(
                contents(&again),
                contents(&lines),
                "{kind}: in the same order"
            );
            for (one, other) in again.iter().zip(&lines) {
                let late = one.due_at_ms.zip(other.due_at_ms);
                let late = late.map(|(one, other)| one.since(other));
                assert!(
                    late.unwrap_or_default() < Duration::from_secs(20),
                    "{late:?}"
                );
                assert!(one.due_at_ms >= other.due_at_ms, "never early");
            }
            let counters = to.leasing().unwrap().counters().await.unwrap();
            assert_eq!(counters.accepted, 1_302);
        }
    }
}

#[tokio::test]
async fn a_move_that_stops_goes_on_where_it_was() {
    for (backend, _server) in backends().await {
        let queues = Queues::from(Arc::clone(&backend));
        let old = queues.reliable::<u64>("old").await.unwrap();
        old.push_all(&(0..400).collect::<Vec<_>>()).await.unwrap();
        let leased = old.receive_batch(3, HOUR, Duration::ZERO).await.unwrap();
        let new = queues.bounded::<u64>("new", 250).await.unwrap();
        let go = async || move_messages(&*backend, "old", "new", "t", &mut |_| ()).await;
        let refused = go().await.unwrap_err();
        assert!(refused.to_string().contains("not paused"), "{refused}");
        old.queue().pause().await.unwrap();
        let first = go().await.unwrap();
        assert_eq!((first.pushed, first.in_both), (250, 0), "{first:?}");
        assert!(first.full > 0);
        let depth = async |queue: &dyn Leasing| queue.depth().await.unwrap();
        assert_eq!(depth(&**old.queue()).await.ready, 147);
        let larger = NonZeroUsize::new(1_000).unwrap();
        new.queue().resize(larger).await.unwrap();
        let second = go().await.unwrap();
        assert_eq!((second.pushed, second.full), (147, 0), "{second:?}");
        assert_eq!(depth(&**old.queue()).await.ready, 0);
        assert_eq!(depth(&**old.queue()).await.leased, leased.len() as u64);
        let mut left: Vec<u64> = Vec::new();
        while let Some(delivery) = new.receive(HOUR, Duration::ZERO).await.unwrap() {
            left.push(*delivery.body().unwrap());
        }
        assert_eq!(left, (3..400).collect::<Vec<_>>());
    }
}

fn qk(server: &Server, arguments: &[&str]) -> (String, i32) {
    let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"));
    let output = qk
        .args(["--url", &server.url()])
        .args(arguments)
        .output()
        .unwrap();
    let text = [&*output.stdout, &*output.stderr].concat();
    (
        String::from_utf8(text).unwrap(),
        output.status.code().unwrap(),
    )
}

#[tokio::test]
async fn the_commands_carry_messages_too() {
    let server = Server::start().unwrap();
    let queues = Queues::new(RedisBackend::connect(&server.url()).await.unwrap());
    let orders = queues.reliable::<u64>("orders").await.unwrap();
    orders
        .push_all(&(0..300).collect::<Vec<_>>())
        .await
        .unwrap();
    let worst = orders.receive_batch(2, HOUR, Duration::ZERO).await.unwrap();
    worst[0].bury("no such customer").await.unwrap();
    queues.reliable::<u64>("again").await.unwrap();
    let directory = own_directory(&server);
    let file = directory.join("orders.jsonl");
    let path = file.to_str().unwrap();

    let (said, status) = qk(&server, &["export", "orders", "-o", path]);
    assert!(
        said.starts_with("300 messages exported; the queue was not paused"),
        "{said}"
    );
    assert_eq!(status, 0);
    let (said, status) = qk(&server, &["export", "orders", "-o", path]);
    assert!(
        said.contains("orders.jsonl") && status == 2,
        "it overwrites nothing: {said}"
    );
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 301);
    assert_eq!(qk(&server, &["export", "orders"]).0.lines().count(), 301);

    let (said, status) = qk(&server, &["import", "again", path]);
    assert_eq!(
        (said.trim(), status),
        (
            "298 messages imported; 2 were leased or dead, and stay in the file (--leased, --dead)",
            0
        )
    );
    let (said, _) = qk(&server, &["import", "again", path, "--leased", "--dead"]);
    assert_eq!(said.trim(), "2 messages imported; 298 were imported before");
    let broken = directory.join("broken.jsonl");
    let cut = text.len() - 20;
    std::fs::write(&broken, &text[..cut]).unwrap();
    let (said, status) = qk(&server, &["import", "again", broken.to_str().unwrap()]);
    assert!(
        said.contains("broken.jsonl, line 301") && status == 2,
        "{said}"
    );
    std::fs::write(&broken, "{}\n").unwrap();
    let (said, status) = qk(&server, &["import", "again", broken.to_str().unwrap()]);
    assert!(
        said.contains("no export of `qk export`") && status == 2,
        "{said}"
    );

    let (said, status) = qk(&server, &["move", "orders", "again"]);
    assert!(
        said.starts_with("would pause orders, and move 298 messages to again"),
        "{said}"
    );
    assert_eq!(status, 1);
    let (said, status) = qk(&server, &["move", "orders", "again", "--yes"]);
    assert!(
        said.contains("298 messages moved; orders is paused"),
        "{said}"
    );
    assert_eq!(status, 0);
    let depth = queues.stored("again").await.unwrap().unwrap();
    let depth = depth.queue.leasing().unwrap().depth().await.unwrap();
    assert_eq!(depth.ready, 598);

    let (page, status) = qk(&server, &["man"]);
    assert!(
        page.contains("qk") && page.starts_with(".ie") && status == 0,
        "{page}"
    );
}

fn own_directory(server: &Server) -> std::path::PathBuf {
    // The server's own directory goes with the server.
    server.socket().parent().unwrap().to_owned()
}
