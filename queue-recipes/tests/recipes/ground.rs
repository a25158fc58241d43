//! A server with a backend on it, whose clock the test sets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use queue_recipes::{Recipe, RecipeBackend};
use queue_redis::RedisBackend;
use real_redis::Server;
use tokio::task::JoinHandle;

use crate::{
    foreign::Foreign,
    until::{PATIENCE, until},
};

/// The time at which tests begin. It is no whole second, so that rounding shows.
pub(crate) const START: u64 = 1_700_000_000_600;

/// A lease that no test outlasts.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

/// The poll interval in tests.
pub(crate) const SOON: Duration = Duration::from_millis(10);

pub(crate) struct Ground {
    pub(crate) server: Server,
    pub(crate) redis: RedisBackend,
    clock: Arc<AtomicU64>,
}

impl Ground {
    /// A server, and a backend whose time is [`START`] until the test says otherwise.
    pub(crate) async fn start() -> Self {
        let server = Server::start().expect("a server starts");
        let clock = Arc::new(AtomicU64::new(START));
        Self {
            redis: connect(&server.url(), &clock).await,
            server,
            clock,
        }
    }

    /// Another backend, by this URL of the server.
    pub(crate) async fn connect(&self, url: &str) -> RedisBackend {
        connect(url, &self.clock).await
    }

    /// Another backend, as a new user who may run all commands except some: `-lpop`.
    pub(crate) async fn connect_without(&self, commands: &[&str]) -> RedisBackend {
        let rules = [
            "ACL", "SETUSER", "user", "reset", "on", ">secret", "~*", "&*", "+@all",
        ];
        let _: String = self.foreign().run(&[&rules, commands].concat());
        self.connect(&self.server.url_as("user", "secret")).await
    }

    /// Moves the queues' clock forward by `time`.
    pub(crate) fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).expect("no such time");
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    /// A connection of another program.
    pub(crate) fn foreign(&self) -> Foreign {
        Foreign::of(&self.server)
    }

    /// Moves the due messages of the topic [`QUEUE`](crate::recipes::QUEUE), as another program's
    /// distributor. On other recipes it finds nothing.
    pub(crate) fn distribute(&self) {
        let keys = ["delay:wait:q", "delay:meta:topic:active", "delay:active:q"];
        let now = self.clock.load(Ordering::SeqCst).to_string();
        let mut foreign = self.foreign();
        while foreign.eval::<u64>(crate::foreign::TOPIC_MOVE, &keys, &[&now, keys[2]]) == 1 {}
    }

    /// All that is on the server.
    pub(crate) fn dump(&self) -> Vec<String> {
        self.foreign().dump()
    }

    /// The server holds this and nothing else.
    #[track_caller]
    pub(crate) fn holds(&self, expected: &[&str]) {
        assert_eq!(self.dump(), expected);
    }

    /// A queue of three places where it is bounded.
    pub(crate) async fn open(&self, recipe: impl Recipe, queue: &str) -> AnyQueue {
        let opened = self.try_open(recipe, queue, 3).await;
        opened.expect("it opens")
    }

    pub(crate) async fn try_open(
        &self,
        recipe: impl Recipe,
        queue: &str,
        capacity: usize,
    ) -> Result<AnyQueue> {
        let config = QueueConfig::of(recipe.guarantees().kind, capacity);
        let backend = RecipeBackend::new(&self.redis, recipe);
        backend.open(&name(queue), &config).await
    }

    /// Waits until a client blocks in a pop.
    pub(crate) async fn until_blocked(&self) {
        let blocked = || {
            let info: String = self.foreign().run(&["INFO", "clients"]);
            info.contains("blocked_clients:1\r\n")
        };
        until("somebody blocks", blocked).await;
    }

    /// Waits until the server holds this and nothing else.
    pub(crate) async fn until_there_is(&self, expected: &[&str]) {
        let what = format!("{expected:?}");
        until(&what, || self.dump() == expected).await;
    }
}

/// A backend whose time is that of `clock`. No timeout passes on a busy machine.
async fn connect(url: &str, clock: &Arc<AtomicU64>) -> RedisBackend {
    let now = Arc::clone(clock);
    let backend = RedisBackend::builder(url)
        .expect("the URL is understood")
        .connect_timeout(PATIENCE)
        .response_timeout(PATIENCE)
        .clock(move || Timestamp::from_millis(now.load(Ordering::SeqCst)))
        .connect();
    backend.await.expect("the server takes us")
}

pub(crate) fn name(name: &str) -> QueueName {
    QueueName::new(name).expect("a good name")
}

/// Takes the messages that are there, and waits for the first one.
pub(crate) async fn take(queue: &AnyQueue, max: usize) -> Vec<Delivery> {
    let taken = leasing(queue).receive(max, LONG, PATIENCE).await;
    let taken = taken.expect("it takes");
    assert!(!taken.is_empty(), "nothing came");
    taken
}

/// Takes a message in a task of its own.
pub(crate) fn taking(queue: &AnyQueue) -> JoinHandle<Vec<Delivery>> {
    let queue = queue.clone();
    tokio::spawn(async move { take(&queue, 1).await })
}

/// Takes the messages that are there now.
pub(crate) async fn lease_bodies(queue: &AnyQueue, max: usize) -> Vec<Bytes> {
    let leased = leasing(queue).receive(max, LONG, Duration::ZERO).await;
    bodies(&leased.expect("it polls"))
}

pub(crate) fn bodies(deliveries: &[Delivery]) -> Vec<Bytes> {
    let bodies = deliveries.iter().map(|delivery| delivery.body.clone());
    bodies.collect()
}

/// Takes all messages, one poll after the other, and acks them.
pub(crate) async fn take_all_and_ack(queue: &AnyQueue, count: usize) -> Vec<Bytes> {
    let mut all = Vec::new();
    while all.len() < count {
        let taken = take(queue, count - all.len()).await;
        all.extend(bodies(&taken));
        for delivery in taken {
            end_live(queue, Settlement::ack(delivery.receipt)).await;
        }
    }
    all
}

/// Ends a hold.
pub(crate) async fn end(queue: &AnyQueue, settlement: Settlement) -> Settled {
    let settled = leasing(queue).settle(&[settlement]).await;
    settled.expect("it settles")[0]
}

/// Settles one lease, which must be live.
pub(crate) async fn end_live(queue: &AnyQueue, settlement: Settlement) {
    let settled = end(queue, settlement).await;
    assert_ne!(settled, Settled::LeaseLost, "the lease is live");
}

pub(crate) async fn depth(queue: &AnyQueue) -> Depth {
    leasing(queue).depth().await.expect("it counts")
}

/// Ready, delayed, leased and dead.
pub(crate) async fn counts(queue: &AnyQueue) -> [u64; 4] {
    let depth = depth(queue).await;
    [depth.ready, depth.delayed, depth.leased, depth.dead]
}

pub(crate) fn leasing(queue: &AnyQueue) -> Arc<dyn Leasing> {
    queue.leasing().expect("it leases")
}

/// A message for which a full queue drops its oldest.
pub(crate) fn dropping(message: impl Into<Push>) -> Push {
    message.into().with_overflow(Overflow::DropOldest)
}

/// Pushes messages; a bounded queue drops its oldest.
pub(crate) async fn push(queue: &AnyQueue, bodies: &[&'static str]) {
    let pushes = bodies.iter().map(|body| match queue {
        AnyQueue::Bounded(_) => dropping(*body),
        _ => Push::new(*body),
    });
    let pushed = queue.put(&pushes.collect::<Vec<_>>()).await;
    assert_eq!(pushed.expect("it pushes").len(), bodies.len());
}
