//! Producers and consumers on queues all over a cluster, and an account of every message.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use queue_redis::RedisBackend;
use tokio::{task::JoinSet, time::sleep};

use super::open;

/// What was leased by a call whose answer was lost comes again after this.
const LEASE: Duration = Duration::from_secs(2);
/// Between two pushes to one queue.
const BREATH: Duration = Duration::from_millis(2);

/// A message: the queue's number and its own.
type Message = (usize, u32);

/// What became of the messages.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// Pushes that were acknowledged.
    acknowledged: Mutex<BTreeSet<Message>>,
    /// Pushes of which nobody knows whether they were done.
    unknown: Mutex<BTreeSet<Message>>,
    /// Messages whose ack was acknowledged, and how often.
    acked: Mutex<Vec<Message>>,
    /// The texts of errors.
    errors: Mutex<Vec<String>>,
    stop: AtomicBool,
    pushed: AtomicUsize,
}

/// Traffic on some queues, until it is told to end.
pub(super) struct Traffic {
    account: Arc<Account>,
    producers: JoinSet<()>,
    consumers: JoinSet<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic")
}

impl Traffic {
    /// Starts a producer and a consumer for each of these queues.
    pub(super) async fn on(backend: &RedisBackend, names: &[String]) -> Result<Self> {
        let account = Arc::new(Account::default());
        let (mut producers, mut consumers) = (JoinSet::new(), JoinSet::new());
        for (number, name) in names.iter().enumerate() {
            let queue = open(backend, name).await?;
            producers.spawn(produce(number, Arc::clone(&queue), Arc::clone(&account)));
            consumers.spawn(consume(queue, Arc::clone(&account)));
        }
        Ok(Self {
            account,
            producers,
            consumers,
        })
    }

    /// How many pushes have been answered.
    pub(super) fn pushed(&self) -> usize {
        self.account.pushed.load(Ordering::Acquire)
    }

    /// The pushes that are acknowledged by now.
    pub(super) fn acknowledged(&self) -> BTreeSet<Message> {
        lock(&self.account.acknowledged).clone()
    }

    /// Ends the producers, waits until the consumers have acked all that they `must`, and answers the
    /// account of the rest.
    pub(super) async fn end(mut self, must: impl Fn(Message) -> bool + Send + Sync) -> Ended {
        self.account.stop.store(true, Ordering::Release);
        while let Some(ended) = self.producers.join_next().await {
            ended.expect("no panic");
        }
        let account = &self.account;
        loop {
            let acked: BTreeSet<Message> = lock(&account.acked).iter().copied().collect();
            let acknowledged = lock(&account.acknowledged).clone();
            let mut missing = acknowledged
                .difference(&acked)
                .filter(|missing| must(**missing));
            if missing.next().is_none() {
                break;
            }
            // Bounded by the test's own timeout.
            sleep(Duration::from_millis(10)).await;
        }
        self.consumers.abort_all();
        while self.consumers.join_next().await.is_some() {}
        let acked = lock(&account.acked).clone();
        let set: BTreeSet<Message> = acked.iter().copied().collect();
        assert_eq!(acked.len(), set.len(), "a message was acked twice");
        let acknowledged = lock(&account.acknowledged).clone();
        let unknown = lock(&account.unknown).clone();
        let made_up: Vec<_> = set
            .iter()
            .filter(|message| !acknowledged.contains(message) && !unknown.contains(message))
            .collect();
        assert!(made_up.is_empty(), "nobody pushed {made_up:?}");
        Ended {
            acknowledged: acknowledged.len(),
            lost: acknowledged.difference(&set).count(),
            unknown: unknown.len(),
            errors: lock(&account.errors).clone(),
        }
    }
}

/// The account of all traffic.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) acknowledged: usize,
    pub(super) lost: usize,
    pub(super) unknown: usize,
    pub(super) errors: Vec<String>,
}

async fn produce(number: usize, queue: Arc<dyn ReliableQueue>, account: Arc<Account>) {
    for next in 0_u32.. {
        if account.stop.load(Ordering::Acquire) {
            return;
        }
        let message = (number, next);
        match queue.push_one(format!("{number} {next}")).await {
            Ok(_) => {
                lock(&account.acknowledged).insert(message);
            }
            Err(error) => {
                if error.outcome() == Outcome::Unknown {
                    lock(&account.unknown).insert(message);
                }
                account.failed(&error);
            }
        }
        account.pushed.fetch_add(1, Ordering::Release);
        sleep(BREATH).await;
    }
}

async fn consume(queue: Arc<dyn ReliableQueue>, account: Arc<Account>) {
    loop {
        let delivery = match queue.receive_one(LEASE, Duration::from_secs(5)).await {
            Ok(Some(delivery)) => delivery,
            Ok(None) => continue,
            Err(error) => {
                account.failed(&error);
                continue;
            }
        };
        let body = std::str::from_utf8(&delivery.body).expect("text");
        let (number, next) = body.split_once(' ').expect("two numbers");
        let message = (number.parse().expect("one"), next.parse().expect("two"));
        match queue.ack(delivery.receipt).await {
            Ok(()) => lock(&account.acked).push(message),
            // Perhaps it was done: then the message does not come again, and was acked once.
            Err(error) if error.outcome() == Outcome::Unknown => {
                account.failed(&error);
                lock(&account.acknowledged).remove(&message);
                lock(&account.unknown).insert(message);
            }
            Err(error) => account.failed(&error),
        }
    }
}

impl Account {
    fn failed(&self, error: &Error) {
        assert!(
            error.is_transient() || error.kind() == ErrorKind::LeaseLost,
            "{error:?}"
        );
        lock(&self.errors).push(error.to_string());
    }
}
