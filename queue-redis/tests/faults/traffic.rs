//! Producers and consumers at work during a fault.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use tokio::task::JoinSet;

use crate::{ledger::Ledger, subject::Subject};

const PRODUCERS: usize = 4;
const CONSUMERS: usize = 4;

/// A lease whose reply is lost costs this time.
const LEASE: Duration = Duration::from_millis(500);
/// How long a consumer waits before it checks whether all is done.
const WAIT: Duration = Duration::from_millis(100);
/// How often a bounded wait looks.
const LOOK: Duration = Duration::from_millis(2);
/// How far producers may run ahead.
const BACKLOG: usize = 200;
const WINDOW: Duration = Duration::from_secs(3600);

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
    errors: Errors,
    ledger: Ledger,
    done: AtomicUsize,
    stopping: AtomicBool,
}

impl Traffic {
    pub(crate) fn on(queue: Subject, errors: Errors) -> Arc<Self> {
        Arc::new(Self {
            queue,
            errors,
            ledger: Ledger::default(),
            done: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        })
    }

    /// Pushes and consumes until `fault` has ended, then drains the queue, and checks every
    /// promise.
    pub(crate) async fn during(self: &Arc<Self>, fault: impl Future<Output = ()>) {
        let mut producers = JoinSet::new();
        for number in 0..PRODUCERS {
            let traffic = Arc::clone(self);
            producers.spawn(async move { traffic.produce(number).await });
        }
        let mut consumers = JoinSet::new();
        for _ in 0..CONSUMERS {
            let traffic = Arc::clone(self);
            consumers.spawn(async move { traffic.consume().await });
        }
        fault.await;
        self.stopping.store(true, Ordering::SeqCst);
        while let Some(ended) = producers.join_next().await {
            ended.expect("a producer keeps its promises");
        }
        while let Some(ended) = consumers.join_next().await {
            ended.expect("a consumer is kept its promises");
        }
        self.ledger.check();
        assert!(self.ledger.acks() > 0, "nothing happened during the fault");
        let counters = self.queue.leasing().counters().await.expect("counters");
        assert!(counters.balance(), "L5: {counters:?}");
        assert_eq!(counters.depth.occupied() + counters.depth.dead, 0);
    }

    /// The number of messages that are done so far.
    pub(crate) fn acks(&self) -> usize {
        self.ledger.acks()
    }

    /// Waits until so many more messages are done: the queue has got over the fault.
    pub(crate) async fn flows(&self, more: usize) {
        let target = self.acks() + more;
        while self.acks() < target {
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn produce(&self, number: usize) {
        let mut count = 0;
        while !self.stopping.load(Ordering::SeqCst) {
            if self.ledger.open() > BACKLOG {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            let body = Bytes::from(format!("{number}-{count}"));
            let push = Push::new(body.clone()).with_dedup(body.clone(), WINDOW);
            self.ledger.offered(&body);
            while let Err(error) = self.queue.put_one(push.clone()).await {
                self.allow(&error);
                tokio::time::sleep(LOOK).await;
            }
            self.ledger.accepted(&body);
            count += 1;
        }
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    async fn consume(&self) {
        loop {
            let ended = self.done.load(Ordering::SeqCst) == PRODUCERS;
            match self.queue.leasing().receive(8, LEASE, WAIT).await {
                Ok(deliveries) if deliveries.is_empty() && ended && self.is_empty().await => return,
                Ok(deliveries) => self.handle(&deliveries).await,
                Err(error) => {
                    self.allow(&error);
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    async fn handle(&self, deliveries: &[Delivery]) {
        for delivery in deliveries {
            self.ledger.delivered(delivery);
        }
        for delivery in deliveries {
            match self.queue.leasing().ack(delivery.receipt).await {
                Ok(()) => self.ledger.acked(delivery),
                // A stalled consumer lost its lease: another consumer will have it.
                Err(error) if error.kind() == ErrorKind::LeaseLost => {}
                Err(error) => {
                    self.allow(&error);
                    if error.outcome() == Outcome::Unknown {
                        self.ledger.ack_unknown(delivery);
                    }
                }
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
