//! A worker's settings, and their checks.

use std::{
    hash::{BuildHasher, RandomState},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use queue_core::{
    Bytes, Consumer, Error, Holder, KeptResult, Queues, Result, Spawn, TokioSpawn, in_millis,
    limits,
};

use super::{Backoff, Sharing, layer::Layers};

/// The shortest lease of a worker: three heartbeats must fit into it, and clocks tick in ms.
const SHORTEST_LEASE: Duration = Duration::from_millis(10);

/// The shortest interval between two polls, or two samples.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// The settings of the worker as a whole.
#[derive(Debug, Clone)]
pub(crate) struct WorkerSettings {
    /// The name of the worker's leases, if one was set.
    pub(crate) holder: Option<Arc<str>>,
    pub(crate) concurrency: usize,
    pub(crate) sharing: Sharing,
    pub(crate) drain: Duration,
    pub(crate) cleanup: Duration,
    pub(crate) linger: Duration,
    pub(crate) poll: Duration,
    pub(crate) seed: Option<u64>,
    pub(crate) rate: Option<super::Rate>,
    pub(crate) sample: Option<Duration>,
    pub(crate) registry: Option<Registry>,
    pub(crate) times: bool,
    #[cfg(feature = "tracing")]
    pub(crate) link: Option<super::tracing::Link>,
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) layers: Layers,
}

/// Where a worker registers, and the program that it says it is.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    pub(crate) queues: Queues,
    pub(crate) program: Arc<str>,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            holder: None,
            concurrency: 1,
            sharing: Sharing::default(),
            drain: Duration::from_secs(10),
            cleanup: Duration::from_secs(1),
            linger: Duration::from_millis(5),
            poll: Duration::from_secs(5),
            seed: None,
            rate: None,
            sample: None,
            registry: None,
            times: false,
            #[cfg(feature = "tracing")]
            link: None,
            spawn: Arc::new(TokioSpawn::default()),
            layers: Layers::default(),
        }
    }
}

impl WorkerSettings {
    pub(crate) fn check(&self) -> Result<()> {
        if self.concurrency == 0 {
            return Err(Error::invalid("a concurrency of 0: at least 1"));
        }
        check_interval("poll interval", self.poll)?;
        if let Some(rate) = self.rate {
            rate.check()?;
        }
        if let Some(interval) = self.sample {
            check_interval("sample_every", interval)?;
        }
        if self.times && self.registry.is_none() {
            return Err(Error::invalid(
                "keep_times without register: the worker writes its times beside its place in the list of workers",
            ));
        }
        Ok(())
    }

    /// The name that the worker's leases carry.
    pub(crate) fn holder(&self) -> Result<Holder> {
        match &self.holder {
            Some(name) => Holder::new(Arc::clone(name)),
            None => Ok(Holder::of_this_process()),
        }
    }

    /// The seed of the jitter between tries of a failing backend: random unless set, so that
    /// workers do not come back together.
    pub(crate) fn outage_seed(&self) -> u64 {
        self.seed
            .unwrap_or_else(|| RandomState::new().hash_one("queue-kit"))
    }

    /// The seed of the jitter between attempts, in addition to the message.
    pub(crate) fn retry_seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }
}

/// Refuses an interval so short that the worker would do nothing else.
fn check_interval(what: &str, interval: Duration) -> Result<()> {
    if interval < SHORTEST_INTERVAL {
        return Err(Error::invalid(format!(
            "a {what} of {interval:?} would leave the worker no time for anything else: at least {}",
            in_millis(SHORTEST_INTERVAL)
        )));
    }
    Ok(())
}

/// The settings of one queue of a worker.
#[derive(Debug, Clone)]
pub(crate) struct RouteSettings {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) lease: Duration,
    pub(crate) retry: Backoff,
    pub(crate) bury_undecodable: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) hold: Option<Duration>,
    pub(crate) weight: u32,
    pub(crate) at_most: Option<usize>,
    /// Messages that one handler gets at once.
    pub(crate) batch: usize,
    /// How long a batch waits until it is full.
    pub(crate) batch_wait: Duration,
    pub(crate) results: Option<KeepResults>,
}

