//! A queue that is replaced by a new one of its name, while handles to the old one live.

use std::num::NonZeroUsize;

use queue_core::*;
use real_redis::Server;

use crate::{
    ground::{administer, connect},
    subject::Subject,
    verbs::{Called, reads, reads_of_a_ring, writes, writes_of_a_ring},
};

fn name(kind: QueueKind) -> QueueName {
    QueueName::new(kind.as_str()).expect("a name")
}

/// Puts another configuration in place of a queue's own.
fn store(server: &Server, meta: &str, config: &str) {
    let set = server.ask::<()>(&["HSET", meta, "config", config]);
    set.expect("the server obeys");
}

/// All data on the server, to see that nothing changed.
fn everything(server: &Server) -> Vec<(String, Vec<u8>)> {
    let mut keys: Vec<String> = server.ask(&["KEYS", "*"]).expect("a list");
    keys.sort();
    let dump = |key: String| {
        let dump = server.ask(&["DUMP", &key]);
        (key, dump.expect("it is there"))
    };
    keys.into_iter().map(dump).collect()
}

fn assert_all_refused(called: Vec<Called>, stored: &str, asked: &str) {
    for (verb, answer) in called {
        let Err(error) = answer else {
            panic!("{verb} acted on a queue with another configuration");
        };
        assert_eq!(error.kind(), ErrorKind::ConfigMismatch, "{verb}: {error:?}");
        assert_eq!(error.outcome(), Outcome::NotApplied, "{verb}: {error:?}");
        assert!(!error.is_transient(), "{verb}: {error:?}");
        for part in [stored, asked] {
            assert!(error.to_string().contains(part), "{verb}: {error}");
        }
    }
}

#[tokio::test]
async fn an_old_handle_does_nothing_to_a_queue_with_a_setting_of_a_newer_version() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let meta = format!("qk:{{{kind}}}:meta");
        let stored: String = server.ask(&["HGET", &meta, "config"]).expect("a text");
        store(&server, &meta, &format!("{stored} tomorrow=7"));
        let before = everything(&server);
        let called = [reads(&queue).await, writes(&queue).await].concat();
        assert_all_refused(called, "tomorrow=7", "use a newer one");
        assert_eq!(everything(&server), before, "{kind}");
    }
}

#[tokio::test]
async fn an_old_handle_does_nothing_to_a_queue_of_another_layout() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let of_tomorrow = format!("kind={kind} layout=99");
        store(&server, &format!("qk:{{{kind}}}:meta"), &of_tomorrow);
        let before = everything(&server);
        let called = [reads(&queue).await, writes(&queue).await].concat();
        assert!(called.len() >= 13, "{kind}");
        assert_all_refused(called, &of_tomorrow, "max_attempts=1000000");
        assert_eq!(everything(&server), before, "{kind}");
    }
    let name = name(QueueKind::Rotating);
    let config = RotatingConfig::default();
    let ring = backend.open_rotating(&name, &config).await.expect("opens");
    store(&server, "qk:{rotating}:meta", "kind=rotating layout=99");
    let before = everything(&server);
    let called = [
        reads_of_a_ring(&*ring).await,
        writes_of_a_ring(&*ring).await,
    ]
    .concat();
    assert_all_refused(called, "layout=99", "pace=none");
    assert_eq!(everything(&server), before);
}

/// The queue has the configuration of the handle that created it again.
#[tokio::test]
async fn an_old_handle_uses_the_configuration_of_the_new_queue() {
    let server = Server::start().expect("a server");
    let (old, new) = (connect(&server).await, connect(&server).await);
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*old, kind).await.expect("opens");
        administer(&server, "FLUSHALL");
        let mut config = QueueConfig::of(kind, 10);
        config.leasing_mut().expect("it leases").max_attempts = 1;
        let opened = new.open(&name(kind), &config).await;
        opened.expect("opens again");
        let _ = queue.put_one("by the old handle").await.expect("put");
        let leasing = queue.leasing();
        let lease = leasing.receive_one(
            std::time::Duration::from_secs(60),
            std::time::Duration::ZERO,
        );
        let delivery = lease.await.expect("lease").expect("it is there");
        let retry = Settlement::retry(delivery.receipt, std::time::Duration::ZERO);
        let settled = leasing.settle_one(retry).await.expect("settle");
        assert_eq!(settled, Settled::Dead, "{kind}: by one attempt");
        let again = new.open(&name(kind), &config).await;
        again.expect("nothing else was stored");
    }
}

