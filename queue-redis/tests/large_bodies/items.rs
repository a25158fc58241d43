//! Large items of rings.

use std::{
    num::NonZeroUsize,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Direction, Proxy, Server};

use crate::{
    LARGE, LEASE, MIB, ask, connect_with_clock, keys_of_bodies, leaks, length_under, log_commands,
    longest_argument, name, patient::patient, two,
};

async fn ring(backend: &RedisBackend) -> Arc<dyn RotatingQueue> {
    let (name, config) = (name(QueueKind::Rotating), RotatingConfig::default());
    backend.open_rotating(&name, &config).await.expect("opens")
}

fn ids(items: &[Message]) -> Vec<u64> {
    items.iter().map(|item| item.id.get()).collect()
}

#[tokio::test]
async fn no_script_is_called_with_a_large_item() {
    let server = Server::start().expect("a server");
    let ring = ring(&patient(&server.url()).connect().await.expect("connects")).await;
    log_commands(&server);
    for (size, out_of_line) in [(MIB, true), (LARGE, true), (LARGE - 1, false)] {
        let _: () = ask(&server, &["SLOWLOG", "RESET"]);
        let item = Insert::new(vec![7; size]).with_key("key");
        let id = ring.insert_one(item.clone()).await.expect("inserts").id();
        let present = ring.insert_one(item).await.expect("inserts");
        assert_eq!(present, Inserted::Present(id));
        let visited = ring.rotate(two()).await.expect("rotates").items;
        let listed = ring.list(Page::first(2)).await.expect("lists").entries;
        for shown in [visited, listed] {
            assert!(shown.len() == 1 && shown[0].body == vec![7; size]);
        }
        // The scripts read this part of the body.
        let length = length_under(&server, "qk:{rotating}:bodies", id);
        assert_eq!(
            length < 100,
            out_of_line,
            "{length} bytes under the id for {size}"
        );
        assert_eq!(leaks(&server), [""; 0]);
        assert_eq!(ring.remove(&[id]).await.expect("removes"), 1);
        let longest = longest_argument(&server);
        assert_eq!(longest < 1_000, out_of_line, "{longest} bytes of {size}");
        assert_eq!(keys_of_bodies(&server), [""; 0]);
    }
}

#[tokio::test]
async fn an_upload_without_its_insert_goes_after_a_minute() {
    let server = Server::start().expect("a server");
    let (backend, now) = connect_with_clock(&server).await;
    let (producer, visitor) = (ring(&backend).await, ring(&backend).await);
    let upload = || {
        let _: () = ask(
            &server,
            &["ZADD", "qk:{rotating}:uploads", "0", "a reference"],
        );
        let _: () = ask(
            &server,
            &["HSET", "qk:{rotating}:bodies", "a reference", "a body"],
        );
    };
    let is_there = || ask::<bool>(&server, &["HEXISTS", "qk:{rotating}:bodies", "a reference"]);
    // A producer that knows of no large items checks for them in one of many inserts of small items.
    upload();
    for after in [0, 61_000] {
        now.fetch_add(after, Ordering::Relaxed);
        assert!(is_there(), "after {after} ms");
        for _ in 0..64 {
            producer.insert_one("small").await.expect("inserts");
        }
    }
    assert!(!is_there());
    // A visitor that has met a large item checks in each visit.
    producer.insert_one(vec![7; MIB]).await.expect("inserts");
    upload();
    visitor.visit(128, LEASE).await.expect("visits");
    let large = visitor.visit(1, LEASE).await.expect("visits");
    assert_eq!(large[0].body.len(), MIB);
    for after in [0, 59_000, 2_000] {
        now.fetch_add(after, Ordering::Relaxed);
        assert!(is_there(), "it may be on its way yet");
        visitor.visit(1, LEASE).await.expect("visits");
    }
    assert!(!is_there());
    assert_eq!(leaks(&server), [""; 0]);
}

