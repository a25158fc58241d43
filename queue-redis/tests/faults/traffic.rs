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
    habits::Habits,
    histories::Made,
    ledger::{Ledger, Toll},
    subject::Subject,
};

/// A lease whose reply is lost costs this time.
const LEASE: Duration = Duration::from_millis(500);
/// How long a consumer waits before it checks whether all is done.
const WAIT: Duration = Duration::from_millis(100);
/// The pause between two checks of a bounded wait.
const POLL: Duration = Duration::from_millis(2);
/// The number of messages by which producers may run ahead.
const BACKLOG: usize = 200;
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

/// Producers and consumers on one queue, and its promises to them.
#[derive(Debug)]
pub(crate) struct Traffic {
    queue: Subject,
    habits: Habits,
    /// Counts those that may be dropped.
    calls: AtomicUsize,
    /// The same queue by a handle that confirms, for half of the clients.
    confirming: Option<Subject>,
    errors: Errors,
    ledger: Ledger,
    done: AtomicUsize,
    stopping: AtomicBool,
}

impl Traffic {
    pub(crate) fn on(queue: Subject, errors: Errors) -> Arc<Self> {
        Self::of(queue, None, errors, Habits::default())
    }

    /// Half of the producers and consumers use the other handle of the same queue, and wait until their
    /// changes are confirmed, or are not.
    pub(crate) fn with_copies(queue: Subject, confirming: Subject, errors: Errors) -> Arc<Self> {
        Self::of(queue, Some(confirming), errors, Habits::default())
    }

    /// Traffic by clients with these habits; half of them use handles that confirm, if there are any.
    pub(crate) fn of(
        queue: Subject,
        confirming: Option<Subject>,
        errors: Errors,
        habits: Habits,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue,
            habits,
            calls: AtomicUsize::new(0),
            confirming,
            errors,
            ledger: Ledger::default(),
            done: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        })
    }

    /// Pushes and consumes until `fault` has ended, then drains the queue, and checks every
    /// promise.
    pub(crate) async fn during(self: &Arc<Self>, fault: impl Future<Output = ()>) -> Toll {
        let mut producers = JoinSet::new();
        for number in 0..self.habits.clients {
            let traffic = Arc::clone(self);
            producers.spawn(async move { traffic.produce(number).await });
        }
        let mut consumers = JoinSet::new();
        for number in 0..self.habits.clients {
            let traffic = Arc::clone(self);
            consumers.spawn(async move { traffic.consume(number).await });
        }
        fault.await;
        self.stopping.store(true, Ordering::SeqCst);
        while let Some(ended) = producers.join_next().await {
            ended.expect("a producer keeps its promises");
        }
        while let Some(ended) = consumers.join_next().await {
            ended.expect("a consumer is kept its promises");
        }
        let toll = self.ledger.check();
        if self.habits.keep_order() {
            self.ledger.check_order();
        }
        assert!(self.ledger.acks() > 0, "nothing happened during the fault");
        let counters = self.queue.leasing().counters().await.expect("counters");
        assert!(counters.balance(), "L5: {counters:?}");
        assert_eq!(counters.depth.occupied() + counters.depth.dead, 0);
        if let Some([accepted, acked]) = self.ledger.bounds() {
            let what = format!("L5: {accepted:?} were accepted, {acked:?} acked: {counters:?}");
            assert!(accepted.contains(&counters.accepted), "{what}");
            assert!(acked.contains(&counters.acked), "{what}");
        }
        toll
    }

    pub(crate) const fn queue(&self) -> &Subject {
        &self.queue
    }

    /// The promises so far.
    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The number of messages that are done so far.
    pub(crate) fn acks(&self) -> usize {
        self.ledger.acks()
    }

    /// Waits until `more` messages are done: then the queue works again after the fault.
    pub(crate) async fn flows(&self, more: usize) {
        let target = self.acks() + more;
        while self.acks() < target {
            tokio::time::sleep(POLL).await;
        }
    }

    async fn produce(&self, number: usize) {
        let mut count = 0;
        while !self.stopping.load(Ordering::SeqCst) {
            if self.ledger.open() > BACKLOG {
                tokio::time::sleep(POLL).await;
                continue;
            }
            let batch = self.habits.batch(number, count);
            batch
                .iter()
                .for_each(|push| self.ledger.offered(&push.body));
            loop {
                let made = self.ledger.make();
                let pushed = self.call(number, |queue| queue.put(&batch));
                match self.or_dropped(self.habits.drops_writes, pushed).await {
                    Some(Ok((pushed, confirmed))) => {
                        let made = made.confirmed(confirmed);
                        for (push, pushed) in batch.iter().zip(pushed) {
                            self.ledger.accepted(&push.body, made, pushed.id());
                        }
                        break;
                    }
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

    /// Makes a call for this client. Also returns whether its changes are confirmed.
    async fn call<'a, A, F>(
        &'a self,
        number: usize,
        call: impl FnOnce(&'a Subject) -> F,
    ) -> Result<(A, bool)>
    where
        A: Send,
        F: Future<Output = Result<A>> + Send + 'a,
    {
        match &self.confirming {
            Some(confirming) if number.is_multiple_of(2) => {
                let confirmed = confirming.leasing().confirmed(|_| call(confirming)).await?;
                let is_confirmed = confirmed.is_confirmed();
                Ok((confirmed.answer, is_confirmed))
            }
            _ => Ok((call(&self.queue).await?, false)),
        }
    }

    async fn consume(&self, number: usize) {
        loop {
            let made = self.ledger.make();
            let ended = self.done.load(Ordering::SeqCst) == self.habits.clients;
            let received = self.receive();
            match self.or_dropped(self.habits.drops_receives, received).await {
                Some(Ok(deliveries)) if deliveries.is_empty() && ended && self.is_empty().await => {
                    return;
                }
                Some(Ok(deliveries)) => self.handle(number, &deliveries, made).await,
                Some(Err(error)) => {
                    self.allow(&error);
                    tokio::time::sleep(POLL).await;
                }
                None => {}
            }
        }
    }

    /// Receives messages that are there, or one that comes soon.
    async fn receive(&self) -> Result<Vec<Delivery>> {
        let leasing = self.queue.leasing();
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

    async fn handle(&self, number: usize, deliveries: &[Delivery], made: Made) {
        for delivery in deliveries {
            self.ledger.delivered(delivery, made);
        }
        for delivery in deliveries {
            let made = self.ledger.settles(delivery);
            let acked = self.call(number, |queue| queue.leasing().ack(delivery.receipt));
            match self.or_dropped(self.habits.drops_writes, acked).await {
                Some(Ok(((), confirmed))) => {
                    self.ledger.acked(delivery, made.confirmed(confirmed));
                }
                // A stalled consumer lost its lease: another consumer will get the message.
                Some(Err(error)) if error.kind() == ErrorKind::LeaseLost => {}
                Some(Err(error)) => {
                    self.allow(&error);
                    if error.outcome() == Outcome::Unknown {
                        self.ledger.ack_unknown(delivery);
                    }
                }
                None => self.ledger.ack_unknown(delivery),
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