/// How a queue keeps its results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeepResults {
    pub(crate) time: Duration,
    pub(crate) at_most: NonZeroU32,
}

impl KeepResults {
    /// This result, kept in this way.
    pub(crate) fn with(&self, result: Bytes) -> KeptResult {
        KeptResult::new(result, self.time).with_at_most(self.at_most)
    }
}

impl Default for RouteSettings {
    fn default() -> Self {
        Self {
            name: None,
            lease: Duration::from_secs(30),
            retry: Backoff::default(),
            bury_undecodable: false,
            timeout: None,
            hold: None,
            weight: 1,
            at_most: None,
            batch: 1,
            batch_wait: Duration::ZERO,
            results: None,
        }
    }
}

impl RouteSettings {
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
                "a lease of {} leaves no time for heartbeats: at least {}",
                in_millis(self.lease),
                in_millis(SHORTEST_LEASE)
            )));
        }
        self.retry.check()?;
        if self.batch == 0 || self.batch > limits::MAX_BATCH {
            return Err(Error::invalid(format!(
                "batches of {}: 1 to {} messages",
                self.batch,
                limits::MAX_BATCH
            )));
        }
        if let Some(results) = &self.results {
            limits::result_millis(results.time)?;
        }
        if self.batch_wait > self.lease / 2 {
            return Err(Error::invalid(format!(
                "a batch_wait of {} is longer than half of a lease ({}): too little of the lease would be left \
                 to the handler; shorten it, or lengthen the lease",
                in_millis(self.batch_wait),
                in_millis(self.lease / 2)
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
                "a timeout of {} is longer than a message is held ({}): its lease would be lost \
                 while the handler may still work; shorten the timeout, or lengthen max_hold",
                in_millis(timeout),
                in_millis(hold.max(self.lease))
            )));
        }
        Ok(())
    }
}

