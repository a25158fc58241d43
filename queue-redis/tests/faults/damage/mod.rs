//! Others write to the keys of a queue that is in use: every verb returns, undamaged messages are
//! delivered, and damaged ones are set aside.

mod drained;
mod filled;
mod found;
mod harm;
mod played;
mod rings;

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::collection::vec;
use queue_core::*;
use queue_testing::property::check_property;
use real_redis::Server;
use redis::Connection;
use tokio::runtime::Runtime;

use self::{
    filled::Filled,
    harm::{Done, Harm, ask, harm},
};
use crate::ground::{Clock, connect_with, within};

/// The cases of each kind: all kinds together take some seconds.
const CASES: u32 = 100;
/// The time at which the tests' clock starts.
const START: u64 = 1_800_000_000_000;
const HOUR: u64 = 3_600_000;

/// A server and a client of it, for many cases, each in a queue of its own.
struct Ground {
    runtime: Runtime,
    server: Server,
    clock: Clock,
    backend: std::sync::Arc<dyn Backend>,
    next: AtomicU64,
}

impl Ground {
    fn new() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let server = Server::start().expect("a server");
        let clock = Clock::at(START);
        let backend = runtime.block_on(connect_with(&server, &clock));
        Self {
            runtime,
            server,
            clock,
            backend,
            next: AtomicU64::new(0),
        }
    }

    fn connection(&self) -> Connection {
        self.server.connect().expect("the server takes us")
    }

    fn next_name(&self, what: &str) -> QueueName {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        QueueName::new(format!("{what}-{number}")).expect("a name")
    }

    /// A full queue of one of the kinds.
    async fn filled(&self, kind: QueueKind) -> Filled {
        self.clock.set(START);
        let name = self.next_name(kind.as_str());
        let filled = Filled::new(&*self.backend, kind, name).await;
        filled.expect("nothing is damaged yet")
    }

    fn keys(&self, connection: &mut Connection, name: &QueueName) -> Vec<String> {
        let pattern = format!("qk:{{{name}}}:*");
        let mut keys: Vec<String> = ask(connection, "KEYS", &[pattern.as_bytes()]);
        keys.sort();
        keys
    }

    /// Fills a queue, does this harm, plays every verb, and drains the queue.
    async fn play(&self, kind: QueueKind, harms: &[Harm]) {
        let mut connection = self.connection();
        let filled = self.filled(kind).await;
        let keys = self.keys(&mut connection, &filled.name);
        let done: Vec<Done> = harms
            .iter()
            .map(|harm| harm.done_to(&mut connection, &keys))
            .collect();
        within("every verb", played::play(&*self.backend, &filled, &done)).await;
        self.clock.set(START + HOUR);
        within("draining", drained::drain(&filled, &done)).await;
        let removed = self.backend.remove(&filled.name, Removal::EvenIfLeased);
        played::assert_allowed(removed.await.map(drop), &filled.name, &done);
        for key in self.keys(&mut connection, &filled.name) {
            let () = ask(&mut connection, "DEL", &[key.as_bytes()]);
        }
    }

    fn delivers_undamaged(&self, kind: QueueKind) {
        check_property(CASES, vec(harm(), 1..=2), |harms| {
            self.runtime.block_on(self.play(kind, &harms));
        });
    }
}

#[test]
fn undamaged_messages_of_a_reliable_queue_are_delivered() {
    Ground::new().delivers_undamaged(QueueKind::Reliable);
}

#[test]
fn undamaged_messages_of_a_delay_queue_are_delivered() {
    Ground::new().delivers_undamaged(QueueKind::Delay);
}

#[test]
fn undamaged_messages_of_a_priority_queue_are_delivered() {
    Ground::new().delivers_undamaged(QueueKind::Priority);
}

#[test]
fn undamaged_messages_of_a_bounded_queue_are_delivered() {
    Ground::new().delivers_undamaged(QueueKind::Bounded);
}
