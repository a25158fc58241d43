//! Every connection is killed.

use std::{collections::BTreeSet, time::Duration};

use queue_core::*;
use real_redis::Server;

use crate::{
    ground::{connect, within},
    subject::Subject,
    traffic::{Errors, Traffic},
};

const LEASE: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_secs(3600);

/// The connections of the backend: all but the one that asks.
fn connections(admin: &mut redis::Connection) -> BTreeSet<u64> {
    let mut ask = |what: &str| redis::cmd("CLIENT").arg(what).query::<redis::Value>(admin);
    let own: u64 = redis::from_redis_value(ask("ID").expect("an id")).expect("a number");
    let list = ask("LIST").expect("a list");
    let list: String = redis::from_redis_value(list).expect("text");
    let ids = list
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("id="));
    let ids = ids.filter_map(|id| id.parse().ok());
    ids.filter(|id| *id != own).collect()
}

/// Kills one connection. Answers how many were there, since it may have ended by itself.
fn kill(admin: &mut redis::Connection, id: u64) -> usize {
    let mut kill = redis::cmd("CLIENT");
    let killed = kill.arg("KILL").arg("ID").arg(id).query(admin);
    killed.expect("the server answers")
}

/// Pushes until the server acknowledges it; a repeat is a duplicate (L9).
async fn put(queue: &Subject, body: &str) {
    let push = Push::new(body.to_owned()).with_dedup(body.to_owned(), WINDOW);
    while let Err(error) = queue.put_one(push.clone()).await {
        assert!(error.is_transient(), "{error:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_survives_the_end_of_each_connection() {
    for kind in QueueKind::LEASING {
        let server = Server::start().expect("a server");
        let mut admin = server.connect().expect("the server runs");
        let backend = connect(&server).await;
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let mut killed = 0;
        for round in 0..6 {
            let waiting = queue.clone();
            let waiter = tokio::spawn(async move {
                let timeout = Duration::from_secs(3600);
                loop {
                    match waiting.leasing().receive_one(LEASE, timeout).await {
                        Ok(delivery) => return delivery.expect("it waits for an hour"),
                        Err(error) => assert!(error.is_transient(), "{error:?}"),
                    }
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            });
            let ids = within("its connections", async {
                loop {
                    let ids = connections(&mut admin);
                    // One connection for commands and one to wait on.
                    if ids.len() >= 2 {
                        return ids;
                    }
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            })
            .await;
            // Kills a different connection first in each round.
            for id in ids.iter().cycle().skip(round).take(ids.len()) {
                killed += kill(&mut admin, *id);
                if round < 3 {
                    break;
                }
            }
            let body = format!("round {round}");
            within("a push", put(&queue, &body)).await;
            let delivery = within("the message", waiter).await.expect("no panic");
            assert_eq!(&delivery.body[..], body.as_bytes());
            let leasing = queue.leasing();
            while let Err(error) = leasing.ack(delivery.receipt).await {
                if error.kind() == ErrorKind::LeaseLost {
                    break;
                }
                assert!(error.is_transient(), "{error:?}");
            }
        }
        assert!(killed > 6);
        let counters = queue.leasing().counters().await.expect("counters");
        assert_eq!((counters.accepted, counters.acked), (6, 6), "{counters:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traffic_survives_killed_connections() {
    for kind in QueueKind::LEASING {
        let server = Server::start().expect("a server");
        let mut admin = server.connect().expect("the server runs");
        let backend = connect(&server).await;
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let traffic = Traffic::on(queue, Errors::Transient);
        let kills = async {
            for _ in 0..10 {
                traffic.flows(5).await;
                for id in connections(&mut admin) {
                    kill(&mut admin, id);
                }
            }
            traffic.flows(5).await;
        };
        within("traffic through CLIENT KILL", traffic.during(kills)).await;
    }
}
