//! The number of commands and round trips for each kind of call. Counts repeat, unlike times.

#![cfg(unix)]

#[path = "support/patient.rs"]
mod patient;
#[path = "support/virtual_time.rs"]
mod virtual_time;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use futures_util::future;
use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{CommandCounts, Server};
use tokio::task::JoinSet;

use self::{patient::patient, virtual_time::VirtualConnector};

const LEASE: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3600);

/// Commands that only a client sends. No script sends them, so no script is counted twice.
const SENT: [&str; 10] = [
    "evalsha",
    "eval",
    "script|load",
    "script|exists",
    "bzpopmin",
    "client|unblock",
    "client|id",
    "ping",
    "hello",
    "multi",
];

/// A server's counts so far.
struct Snapshot {
    commands: CommandCounts,
    reads: u64,
}

/// Takes snapshots of a server's counts over one connection.
struct Meter(redis::Connection);

impl Meter {
    fn at(server: &Server) -> Self {
        Self(server.connect().expect("the server runs"))
    }

    fn snapshot(&mut self) -> Snapshot {
        let info: String = redis::cmd("INFO")
            .arg("all")
            .query(&mut self.0)
            .expect("INFO");
        let reads = info
            .lines()
            .find_map(|line| line.strip_prefix("total_reads_processed:"));
        Snapshot {
            commands: CommandCounts::parse(&info),
            reads: reads.expect("a figure").parse().expect("a number"),
        }
    }

    /// The number of commands that clients sent while `work` ran, and of reads in which the server took
    /// them. The server reads a request that was written at once in one read.
    async fn count<T>(&mut self, work: impl Future<Output = T>) -> (u64, u64) {
        let before = self.snapshot();
        work.await;
        let after = self.snapshot();
        let commands = after.commands.since(&before.commands).sum(SENT);
        // The second snapshot's own read counts, too.
        (commands, after.reads - before.reads - 1)
    }
}

/// A queue of each kind.
async fn queues(server: &Server) -> Vec<AnyQueue> {
    let backend = patient(&server.url()).connect().await.expect("connects");
    let mut queues = Vec::new();
    for kind in QueueKind::ALL {
        let name = QueueName::new(kind.as_str()).expect("a name");
        let queue = backend.open(&name, &QueueConfig::of(kind, 10_000)).await;
        queues.push(queue.expect("opens"));
    }
    queues
}

/// Pushes `count` messages or items into each queue, in one call each.
async fn put(queues: &[AnyQueue], count: usize) {
    let pushes = (0..count).map(|number| Push::new(format!("message {number}")));
    let pushes: Vec<_> = pushes.collect();
    for queue in queues {
        queue.put(&pushes).await.expect("put");
    }
}

fn max(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("not zero")
}

#[tokio::test]
async fn pushing_one_is_one_round_trip() {
    let server = Server::start().expect("a server");
    let queues = queues(&server).await;
    let mut meter = Meter::at(&server);
    assert_eq!(meter.count(put(&queues, 1)).await, (6, 6));
}

#[tokio::test]
async fn a_batch_of_a_hundred_is_one_round_trip() {
    let server = Server::start().expect("a server");
    let queues = queues(&server).await;
    let mut meter = Meter::at(&server);
    assert_eq!(meter.count(put(&queues, 100)).await, (6, 6));
    for queue in queues.iter().filter_map(AnyQueue::leasing) {
        let mut leased = Leased::default();
        let lease = async { leased = queue.lease(max(100), LEASE).await.expect("lease") };
        assert_eq!(meter.count(lease).await, (1, 1));
        assert_eq!(leased.deliveries.len(), 100);
        let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
        let acks: Vec<_> = receipts.map(Settlement::ack).collect();
        let settle = async { queue.settle(&acks).await.expect("settle") };
        assert_eq!(meter.count(settle).await, (1, 1));
    }
    let Some(AnyQueue::Rotating(ring)) = queues.last() else {
        panic!("the ring is the last");
    };
    let rotate = async { ring.rotate(max(100)).await.expect("rotate") };
    assert_eq!(meter.count(rotate).await, (1, 1));
}

