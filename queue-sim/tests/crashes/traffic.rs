//! Producers and consumers at work during a fault.

use std::{
    future::{Future, poll_fn},
    num::NonZeroUsize,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use queue_core::*;
use tokio::task::JoinSet;

use crate::{
    ground::at_last,
    habits::Habits,
    ledger::{Ledger, Toll},
};

/// A lease whose reply is lost costs this time.
const LEASE: Duration = Duration::from_millis(500);
/// How long a consumer waits before it checks whether all is done.
const WAIT: Duration = Duration::from_millis(100);
/// The pause between two checks of a bounded wait.
const POLL: Duration = Duration::from_millis(2);
/// The number of messages by which producers may run ahead.
const BACKLOG: u64 = 200;
/// How many times a producer pushes between two looks.
const PUSHES: usize = 16;
/// One in `DROPPED` calls that may be dropped is dropped, after one to `POLLS` polls.
const DROPPED: usize = 3;
const POLLS: usize = 7;

/// The errors that the fault may cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// None: the fault must not show.
    None,
    /// Errors that say that the same call may succeed later. Every push has a dedup key, so a
    /// repeat is safe (L8).
    Transient,
}

/// How the queue of this kind is opened: with more attempts and more room than any test uses.
pub(crate) fn config(kind: QueueKind) -> QueueConfig {
    let mut config = QueueConfig::of(kind, 1_000_000);
    if let Some(leasing) = config.leasing_mut() {
        leasing.max_attempts = 1_000_000;
    }
    config
}

/// A queue by a handle without a confirmation, and by one with it.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) name: QueueName,
    pub(crate) guarantees: Guarantees,
    pub(crate) plain: AnyQueue,
    /// For half of the clients.
    pub(crate) confirming: Option<AnyQueue>,
}

impl Subject {
    pub(crate) async fn open(
        plain: &dyn Backend,
        confirming: Option<&dyn Backend>,
        name: &str,
        kind: QueueKind,
    ) -> Result<Self> {
        let (name, config) = (QueueName::new(name)?, config(kind));
        Ok(Self {
            plain: plain.open(&name, &config).await?,
            confirming: match confirming {
                Some(backend) => Some(backend.open(&name, &config).await?),
                None => None,
            },
            guarantees: plain.guarantees(kind),
            name,
        })
    }

    pub(crate) const fn kind(&self) -> QueueKind {
        self.plain.kind()
    }

    pub(crate) fn leasing(&self) -> Arc<dyn Leasing> {
        leasing(&self.plain)
    }
}

fn leasing(queue: &AnyQueue) -> Arc<dyn Leasing> {
    queue.leasing().expect("a queue that leases")
}

/// Producers and consumers on one queue, and the account of its promises to them.
#[derive(Debug)]
pub(crate) struct Traffic {
    queue: Subject,
    habits: Habits,
    /// Counts the calls that may be dropped.
    calls: AtomicUsize,
    errors: Errors,
    ledger: Ledger,
    acks: AtomicUsize,
    /// The number of producers that have ended.
    done: AtomicUsize,
    stopping: AtomicBool,
}

impl Traffic {
    /// Traffic on an empty queue by clients that wait for every answer.
    pub(crate) async fn on(queue: &Subject, errors: Errors) -> Arc<Self> {
        Self::of(queue, errors, Habits::default()).await
    }

    /// Traffic on an empty queue by clients with these habits.
    pub(crate) async fn of(queue: &Subject, errors: Errors, habits: Habits) -> Arc<Self> {
        let leasing = queue.leasing();
        let before = at_last(|| leasing.counters()).await;
        let (name, config) = (queue.name.clone(), config(queue.kind()));
        let ledger = Ledger::new(name, config, queue.guarantees.clone(), before);
        Arc::new(Self {
            queue: queue.clone(),
            habits,
            calls: AtomicUsize::new(0),
            errors,
            ledger,
            acks: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        })
    }

    /// Pushes and consumes until `fault` has ended, then drains the queue, and checks every
    /// promise.
    pub(crate) async fn during(self: &Arc<Self>, fault: impl Future<Output = ()>) -> Toll {
        let mut clients = JoinSet::new();
        for number in 0..self.habits.clients {
            let (producer, consumer) = (Arc::clone(self), Arc::clone(self));
            clients.spawn(async move { producer.produce(2 * number).await });
            clients.spawn(async move { consumer.consume(2 * number + 1).await });
        }
        fault.await;
        self.stopping.store(true, Ordering::SeqCst);
        while let Some(ended) = clients.join_next().await {
            ended.expect("a client comes to its end");
        }
        let observer = self.observer();
        let counters = observer.counters().await.expect("counters");
        assert_eq!(counters.depth.occupied() + counters.depth.dead, 0);
        assert!(self.acks() > 0, "nothing happened during the fault");
        tokio::task::block_in_place(|| self.ledger.judge())
    }

    pub(crate) const fn queue(&self) -> &Subject {
        &self.queue
    }

    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// A client that only this traffic's operator uses.
    pub(crate) fn observer(&self) -> Arc<dyn Leasing> {
        let number = 2 * self.habits.clients;
        leasing(&self.ledger.client(number, &self.queue.plain))
    }

