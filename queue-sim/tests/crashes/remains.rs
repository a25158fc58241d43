//! The memory, connections and tasks that a client and its servers use, before the faults and after them.

use queue_redis::leak_finder;
use real_redis::Server;
use tokio::runtime::Handle;

use super::servers::{figure, is_primary};
use crate::{ground::until, ledger::Toll};

/// The additional memory that a server may use afterwards for its own buffers.
const MORE_MEMORY: u64 = 4 * 1024 * 1024;
/// The memory for the dedup mark of a message, which outlives the message, at a primary and at its replica.
const MARKS: u64 = 2 * 256;

/// The values before the faults.
#[derive(Debug)]
pub(super) struct Remains {
    tasks: u64,
    connections: u64,
    memory: u64,
}

fn tasks() -> u64 {
    Handle::current().metrics().num_alive_tasks() as u64
}

fn sum<'a>(servers: impl Iterator<Item = &'a Server>, section: &str, field: &str) -> u64 {
    servers.map(|server| figure(server, section, field)).sum()
}

/// Waits until the value is at most the value before.
async fn back(what: &str, before: u64, now: impl Fn() -> u64) {
    println!("{what}: {} were {before}", now());
    until(what, || now() <= before).await;
}

impl Remains {
    /// The values now, while nothing happens.
    pub(super) fn of<'a>(servers: impl Iterator<Item = &'a Server> + Clone) -> Self {
        Self {
            tasks: tasks(),
            connections: sum(servers.clone(), "clients", "connected_clients"),
            memory: sum(servers, "memory", "used_memory"),
        }
    }

    /// The same with `more` tasks: a queue starts a task when its calls first overlap, perhaps later.
    pub(super) const fn and_tasks(mut self, more: u64) -> Self {
        self.tasks += more;
        self
    }

    /// Waits until the values are at most the values before, and checks that the queues left nothing
    /// behind.
    pub(super) async fn come_back<'a>(
        &self,
        servers: impl Iterator<Item = &'a Server> + Clone,
        tolls: &[Toll],
    ) {
        back("connections", self.connections, || {
            sum(servers.clone(), "clients", "connected_clients")
        })
        .await;
        back("tasks", self.tasks, tasks).await;
        let messages: usize = tolls.iter().map(|toll| toll.accepted).sum();
        let more = MORE_MEMORY * servers.clone().count() as u64 + MARKS * messages as u64;
        back("memory", self.memory + more, || {
            sum(servers.clone(), "memory", "used_memory")
        })
        .await;
        for server in servers.filter(|server| is_primary(server)) {
            let left = server.ask::<Vec<String>>(&["EVAL", leak_finder(), "0", "qk"]);
            assert_eq!(left.expect("the query succeeds"), [""; 0]);
        }
    }
}
