//! What can be set, and what cannot be meant.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use queue_core::{Consumer, Error, Result, Spawn, TokioSpawn, limits};

use super::{Backoff, Sharing};

/// The shortest lease of a worker: three heartbeats must find time in it, and clocks tick in ms.
const SHORTEST_LEASE: Duration = Duration::from_millis(10);

/// What belongs to the worker as a whole.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub(crate) concurrency: usize,
    pub(crate) sharing: Sharing,
    pub(crate) drain: Duration,
    pub(crate) cleanup: Duration,
    pub(crate) linger: Duration,
    pub(crate) poll: Duration,
    pub(crate) seed: Option<u64>,
    #[cfg(feature = "rate-limit")]
    pub(crate) rate: Option<super::Rate>,
    #[cfg(feature = "metrics")]
    pub(crate) sample: Option<Duration>,
    #[cfg(feature = "tracing")]
    pub(crate) link: Option<super::tracing::Link>,
    pub(crate) spawn: Arc<dyn Spawn>,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            concurrency: 1,
            sharing: Sharing::default(),
            drain: Duration::from_secs(10),
            cleanup: Duration::from_secs(1),
            linger: Duration::from_millis(5),
            poll: Duration::from_secs(5),
            seed: None,
            #[cfg(feature = "rate-limit")]
            rate: None,
            #[cfg(feature = "metrics")]
            sample: None,
            #[cfg(feature = "tracing")]
            link: None,
            spawn: Arc::new(TokioSpawn::default()),
        }
    }
}

impl Pool {
    pub(crate) fn check(&self) -> Result<()> {
        if self.concurrency == 0 {
            return Err(Error::invalid("a concurrency of 0: at least 1"));
        }
        if self.poll.is_zero() {
            return Err(Error::invalid(
                "a poll interval of 0 would never wait: at least 1 ms",
            ));
        }
        #[cfg(feature = "rate-limit")]
        if let Some(rate) = self.rate {
            rate.check()?;
        }
        #[cfg(feature = "metrics")]
        if self.sample.is_some_and(|interval| interval.is_zero()) {
            return Err(Error::invalid(
                "sampling every 0 would do nothing else: at least 1 ms",
            ));
        }
        Ok(())
    }

    /// What jitter between tries of a backend that fails is made from: by chance unless it was
    /// set, so that workers do not come back together.
    pub(crate) fn outage_seed(&self) -> u64 {
        self.seed
            .unwrap_or_else(|| RandomState::new().hash_one("queue-kit"))
    }

    /// What jitter between attempts is made from, beside the message.
    pub(crate) fn retry_seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }
}

/// What belongs to one queue of a worker.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) lease: Duration,
    pub(crate) retry: Backoff,
    pub(crate) timeout: Option<Duration>,
    pub(crate) hold: Option<Duration>,
    pub(crate) weight: u32,
    pub(crate) at_most: Option<usize>,
    /// Messages that one handler gets at once.
    pub(crate) batch: usize,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            name: None,
            lease: Duration::from_secs(30),
            retry: Backoff::default(),
            timeout: None,
            hold: None,
            weight: 1,
            at_most: None,
            batch: 1,
        }
    }
}

impl Terms {
    /// The defaults for this queue.
    pub(crate) fn of<T: 'static>(queue: &Consumer<T>) -> Self {
        Self {
            name: queue.name().cloned(),
            ..Self::default()
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        limits::lease_millis(self.lease)?;
        if self.lease < SHORTEST_LEASE {
            return Err(Error::invalid(format!(
                "a lease of {:?} leaves no time for heartbeats: at least {SHORTEST_LEASE:?}",
                self.lease
            )));
        }
        if self.batch == 0 || self.batch > limits::MAX_BATCH {
            return Err(Error::invalid(format!(
                "batches of {}: 1 to {} messages",
                self.batch,
                limits::MAX_BATCH
            )));
        }
        if self.weight == 0 {
            return Err(Error::invalid(
                "a weight of 0 would never be served: at least 1",
            ));
        }
        if self.at_most == Some(0) {
            return Err(Error::invalid(
                "a queue with at most 0 slots would never be served: at least 1",
            ));
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Error::invalid("a timeout of 0 leaves no time to work"));
        }
        if let (Some(timeout), Some(hold)) = (self.timeout, self.hold)
            && timeout > hold.max(self.lease)
        {
            return Err(Error::invalid(format!(
                "a timeout of {timeout:?} is longer than a message is held ({:?}): its lease would \
                 be lost while the handler may still work; shorten the timeout, or lengthen \
                 max_hold",
                hold.max(self.lease)
            )));
        }
        Ok(())
    }
}