#[tokio::test]
async fn a_refused_insert_leaves_nothing_behind() {
    let server = Server::start().expect("a server");
    let ring = ring(&patient(&server.url()).connect().await.expect("connects")).await;
    let large = || Insert::new(vec![7; MIB]).with_key("key");
    let _: () = ask(&server, &["CONFIG", "SET", "maxmemory", "1"]);
    let error = ring.insert_one(large()).await.expect_err("it is full");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    let _: () = ask(&server, &["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(keys_of_bodies(&server), [""; 0]);

    let config = [
        "HSET",
        "qk:{rotating}:meta",
        "config",
        "kind=delay layout=5",
    ];
    let stored: String = ask(&server, &["HGET", config[1], config[2]]);
    let _: () = ask(&server, &config);
    let error = ring.insert_one(large()).await.expect_err("another kind");
    assert_eq!(error.kind(), ErrorKind::ConfigMismatch, "{error}");
    let _: () = ask(&server, &["HSET", config[1], config[2], &stored]);
    assert_eq!(keys_of_bodies(&server), [""; 0]);

    ring.insert_one(large()).await.expect("inserts");
    let batch = [large(), Insert::new("small"), large()];
    ring.insert(&batch).await.expect("inserts");
    let bodies: u64 = ask(&server, &["HLEN", "qk:{rotating}:bodies"]);
    assert_eq!(bodies, 3, "two items, of one of which the body is apart");
    assert_eq!(leaks(&server), [""; 0]);
}

#[tokio::test]
async fn an_item_that_is_removed_before_its_body_is_here_is_left_out() {
    let server = Server::start().expect("a server");
    let proxy = Proxy::before(&server).expect("a proxy");
    let builder = patient(&proxy.url());
    let slow = builder.response_timeout(LEASE).connect().await;
    let slow = ring(&slow.expect("connects")).await;
    let quick = ring(&patient(&server.url()).connect().await.expect("connects")).await;
    let items: Vec<Insert> = (0..6).map(|n| Insert::new(vec![n; LARGE])).collect();
    quick.insert(&items).await.expect("inserts");
    // Removes an item after the server has executed a call, and before the call fetches the bodies.
    let meanwhile = async |item: u64| {
        let seen = proxy.seen(Direction::Replies);
        proxy.hold(Direction::Replies);
        proxy.beyond(Direction::Replies, seen).await;
        let removed = quick.remove(&[MessageId::new(item)]).await;
        assert_eq!(removed.expect("removes"), 1);
        proxy.release();
    };
    let (rotated, ()) = tokio::join!(slow.rotate(two()), meanwhile(1));
    let rotated = rotated.expect("nobody did anything wrong");
    assert_eq!((ids(&rotated.items), rotated.next), (vec![2], None));
    let (rotated, ()) = tokio::join!(slow.rotate(NonZeroUsize::MIN), meanwhile(3));
    let nothing = Rotated::new(Vec::new(), Some(Duration::ZERO));
    assert_eq!(rotated.expect("nobody did anything wrong"), nothing);
    let (listed, ()) = tokio::join!(slow.list(Page::first(3)), meanwhile(5));
    let listed = listed.expect("nobody did anything wrong").entries;
    assert_eq!(ids(&listed), [4, 6, 2], "the page is full all the same");
    let (visited, ()) = tokio::join!(slow.visit(1, LEASE), meanwhile(4));
    assert_eq!(ids(&visited.expect("another item")), [6]);
    assert_eq!(ids(&slow.visit(3, LEASE).await.expect("visits")), [2, 6]);
    assert_eq!(leaks(&server), [""; 0]);
}

#[tokio::test]
async fn an_item_whose_body_somebody_deleted_leaves_the_ring() {
    let server = Server::start().expect("a server");
    let ring = ring(&patient(&server.url()).connect().await.expect("connects")).await;
    let items = [
        Insert::new(vec![7; MIB]).with_key("key"),
        Insert::new("sound"),
    ];
    ring.insert(&items).await.expect("inserts");
    let mut connection = server.connect().expect("the server takes us");
    let fields: Vec<Vec<u8>> = redis::cmd("HKEYS")
        .arg("qk:{rotating}:bodies")
        .query(&mut connection)
        .expect("an answer");
    let reference = fields.iter().find(|field| field.len() == 16);
    let mut delete = redis::cmd("HDEL");
    delete
        .arg("qk:{rotating}:bodies")
        .arg(reference.expect("one is apart"));
    let () = delete.query(&mut connection).expect("an answer");
    let listed = ring.list(Page::first(2)).await.expect("lists").entries;
    assert_eq!(ids(&listed), [2]);
    let visited = ring.rotate(two()).await.expect("rotates").items;
    assert_eq!(ids(&visited), [2]);
    assert_eq!(ring.len().await.expect("len"), 1);
    let again = ring.insert_one(items[0].clone()).await.expect("inserts");
    assert_eq!(again, Inserted::Added(MessageId::new(3)), "its key is free");
    assert_eq!(leaks(&server), [""; 0]);
}