/// The setters of [`WorkerSettings`], over the field `settings` of the type itself, or of the named field.
macro_rules! worker_setters {
    ($($worker:ident)?) => {
        /// Sets the name under which the worker holds messages, 1 to 128 bytes long. It decides
        /// nothing: operators see it by [`peek`](queue_core::Leasing::peek).
        ///
        /// By default it names the host and the process: `web-3, process 4711`. The host's name comes from
        /// the environment (`HOSTNAME`) or from Linux; without either, the name has the process alone. All
        /// workers of a process have this name, unless you name them.
        pub fn holder(mut self, name: impl Into<Arc<str>>) -> Self {
            self$(.$worker)?.settings.holder = Some(name.into());
            self
        }

        /// Sets how many handlers run at once. 1 by default.
        ///
        /// The worker leases no more messages than it has free slots, so no message waits behind
        /// another while a worker elsewhere has room.
        pub fn concurrency(mut self, handlers: usize) -> Self {
            self$(.$worker)?.settings.concurrency = handlers;
            self
        }

        /// Sets the time that handlers have to finish after the shutdown began. 10 s by default.
        pub fn drain(mut self, grace: Duration) -> Self {
            self$(.$worker)?.settings.drain = grace;
            self
        }

        /// Sets how long a handler may go on after the worker has told it to stop, for a lost lease or after
        /// the drain. Then the worker cuts it off. 1 s by default.
        pub fn cleanup(mut self, time: Duration) -> Self {
            self$(.$worker)?.settings.cleanup = time;
            self
        }

        /// Sets the longest time that a result waits to be sent with others. 5 ms by default, and never more
        /// than a sixteenth of the handlers' average time.
        ///
        /// No result waits if no other handler runs, or once an eighth of the slots is free. Zero
        /// sends each result at once, which costs more round trips.
        pub fn linger(mut self, time: Duration) -> Self {
            self$(.$worker)?.settings.linger = time;
            self
        }

        /// Sets how often an idle worker polls without a hint, in case a hint was lost. 5 s by default, at
        /// least 1 ms. Due times do not depend on it: the worker waits for them exactly.
        pub fn poll(mut self, interval: Duration) -> Self {
            self$(.$worker)?.settings.poll = interval;
            self
        }

        /// Sets the seed of all jitter. Without it, delays between attempts depend on the message
        /// alone, and delays between tries of a failing backend are random.
        pub fn seed(mut self, seed: u64) -> Self {
            self$(.$worker)?.settings.seed = Some(seed);
            self
        }

        /// Limits the messages that the worker starts in a time. No limit by default.
        ///
        /// The limit holds for this worker; several workers start as many times that number.
        pub fn rate(mut self, rate: crate::Rate) -> Self {
            self$(.$worker)?.settings.rate = Some(rate);
            self
        }

        /// Reads each queue's counters at this interval, by one call for each queue: for
        /// [`Health::paused`](crate::Health::paused), and with the feature `metrics` for the gauges of the
        /// queue itself. Off by default; at least 1 ms.
        pub fn sample_every(mut self, interval: Duration) -> Self {
            self$(.$worker)?.settings.sample = Some(interval);
            self
        }

        /// Lists the worker for operators: `qk workers`, and [`queue_core::workers`]. `program` is the name and version
        /// of your program. Off by default.
        ///
        /// Every ten seconds the worker pushes one small message into the bounded queue `qk-workers` of this backend,
        /// in place of its last one. It takes itself off the list when it ends; a worker that was killed is listed as
        /// gone. If the call fails, the worker goes on, and tries again at the next beat.
        ///
        /// An operator can make a registered worker [quiet, or drain it](queue_core::ask_worker): it obeys at its next
        /// beat, as if its program had called [`Control::pause`](crate::Control::pause) or
        /// [`Control::drain`](crate::Control::drain).
        pub fn register(mut self, queues: &queue_core::Queues, program: impl Into<Arc<str>>) -> Self {
            self$(.$worker)?.settings.registry = Some($crate::settings::Registry {
                queues: queues.clone(),
                program: program.into(),
            });
            self
        }

        /// Keeps how long jobs waited and how long their handlers took, for the charts of `qk web` and
        /// [`queue_core::job_times`]. Off by default. The run fails with `Invalid` unless the worker
        /// [registers](Self::register).
        ///
        /// At each beat after which something has changed, the worker makes one call more: it writes a record for each
        /// type of job of each queue, up to 64 of them, into the bounded queue `qk-times` of the backend of its
        /// registration. A record has the minutes of the last hour with their counts, in JSON, and lives for an hour.
        /// It has some 40 bytes for each minute in which all took alike, 2 KB an hour; and 40 KB at most.
        ///
        /// A wait is the time from the push to the first delivery, by the backend's clock; of a message that was stamped
        /// with its due time ([`with_due_at`](queue_core::Headers::with_due_at)), from that time on.
        pub fn keep_times(mut self) -> Self {
            self$(.$worker)?.settings.times = true;
            self
        }

        /// Calls `link` with each job's span and its message's headers before the span is entered, so that a
        /// bridge to a tracing system joins the span to its producer's trace. See
        /// [`tracing`](crate::tracing).
        ///
        /// `link` runs in the job's task; if it panics, the attempt fails.
        #[cfg(feature = "tracing")]
        pub fn link(
            mut self,
            link: impl Fn(&::tracing::Span, &queue_core::Headers) + Send + Sync + 'static,
        ) -> Self {
            self$(.$worker)?.settings.link = Some(crate::tracing::Link::new(link));
            self
        }

        /// Adds a layer around each call of a handler, inside of the layers that were added before.
        pub fn layer(mut self, layer: impl HandlerLayer) -> Self {
            self$(.$worker)?.settings.layers.push(layer);
            self
        }

        /// Runs the handlers' tasks elsewhere: on another runtime, or in a simulator.
        pub fn spawn(mut self, spawn: impl Spawn) -> Self {
            self$(.$worker)?.settings.spawn = Arc::new(spawn);
            self
        }

        /// Returns the means to steer the worker from outside, before and while it runs.
        pub fn control(&self) -> Control {
            self$(.$worker)?.control.clone()
        }

        /// Returns a view of the worker from outside, also while it runs.
        pub fn health(&self) -> Health {
            self$(.$worker)?.health.clone()
        }
    };
}

