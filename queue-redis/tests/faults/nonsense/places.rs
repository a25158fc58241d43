//! Sentinels and clusters that name invalid addresses.

use std::time::Duration;

use proptest::{collection::vec, prelude::*};
use queue_core::*;
use queue_redis::RedisBackend;
use queue_testing::property::check_property;
use real_redis::{Cluster, Server};
use tokio::{runtime::Handle, time::timeout};

use super::{
    peer::{Peer, Spoil},
    run,
};

const CASES: u32 = 16;
const BRIEF: Duration = Duration::from_millis(300);
/// No connect takes longer, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest number of tasks of a connect to a few addresses.
const TASKS: usize = 200;

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn host() -> impl Strategy<Value = String> {
    let host = prop::sample::select(vec![
        "127.0.0.1",
        "",
        "?",
        "256.1.1.1",
        "a host",
        "::1",
        "[::1]",
        "-",
        "x\r\ny",
        "0.0.0.0",
    ]);
    prop_oneof![
        4 => host.prop_map(bulk),
        1 => Just("$-1\r\n".to_owned()),
        1 => Just(":7\r\n".to_owned()),
    ]
}

fn port() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(65_535),
        Just(65_536),
        Just(-1),
        Just(i64::MAX)
    ]
}

fn slot() -> impl Strategy<Value = i64> {
    prop_oneof![3 => 0..16_384_i64, 1 => Just(16_384), 1 => Just(-1), 1 => Just(i64::MIN)]
}

/// Answers to CLUSTER SLOTS with reversed ranges, overlapping ranges and ranges without an owner.
fn slots() -> impl Strategy<Value = Vec<u8>> {
    let range = (slot(), slot(), host(), port(), any::<bool>()).prop_map(
        |(one, other, host, port, is_right)| {
            let (first, last) = if is_right {
                (one.min(other), one.max(other))
            } else {
                (one, other)
            };
            format!("*3\r\n:{first}\r\n:{last}\r\n*2\r\n{host}:{port}\r\n")
        },
    );
    let ranges = vec(range, 0..5)
        .prop_map(|ranges| format!("*{}\r\n{}", ranges.len(), ranges.concat()).into_bytes());
    prop_oneof![
        8 => ranges,
        1 => Just(b"+OK\r\n".to_vec()),
        1 => Just(b"*1\r\n*0\r\n".to_vec()),
        1 => Just(nodes(16_384)),
    ]
}

/// A cluster in which `count` nodes have one slot each.
fn nodes(count: u16) -> Vec<u8> {
    let ranges = (0..count).map(|slot| {
        let (host, port) = (bulk("127.0.0.1"), 20_000 + slot);
        format!("*3\r\n:{slot}\r\n:{slot}\r\n*2\r\n{host}:{port}\r\n")
    });
    format!("*{count}\r\n{}", ranges.collect::<String>()).into_bytes()
}

/// Connects while the peer answers this, and then while it is sound.
async fn connect(server: &Server, url: impl Fn(u16) -> String, spoil: Spoil) {
    let peer = Peer::before(server).await.expect("a peer");
    let builder = || RedisBackend::builder(&url(peer.port())).expect("a good URL");
    peer.spoil(spoil);
    let connecting = builder()
        .connect_timeout(BRIEF)
        .response_timeout(BRIEF)
        .connect();
    let connected = timeout(PATIENCE, connecting).await.expect("it ends");
    let tasks = Handle::current().metrics().num_alive_tasks();
    assert!(tasks < TASKS, "{tasks} tasks");
    match connected {
        Ok(backend) => {
            // By chance the answer names a running server, which need not have the queue.
            let name = QueueName::new("q").expect("a good name");
            let config = ReliableConfig::default();
            let opening = backend.open_reliable(&name, &config);
            drop(timeout(PATIENCE, opening).await.expect("it ends"));
        }
        Err(error) => {
            let text = queue_testing::chain::texts(&error).join(": ");
            assert!(!text.contains(char::is_control), "{text:?}");
            assert!(text.len() < 2_000, "{text:?}");
            assert_eq!(error.outcome(), Outcome::NotApplied, "{text}");
        }
    }
    peer.be_sound();
    let backend = builder().connect_timeout(PATIENCE).connect().await;
    backend
        .expect("all is sound")
        .ping()
        .await
        .expect("it answers");
}

#[test]
fn a_cluster_that_names_places_which_are_none_is_refused_in_time() {
    let cluster = Cluster::start(1, 0, Server::builder()).expect("a cluster");
    let url = |port| format!("redis+cluster://127.0.0.1:{port}");
    check_property(CASES, slots(), |answer| {
        let spoil = Spoil::Answer("SLOTS", answer);
        run(connect(&cluster.servers()[0], url, spoil));
    });
}

#[test]
fn sentinels_that_name_places_which_are_none_are_not_believed() {
    let primary = Server::builder().with_tcp().start().expect("a server");
    let sentinel = Server::builder()
        .with_tcp()
        .with_watch("orders", &primary, 1);
    let sentinel = sentinel
        .expect("it has a port")
        .start()
        .expect("a sentinel");
    let url = |port| format!("redis+sentinel://127.0.0.1:{port}/orders");
    let named = (host(), port())
        .prop_map(|(host, port)| format!("*2\r\n{host}{}", bulk(&port.to_string())).into_bytes());
    let other = prop::sample::select(vec![
        "*0\r\n",
        "*1\r\n:1\r\n",
        "+OK\r\n",
        "*3\r\n:1\r\n_\r\n_\r\n",
    ]);
    let answer = prop_oneof![3 => named, 1 => other.prop_map(|text| text.as_bytes().to_vec())];
    check_property(CASES, answer, |answer| {
        let spoil = Spoil::Answer("GET-MASTER-ADDR", answer);
        run(connect(&sentinel, url, spoil));
    });
}