#[tokio::test]
async fn an_old_store_of_once_keys_does_nothing_to_one_of_another_layout() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    let name = QueueName::new("effects").expect("a name");
    let store = backend.open_once(&name).await.expect("opens");
    administer(&server, "HSET qk:{effects}:once config of-tomorrow");
    let before = everything(&server);
    let (key, token, time) = (b"key", Token::new(1), std::time::Duration::from_secs(1));
    let called = vec![
        ("claim", store.claim(key, time).await.map(drop)),
        ("extend", store.extend(key, token, time).await),
        ("finish", store.finish(key, token, time).await),
        ("release", store.release(key, token).await),
        ("counts", store.counts().await.map(drop)),
    ];
    assert_all_refused(called, "of-tomorrow", "layout=");
    assert_eq!(everything(&server), before);
}

async fn listed(backend: &dyn Backend) -> Vec<String> {
    let all = NonZeroUsize::new(100).expect("it is 100");
    let queues = backend.queues(None, all).await.expect("a list");
    let text = |queue: QueueInfo| format!("{} {}", queue.name, queue.kind);
    queues.into_iter().map(text).collect()
}

#[tokio::test]
async fn a_queue_created_again_as_another_kind_is_listed_as_that_kind() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    let (orders, config) = (
        QueueName::new("orders").expect("a name"),
        DelayConfig::default(),
    );
    let open_reliable = async || {
        let config = ReliableConfig::default();
        let opened = backend.open_reliable(&orders, &config).await;
        opened.expect("opens");
    };
    // A neighbour with a similar name.
    let neighbour = QueueName::new("orders-2").expect("a name");
    backend
        .open_delay(&neighbour, &config)
        .await
        .expect("opens");
    open_reliable().await;
    administer(&server, "DEL qk:{orders}:meta");
    backend.open_delay(&orders, &config).await.expect("opens");
    let other = ReliableConfig::default();
    let refused = backend.open_reliable(&orders, &other).await;
    refused.expect_err("it is of another kind");
    assert_eq!(listed(&*backend).await, ["orders delay", "orders-2 delay"]);

    // The process that opened the queue died before it corrected the list. The next open corrects it.
    administer(&server, "DEL qk:{orders}:meta");
    open_reliable().await;
    let range = ["ZREMRANGEBYLEX", "qk:queues", "[orders ", "(orders!"];
    server.ask::<()>(&range).expect("the server obeys");
    let add = ["ZADD", "qk:queues", "0", "orders delay"];
    server.ask::<()>(&add).expect("the server obeys");
    open_reliable().await;
    assert_eq!(
        listed(&*backend).await,
        ["orders reliable", "orders-2 delay"]
    );
}

#[tokio::test]
async fn a_queue_that_cannot_be_listed_is_not_made() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    administer(&server, "SET qk:queues mine");
    let orders = QueueName::new("orders").expect("a name");
    let config = ReliableConfig::default();
    let error = backend.open_reliable(&orders, &config).await;
    let error = error.expect_err("the list is not a list");
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    let made = administer(&server, "EXISTS qk:{orders}:meta");
    assert_eq!(made, redis::Value::Int(0));
    administer(&server, "DEL qk:queues");
    backend
        .open_reliable(&orders, &config)
        .await
        .expect("opens");
    administer(&server, "SET qk:queues mine");
    let error = backend.open_reliable(&orders, &config).await;
    let error = error.expect_err("the list is not a list");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
}