#[tokio::test]
async fn settling_one_and_leasing_the_next_is_one_round_trip() {
    let server = Server::start().expect("a server");
    let queues = queues(&server).await;
    put(&queues, 10).await;
    let mut meter = Meter::at(&server);
    for queue in queues.iter().filter_map(AnyQueue::leasing) {
        let mut settlements = Vec::new();
        let rounds = async {
            for round in 0..10 {
                let (settled, leased) = queue
                    .settle_and_lease(&settlements, max(1), LEASE, None)
                    .await
                    .expect("settle_and_lease");
                assert_eq!(settled.len(), usize::from(round > 0));
                assert_eq!(leased.deliveries.len(), 1);
                settlements = vec![Settlement::ack(leased.deliveries[0].receipt)];
            }
        };
        assert_eq!(meter.count(rounds).await, (10, 10));
    }
}

#[tokio::test]
async fn consumers_of_one_message_each_share_their_calls() {
    const CONSUMERS: usize = 16;
    const ROUNDS: usize = 20;
    let server = Server::start().expect("a server");
    let queues = queues(&server).await;
    for _ in 0..ROUNDS {
        put(&queues, CONSUMERS).await;
    }
    let mut meter = Meter::at(&server);
    for queue in queues.iter().filter_map(AnyQueue::leasing) {
        let consume = async || {
            let mut settlements = Vec::new();
            for _ in 0..ROUNDS {
                let round = queue.settle_and_lease(&settlements, max(1), LEASE, None);
                let (_, leased) = round.await.expect("settle_and_lease");
                settlements = vec![Settlement::ack(leased.deliveries[0].receipt)];
            }
        };
        let all = future::join_all((0..CONSUMERS).map(|_| consume()));
        let (calls, _) = meter.count(all).await;
        // The first two calls serve one consumer each, because a call never waits for more callers.
        assert!(
            (20..=24).contains(&calls),
            "{calls} calls for 20 rounds of each"
        );
    }
}

#[tokio::test]
async fn receiving_what_is_there_is_one_round_trip() {
    let server = Server::start().expect("a server");
    let queues = queues(&server).await;
    put(&queues, 1).await;
    let mut meter = Meter::at(&server);
    for queue in queues.iter().filter_map(AnyQueue::leasing) {
        let receive = async { queue.receive_one(LEASE, HOUR).await.expect("receive") };
        assert_eq!(meter.count(receive).await, (1, 1));
    }
}

#[tokio::test]
async fn a_purge_is_a_call_for_each_batch_until_one_finds_less() {
    let server = Server::start().expect("a server");
    let queues = queues(&server).await;
    let mut meter = Meter::at(&server);
    for (messages, calls) in [(0, 1), (1, 1), (128, 2), (129, 2)] {
        for queue in queues.iter().filter_map(AnyQueue::leasing) {
            queue.purge(max(1_000)).await.expect("purge");
        }
        for some in [messages.min(100), messages - messages.min(100)] {
            if some > 0 {
                put(&queues, some).await;
            }
        }
        for queue in queues.iter().filter_map(AnyQueue::leasing) {
            let mut purged = 0;
            let purge = async { purged = queue.purge(max(1_000)).await.expect("purge") };
            assert_eq!(meter.count(purge).await, (calls, calls), "{messages}");
            assert_eq!(purged, messages as u64);
        }
    }
}

#[tokio::test]
async fn removing_a_queue_is_three_round_trips_however_long_it_is() {
    let server = Server::start().expect("a server");
    let backend = patient(&server.url()).connect().await.expect("connects");
    let name = QueueName::new("job").expect("a name");
    let mut meter = Meter::at(&server);
    for messages in [1, 10_000] {
        let config = ReliableConfig::default();
        let queue = backend.open_reliable(&name, &config).await.expect("opens");
        let batch = vec![Push::new("message"); messages];
        queue.push_all(&batch).await.expect("push");
        let remove = async {
            let removed = backend.remove(&name, Removal::UnlessLeased).await;
            assert!(removed.expect("remove"));
        };
        // Three round trips: read the list of queues, remove all keys by one script, and remove the queue's
        // entry from the list.
        assert_eq!(meter.count(remove).await, (1, 3), "{messages} messages");
    }
}

