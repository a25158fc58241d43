//! A spy in front of a queue: it counts calls, slows them down and makes them fail.

use std::{
    fmt::Debug,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::*;

/// The spy's counts, and its behaviour.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) leases: u64,
    pub(crate) turns: u64,
    pub(crate) settles: u64,
    pub(crate) extends: u64,
    pub(crate) waits: u64,
    /// Calls whose future was dropped before it answered; waits are not counted.
    pub(crate) dropped: u64,
    /// The most messages that one call asked for.
    pub(crate) largest: usize,
    /// Receipts extended in the last `extend`.
    pub(crate) extended: usize,
    pub(crate) fault: Option<Fault>,
    /// The time that a call takes, half of it before it acts.
    pub(crate) latency: Duration,
    /// The time that each message of an answer takes in addition.
    pub(crate) per_message: Duration,
    /// The spy gives up an answer whose messages take longer than this.
    pub(crate) patience: Option<Duration>,
}

/// The way calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Calls do nothing.
    Down,
    /// Calls take effect, and their answers are lost.
    Mute,
    /// `extend` fails; the rest works.
    NoExtend,
    /// Leasing fails, as on a full server; the rest works.
    NoLease,
    /// No hints come; the rest works.
    NoHints,
    /// No hints come, since a right is missing; the rest works.
    NoRight,
    /// Calls do nothing, and their error asks for [`PAUSE`].
    Busy,
}

/// The pause that a busy backend asks for.
pub(crate) const PAUSE: Duration = Duration::from_secs(2);

impl Watched {
    pub(crate) fn calls(&self) -> u64 {
        self.leases + self.turns + self.settles
    }
}

/// A decorator of any leasing queue.
#[derive(Debug, Clone)]
pub(crate) struct Spy {
    queue: Arc<dyn Leasing>,
    watched: Arc<Mutex<Watched>>,
}

impl Spy {
    pub(crate) fn on<Q: Leasing>(queue: Arc<Q>) -> Self {
        Self {
            queue,
            watched: Arc::default(),
        }
    }

    pub(crate) fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap()
    }

    /// The spy as a worker's queue.
    pub(crate) fn consumer<T>(&self) -> Consumer<T>
    where
        T: serde::Serialize + serde::de::DeserializeOwned + 'static,
    {
        Consumer::new(Arc::new(self.clone()) as Arc<dyn Leasing>)
    }

    async fn call<T>(
        &self,
        immune_to: &'static [Fault],
        act: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let mut guard = Unanswered(Some(self));
        let (latency, fault) = {
            let watched = self.watched();
            (watched.latency, watched.fault)
        };
        let fault = fault.filter(|fault| !immune_to.contains(fault));
        if !latency.is_zero() {
            tokio::time::sleep(latency / 2).await;
        }
        let answer = match fault {
            None => act.await,
            Some(Fault::Mute) => {
                let _ = act.await;
                Err(unavailable().with_outcome(Outcome::Unknown))
            }
            Some(fault) => Err(error(fault)),
        };
        if !latency.is_zero() {
            tokio::time::sleep(latency / 2).await;
        }
        guard.0 = None;
        answer
    }

    /// Carries an answer's messages over the line.
    async fn carry(&self, leased: &Leased) -> Result<()> {
        let mut guard = Unanswered(Some(self));
        let (per_message, patience) = {
            let watched = self.watched();
            (watched.per_message, watched.patience)
        };
        let messages = u32::try_from(leased.deliveries.len()).unwrap();
        let time = per_message * messages;
        let carried = match patience {
            Some(patience) if time > patience => {
                tokio::time::sleep(patience).await;
                Err(unavailable().with_outcome(Outcome::Unknown))
            }
            _ => {
                if !time.is_zero() {
                    tokio::time::sleep(time).await;
                }
                Ok(())
            }
        };
        guard.0 = None;
        carried
    }
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "out of order, says the test")
}

fn error(fault: Fault) -> Error {
    match fault {
        Fault::Busy => unavailable().with_retry_after(PAUSE),
        Fault::NoRight => Error::new(ErrorKind::Configuration, "no right, says the test"),
        _ => unavailable(),
    }
}

struct Unanswered<'a>(Option<&'a Spy>);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(spy) = self.0 {
            spy.watched().dropped += 1;
        }
    }
}

const LEASES: &[Fault] = &[Fault::NoExtend, Fault::NoHints, Fault::NoRight];
const EXTENDS: &[Fault] = &[Fault::NoLease, Fault::NoHints, Fault::NoRight];
const REST: &[Fault] = &[
    Fault::NoLease,
    Fault::NoExtend,
    Fault::NoHints,
    Fault::NoRight,
];

#[async_trait]
impl Leasing for Spy {
    async fn lease(&self, max: NonZeroUsize, ttl: Duration) -> Result<Leased> {
        {
            let mut watched = self.watched();
            watched.leases += 1;
            watched.largest = watched.largest.max(max.get());
        }
        let leased = self.call(LEASES, self.queue.lease(max, ttl)).await?;
        self.carry(&leased).await?;
        Ok(leased)
    }
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        self.watched().settles += 1;
        self.call(REST, self.queue.settle(settlements)).await
    }
    async fn turn(
        &self,
        settlements: &[Settlement],
        max: NonZeroUsize,
        ttl: Duration,
    ) -> Result<(Vec<Settled>, Leased)> {
        {
            let mut watched = self.watched();
            watched.turns += 1;
            watched.largest = watched.largest.max(max.get());
        }
        let turn = self.queue.turn(settlements, max, ttl);
        let (settled, leased) = self.call(LEASES, turn).await?;
        self.carry(&leased).await?;
        Ok((settled, leased))
    }
    async fn extend(&self, receipts: &[Receipt], ttl: Duration) -> Result<Vec<Extended>> {
        {
            let mut watched = self.watched();
            watched.extends += 1;
            watched.extended = receipts.len();
        }
        self.call(EXTENDS, self.queue.extend(receipts, ttl)).await
    }
    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        let fault = {
            let mut watched = self.watched();
            watched.waits += 1;
            watched.fault
        };
        match fault {
            None | Some(Fault::NoExtend | Fault::NoLease) => {
                self.queue.wait_for_arrival(timeout).await
            }
            Some(fault) => Err(error(fault)),
        }
    }
    async fn depth(&self) -> Result<Depth> {
        self.call(REST, self.queue.depth()).await
    }
    async fn counters(&self) -> Result<Counters> {
        self.queue.counters().await
    }
    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        self.queue.dead_letters(page).await
    }
    async fn revive(&self, ids: &[MessageId]) -> Result<Vec<Revived>> {
        self.queue.revive(ids).await
    }
    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        self.queue.discard(ids).await
    }
    async fn pause(&self) -> Result<()> {
        self.queue.pause().await
    }
    async fn resume(&self) -> Result<()> {
        self.queue.resume().await
    }
    async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        self.queue.purge(max).await
    }
}
