//! The cost of each verb, in numbers that are the same on every machine: commands that the server runs,
//! also inside scripts, and bytes on the connection. A changed number is a changed cost: a gain, or a loss
//! that needs a reason.

#![cfg(unix)]

#[path = "support/patient.rs"]
mod patient;

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use real_redis::{Direction, Proxy, Server, command_counts};
use redis::Connection;

use self::patient::patient;

const LEASE: Duration = Duration::from_secs(600);
/// Bytes of a body.
const BODY: usize = 100;

/// The cost of the verbs on a queue in use, of which other messages are leased or wait. `commands / bytes
/// to the server / bytes from it`.
const COSTS: &str = "
reliable, 1: push 6 / 497 / 4, settle_and_lease 14 / 435 / 159
reliable, 100: push 7 / 10769 / 6, settle_and_lease 23 / 438 / 10689
delay, 1: push 8 / 433 / 4, settle_and_lease 13 / 357 / 159
delay, 100: push 9 / 12021 / 6, settle_and_lease 25 / 360 / 12538
priority, 1: push 7 / 491 / 4, settle_and_lease 13 / 421 / 168
priority, 100: push 8 / 11485 / 6, settle_and_lease 25 / 1125 / 13438
grouped, 1: push 8 / 576 / 4, settle_and_lease 19 / 506 / 161
grouped, 100: push 9 / 11570 / 6, settle_and_lease 28 / 2687 / 12738
bounded, 1: push 12 / 572 / 4, settle_and_lease 16 / 503 / 159
bounded, 100: push 12 / 11366 / 6, settle_and_lease 27 / 506 / 12538
rotating, 1: insert 8 / 441 / 4, rotate 9 / 332 / 131
rotating, 100: insert 8 / 11235 / 6, rotate 15 / 334 / 12211
";

/// One queue, seen through a proxy.
struct Guarded {
    proxy: Proxy,
    admin: Connection,
    queue: AnyQueue,
}

impl Guarded {
    async fn open(server: &Server, kind: QueueKind) -> Self {
        let proxy = Proxy::before(server).expect("a proxy");
        let backend = patient(&proxy.url()).connect().await.expect("connects");
        let name = QueueName::new(kind.as_str()).expect("a name");
        let queue = backend.open(&name, &QueueConfig::of(kind, 10_000)).await;
        Self {
            proxy,
            admin: server.connect().expect("the server takes us"),
            queue: queue.expect("opens"),
        }
    }

    fn commands(&mut self) -> u64 {
        let counts = command_counts(&mut self.admin).expect("the server answers");
        counts.all()
    }

    /// The cost of this work, in the form of [`COSTS`].
    async fn cost<T>(&mut self, work: impl AsyncFnOnce(&AnyQueue) -> T) -> (String, T) {
        let ways = [Direction::Requests, Direction::Replies];
        let (commands, bytes) = (self.commands(), ways.map(|way| self.proxy.seen(way)));
        let done = work(&self.queue).await;
        let [to, from] = ways.map(|way| self.proxy.seen(way));
        let commands = self.commands() - commands;
        (
            format!("{commands} / {} / {}", to - bytes[0], from - bytes[1]),
            done,
        )
    }

    /// Pushes `count` messages. On a priority queue the second of two is more urgent, so that the queue
    /// does not deliver them by id.
    async fn put(&mut self, count: usize) -> String {
        let mut batch = vec![Push::new(vec![b'x'; BODY]); count];
        if self.queue.kind() == QueueKind::Priority {
            for (push, priority) in batch.iter_mut().zip([0, 1].into_iter().cycle()) {
                push.priority = Some(priority);
            }
        }
        let put = async |queue: &AnyQueue| drop(queue.put(&batch).await.expect("put"));
        self.cost(put).await.0
    }

    async fn rotate(&mut self, count: usize) -> String {
        let max = NonZeroUsize::new(count).expect("not zero");
        let rotate = async |queue: &AnyQueue| {
            let AnyQueue::Rotating(ring) = queue else {
                panic!("{queue:?} is no ring");
            };
            ring.rotate(max).await.expect("rotates").items.len()
        };
        let (cost, visited) = self.cost(rotate).await;
        assert_eq!(visited, count);
        cost
    }

    /// Acks these messages, and leases the same number.
    async fn settle_and_lease(&mut self, held: &mut Vec<Receipt>, count: usize) -> String {
        let acks: Vec<_> = held.iter().copied().map(Settlement::ack).collect();
        let max = NonZeroUsize::new(count).expect("not zero");
        let settle_and_lease = async |queue: &AnyQueue| {
            let queue = queue.leasing().expect("it leases");
            queue
                .settle_and_lease(&acks, max, LEASE, None)
                .await
                .expect("settled and leased")
        };
        let (cost, (_, leased)) = self.cost(settle_and_lease).await;
        *held = leased.deliveries.iter().map(|each| each.receipt).collect();
        assert_eq!(held.len(), count);
        cost
    }
}

#[tokio::test]
async fn each_verb_costs_what_it_did() {
    let server = Server::start().expect("a server");
    let mut costs = String::from("\n");
    for kind in QueueKind::ALL {
        let mut guarded = Guarded::open(&server, kind).await;
        for count in [1, 100] {
            if kind == QueueKind::Rotating {
                guarded.put(count).await;
                guarded.rotate(count).await;
                let (insert, rotate) = (guarded.put(count).await, guarded.rotate(count).await);
                costs.push_str(&format!(
                    "{kind}, {count}: insert {insert}, rotate {rotate}\n"
                ));
                continue;
            }
            let mut held = Vec::new();
            // The first call of each kind creates keys that stay.
            guarded.put(count).await;
            guarded.settle_and_lease(&mut held, count).await;
            guarded.put(count).await;
            guarded.put(count).await;
            let put = guarded.put(count).await;
            let settle_and_lease = guarded.settle_and_lease(&mut held, count).await;
            costs.push_str(&format!(
                "{kind}, {count}: push {put}, settle_and_lease {settle_and_lease}\n"
            ));
        }
    }
    assert_eq!(costs, COSTS, "{costs}");
}