/// The setters of what belongs to the worker as a whole, over a field `pool`.
macro_rules! pool_setters {
    () => {
        /// How many handlers run at once. 1 by default.
        ///
        /// No more messages are leased than there are free slots, so none waits behind another
        /// while a worker elsewhere has room.
        pub fn concurrency(mut self, handlers: usize) -> Self {
            self.pool.concurrency = handlers;
            self
        }

        /// How long handlers may finish after shutdown began. 10 s by default.
        pub fn drain(mut self, grace: Duration) -> Self {
            self.pool.drain = grace;
            self
        }

        /// How long a handler that was told to stop may go on before it is cut off: after a lost
        /// lease, and after the drain. 1 s by default.
        pub fn cleanup(mut self, time: Duration) -> Self {
            self.pool.cleanup = time;
            self
        }

        /// How long a result waits, at most, for others to be sent with. 5 ms by default, and
        /// never more than a sixteenth of what handlers take on average.
        ///
        /// Nothing waits if no other handler runs, or once an eighth of the slots is free. Zero
        /// sends each result at once, which costs more round trips.
        pub fn linger(mut self, time: Duration) -> Self {
            self.pool.linger = time;
            self
        }

        /// How often an idle worker looks without having been told of an arrival, in case a hint
        /// was lost. 5 s by default; what is due by itself is waited for exactly.
        pub fn poll(mut self, interval: Duration) -> Self {
            self.pool.poll = interval;
            self
        }

        /// What all jitter is made from. Without it, delays between attempts depend on the
        /// message alone, and delays between tries of a backend that fails on chance.
        pub fn seed(mut self, seed: u64) -> Self {
            self.pool.seed = Some(seed);
            self
        }

        /// Starts no more messages than this in a time. No limit by default.
        ///
        /// It is the limit of this worker; several workers have as many times that.
        #[cfg(feature = "rate-limit")]
        pub fn rate(mut self, rate: crate::Rate) -> Self {
            self.pool.rate = Some(rate);
            self
        }

        /// Reads each queue's depth and the age of its oldest ready message so often, for the
        /// gauges of [`metrics`](crate::metrics), by one call for each. Never by default.
        #[cfg(feature = "metrics")]
        pub fn sample_every(mut self, interval: Duration) -> Self {
            self.pool.sample = Some(interval);
            self
        }

        /// Calls this with each job's span and its message's headers before the span is entered,
        /// so that a bridge to a tracing system joins it to its producer's trace. See
        /// [`tracing`](crate::tracing).
        ///
        /// It runs in the job's task; its panic is a failed attempt.
        #[cfg(feature = "tracing")]
        pub fn link(
            mut self,
            link: impl Fn(&::tracing::Span, &queue_core::Headers) + Send + Sync + 'static,
        ) -> Self {
            self.pool.link = Some(crate::tracing::Link::new(link));
            self
        }

        /// Runs the handlers' tasks elsewhere: on another runtime, or in a simulator.
        pub fn spawn(mut self, spawn: impl Spawn) -> Self {
            self.pool.spawn = Arc::new(spawn);
            self
        }

        /// A view of the worker from outside, also while it runs.
        pub fn health(&self) -> Health {
            self.health.clone()
        }
    };
}

/// The setters of what belongs to one queue, over a field `terms`.
macro_rules! terms_setters {
    () => {
        /// What the queue is called in events and to its handlers. By default the name it was
        /// opened under, where it is known.
        pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
            self.terms.name = Some(name.into());
            self
        }

        /// How long a lease is, 30 s by default. Heartbeats extend it while its handler runs, a
        /// third of it after the last time; if the worker dies, others have the message this long
        /// after.
        pub fn lease(mut self, ttl: Duration) -> Self {
            self.terms.lease = ttl;
            self
        }

        /// How long a failed message waits, unless its failure says otherwise. By default a
        /// second, doubling up to an hour, half of it random. How often it is tried is stored with
        /// the queue (`max_attempts`).
        pub fn retry(mut self, backoff: Backoff) -> Self {
            self.terms.retry = backoff;
            self
        }

        /// Cuts a handler off after this long, as a failed attempt. No timeout by default.
        ///
        /// It takes effect at an await: a handler that blocks its thread cannot be cut off.
        pub fn timeout(mut self, limit: Duration) -> Self {
            self.terms.timeout = Some(limit);
            self
        }

        /// How long heartbeats hold a message at most, from its lease; the last one may reach a
        /// lease further. For as long as the handler runs, by default.
        ///
        /// After that the lease is lost, and the handler is told so. A timeout longer than this is
        /// refused.
        pub fn max_hold(mut self, hold: Duration) -> Self {
            self.terms.hold = Some(hold);
            self
        }
    };
}

pub(crate) use {pool_setters, terms_setters};