    /// The number of messages that are done so far.
    pub(crate) fn acks(&self) -> usize {
        self.acks.load(Ordering::SeqCst)
    }

    /// Waits until `more` messages are done: then the queue works again after the fault.
    pub(crate) async fn flows(&self, more: usize) {
        let target = self.acks() + more;
        while self.acks() < target {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Whether the consumers are behind. A server that does not answer holds up the producers itself.
    async fn is_full(&self) -> bool {
        let depth = self.queue.leasing().depth().await;
        depth.is_ok_and(|depth| depth.occupied() > BACKLOG)
    }

    /// The queue as this client sees it. Half of the producers and of the consumers wait for copies.
    fn client(&self, number: usize) -> AnyQueue {
        let confirming = self.queue.confirming.as_ref();
        let queue = confirming.filter(|_| (number / 2).is_multiple_of(2));
        let queue = queue.unwrap_or(&self.queue.plain);
        self.ledger.client(number, queue)
    }

    async fn produce(&self, number: usize) {
        let queue = self.client(number);
        let mut count = 0;
        while !self.stopping.load(Ordering::SeqCst) {
            if count % PUSHES == 0 && self.is_full().await {
                tokio::time::sleep(POLL).await;
                continue;
            }
            let batch = self.habits.batch(number / 2, count);
            loop {
                let pushed = self.call(number, &queue, queue.put(&batch));
                match self.or_dropped(self.habits.drops_writes, pushed).await {
                    Some(Ok(_)) => break,
                    Some(Err(error)) => self.allow(&error),
                    None => {}
                }
                tokio::time::sleep(POLL).await;
            }
            count += 1;
        }
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    /// The answer of a call; `None` if its caller dropped it half-way.
    async fn or_dropped<T>(&self, drops: bool, call: impl Future<Output = T> + Send) -> Option<T> {
        let nth = self.calls.fetch_add(1, Ordering::Relaxed);
        if !drops || !nth.is_multiple_of(DROPPED) {
            return Some(call.await);
        }
        polled(1 + nth / DROPPED % POLLS, call).await
    }

    /// Makes a call for this client, and notes whether its changes are confirmed.
    async fn call<T: Send>(
        &self,
        number: usize,
        queue: &AnyQueue,
        call: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let leasing = leasing(queue);
        if leasing.confirmer().is_none() {
            return call.await;
        }
        let confirmed = leasing.confirmed(|_| call).await?;
        if confirmed.is_confirmed() {
            self.ledger.confirmed(number);
        }
        Ok(confirmed.answer)
    }

    async fn consume(&self, number: usize) {
        let queue = self.client(number);
        let leasing = leasing(&queue);
        loop {
            let ended = self.done.load(Ordering::SeqCst) == self.habits.clients;
            let received = self.receive(&*leasing);
            match self.or_dropped(self.habits.drops_receives, received).await {
                Some(Ok(deliveries)) if deliveries.is_empty() && ended && self.is_empty().await => {
                    return;
                }
                Some(Ok(deliveries)) => self.handle(number, &queue, &deliveries).await,
                Some(Err(error)) => {
                    self.allow(&error);
                    tokio::time::sleep(POLL).await;
                }
                None => {}
            }
        }
    }

    /// Receives messages that are there, or one that comes soon.
    async fn receive(&self, leasing: &dyn Leasing) -> Result<Vec<Delivery>> {
        if self.errors == Errors::Transient {
            return leasing.receive(8, LEASE, WAIT).await;
        }
        // `receive` fails if a busy server is silent for a second at the end of the wait. `lease` waits for
        // the response timeout.
        let leased = leasing
            .lease(NonZeroUsize::MIN.saturating_add(7), LEASE)
            .await?;
        if !leased.is_empty() {
            return Ok(leased.deliveries);
        }
        // `receive` hides the error of a wait, too: the next lease finds the message.
        let waited = leasing.wait_to_lease(LEASE, None, WAIT).await;
        Ok(waited.unwrap_or_default().deliveries)
    }

    async fn handle(&self, number: usize, queue: &AnyQueue, deliveries: &[Delivery]) {
        let leasing = leasing(queue);
        for delivery in deliveries {
            let acked = self.call(number, queue, leasing.ack(delivery.receipt));
            match self.or_dropped(self.habits.drops_writes, acked).await {
                Some(Ok(())) => {
                    self.acks.fetch_add(1, Ordering::SeqCst);
                }
                // A stalled consumer lost its lease: another consumer will get the message.
                Some(Err(error)) if error.kind() == ErrorKind::LeaseLost => {}
                Some(Err(error)) => self.allow(&error),
                None => {}
            }
        }
    }

    async fn is_empty(&self) -> bool {
        match self.queue.leasing().depth().await {
            Ok(depth) => depth.occupied() == 0,
            Err(error) => {
                self.allow(&error);
                false
            }
        }
    }

    fn allow(&self, error: &Error) {
        let allowed = self.errors == Errors::Transient && error.is_transient();
        assert!(allowed, "not an error for this fault: {error:?}");
    }
}

/// Drops the future after `polls` polls, unless it is done.
async fn polled<T>(mut polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending if polls <= 1 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            Poll::Pending
        }
    })
    .await
}