/// The setters of [`Terms`], over the field `terms` of the type itself, or of its field that is named.
macro_rules! terms_setters {
    ($($route:ident)?) => {
        /// Sets the queue's name in events and in its handlers' contexts. By default it is the name
        /// that the queue was opened under, where known.
        pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
            self$(.$route)?.terms.name = Some(name.into());
            self
        }

        /// Sets the length of a lease, 30 s by default. While the handler runs, heartbeats extend the lease
        /// each time a third of it is over. If the worker dies, other workers get the message after this
        /// time.
        pub fn lease(mut self, lease_time: Duration) -> Self {
            self$(.$route)?.terms.lease = lease_time;
            self
        }

        /// Sets how long a failed message waits, unless its failure says otherwise. By default a
        /// second, doubling up to an hour, half of it random. The queue itself stores the number of
        /// attempts (`max_attempts`).
        pub fn retry(mut self, backoff: Backoff) -> Self {
            self$(.$route)?.terms.retry = backoff;
            self
        }

        /// Buries a message whose body does not decode, at its first attempt. By default such a message is a
        /// failed attempt like any other.
        ///
        /// While a new version of a program is rolled out, old workers get messages that only new workers can
        /// decode; a retry may reach a new worker. Bury at once only if all workers decode alike, so that no
        /// further attempt would help.
        pub fn bury_undecodable(mut self) -> Self {
            self$(.$route)?.terms.bury_undecodable = true;
            self
        }

        /// Cuts a handler off after `limit`; the attempt counts as failed. No timeout by default.
        ///
        /// The cut takes effect at an await: the worker cannot cut off a handler that blocks its thread.
        pub fn timeout(mut self, limit: Duration) -> Self {
            self$(.$route)?.terms.timeout = Some(limit);
            self
        }

        /// Sets how long a batch that is not full waits for more messages, counted from its first one. Zero by
        /// default; at most half of a lease. It has no effect on handlers of single messages.
        ///
        /// The waiting messages are leased, and take a slot. A shutdown releases them, which refunds the attempt.
        pub fn batch_wait(mut self, longest: Duration) -> Self {
            self$(.$route)?.terms.batch_wait = longest;
            self
        }

        /// Keeps what handlers return as an [`Output`](crate::Output): in the same step as the ack (S1), for `time`
        /// (S2), and in a queue with at most `at_most` results. By default no result is kept.
        ///
        /// [`Typed::result`](queue_core::Typed::result) and
        /// [`Typed::wait_for_result`](queue_core::Typed::wait_for_result) read it. The run fails with `Invalid`
        /// if `time` is zero, or longer than [`limits::MAX_KEEP_RESULT`](queue_core::limits::MAX_KEEP_RESULT).
        pub fn keep_results(mut self, time: Duration, at_most: std::num::NonZeroU32) -> Self {
            self$(.$route)?.terms.results = Some($crate::settings::KeepResults { time, at_most });
            self
        }

        /// Sets the longest time, counted from its lease, that heartbeats hold a message; the last heartbeat
        /// may hold it for a further lease. By default they hold it while the handler runs.
        ///
        /// After that the lease is lost, and the worker tells the handler to stop. The worker refuses a
        /// timeout longer than this time.
        pub fn max_hold(mut self, hold: Duration) -> Self {
            self$(.$route)?.terms.hold = Some(hold);
            self
        }
    };
}

pub(crate) use {terms_setters, worker_setters};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_that_is_set_decides_all_jitter() {
        let settings = WorkerSettings {
            seed: Some(7),
            ..WorkerSettings::default()
        };
        assert_eq!((settings.outage_seed(), settings.retry_seed()), (7, 7));
    }

    #[test]
    fn without_a_seed_workers_wait_for_a_backend_each_in_its_own_way() {
        let settings = WorkerSettings::default();
        assert_ne!(settings.outage_seed(), settings.outage_seed());
        assert_eq!(settings.retry_seed(), 0);
    }
}