/// Runs idle consumers of a backend in virtual time for an hour. Returns the number of their commands.
async fn idle_hour(server: &Server, consumers: usize, waiting: usize) -> u64 {
    let connector = VirtualConnector::new(&server.url()).expect("a URL");
    let start = tokio::time::Instant::now();
    let now = move || Timestamp::from_millis(1_000_000 + start.elapsed().as_millis() as u64);
    let backend = RedisBackend::with_connector(connector)
        .prefix(format!("idle-{consumers}-{waiting}"))
        .clock(now);
    let backend = backend.connect().await.expect("connects");
    let name = QueueName::new("delay").expect("a name");
    let queue = backend.open_delay(&name, &DelayConfig::default()).await;
    let queue = queue.expect("opens");
    let later = Push::new("later").with_due(HOUR * 24);
    let messages = vec![later; waiting];
    queue.push_all(&messages).await.expect("push");
    // The tasks end with this hour, so that the next hour does not count their commands.
    let mut tasks = JoinSet::new();
    for _ in 0..consumers {
        let queue = Arc::clone(&queue);
        tasks.spawn(async move { queue.receive_one(LEASE, HOUR * 2).await });
    }
    // Skips the first poll, and the opening of the connection for wake-ups.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut meter = Meter::at(server);
    let (commands, _) = meter.count(tokio::time::sleep(HOUR)).await;
    commands
}

#[tokio::test(start_paused = true)]
async fn an_idle_consumer_sends_at_most_a_command_a_second() {
    let server = Server::start().expect("a server");
    let alone = idle_hour(&server, 1, 0).await;
    assert!(alone <= 3600, "{alone} commands in an hour");
    // A consumer still polls on its timer, in case an arrival is lost.
    assert!(alone > 0);
    let three = idle_hour(&server, 3, 0).await;
    assert!(
        three <= 3 * alone,
        "{three} commands of three, {alone} of one"
    );
}

#[tokio::test(start_paused = true)]
async fn an_idle_consumer_sends_nothing_per_message_that_waits() {
    let server = Server::start().expect("a server");
    let none = idle_hour(&server, 1, 0).await;
    let many = idle_hour(&server, 1, 2_000).await;
    assert_eq!(many, none);
}

#[tokio::test(start_paused = true)]
async fn an_idle_backend_sends_one_command_each_six_seconds() {
    let server = Server::start().expect("a server");
    let connector = VirtualConnector::new(&server.url()).expect("a URL");
    let backend = RedisBackend::with_connector(connector).connect().await;
    let backend = backend.expect("connects");
    let mut meter = Meter::at(&server);
    let (commands, _) = meter.count(tokio::time::sleep(HOUR)).await;
    assert!(
        (590..=600).contains(&commands),
        "{commands} commands in an hour"
    );
    assert!(backend.health().is_up());
}

/// The number of list elements for `messages` messages of one push, after one earlier message.
async fn elements_of(server: &Server, messages: usize) -> u64 {
    let backend = patient(&server.url()).connect().await.expect("connects");
    let name = QueueName::new(format!("of-{messages}")).expect("a good name");
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name, &config).await.expect("opens");
    // The first call checks what the queue has, and stores each message singly.
    let _ = queue.push_one("first").await.expect("pushes");
    let batch = vec![Push::new("work"); messages];
    queue.push(&batch).await.expect("pushes");
    let length = server.ask::<u64>(&["LLEN", &format!("qk:{{of-{messages}}}:ready")]);
    length.expect("it is a list") - 1
}

#[tokio::test]
async fn a_batch_is_stored_in_packs_from_32_messages_on() {
    let server = Server::start().expect("a server");
    assert_eq!(elements_of(&server, 31).await, 31);
    // Two packs of two elements each.
    assert_eq!(elements_of(&server, 32).await, 4);
}
