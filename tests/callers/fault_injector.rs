//! A queue in memory whose calls fail, hang or are slow, as a test decides.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use queue_kit::MemoryBackend;
use queue_kit::{
    AnyQueue,
    call::{Answer, Call, Front, Service},
    *,
};
use tokio::time::{Instant, sleep};

pub(crate) const MILLI: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// The behaviour of a call.
pub(crate) enum Behaviour {
    /// It takes effect and answers at once.
    Made,
    /// It takes effect, and answers after this time.
    Slow(Duration),
    /// It takes effect, and its answer is lost.
    Lost,
    /// It does nothing and answers this error.
    Refused(Error),
    /// It does nothing, and returns a spurious hint after this time.
    Spurious(Duration),
    /// It does nothing and never answers.
    Hangs,
}

type Rule = dyn Fn(Duration, &Call) -> Behaviour + Send + Sync;

/// A queue, and the rule that chooses each call's behaviour by its time.
pub(crate) struct FaultInjector {
    queue: AnyQueue,
    start: Instant,
    rule: Box<Rule>,
    calls: Mutex<Vec<(Duration, Call)>>,
}

impl FaultInjector {
    fn before(
        queue: AnyQueue,
        rule: impl Fn(Duration, &Call) -> Behaviour + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue,
            start: Instant::now(),
            rule: Box::new(rule),
            calls: Mutex::default(),
        })
    }

    /// This as a queue of its kind.
    pub(crate) fn front(self: &Arc<Self>) -> Front {
        Front::of(Arc::clone(self) as Arc<dyn Service>)
    }

    /// The times of the calls that match this.
    pub(crate) fn times(&self, of: impl Fn(&Call) -> bool) -> Vec<Duration> {
        let calls = self.calls.lock().unwrap();
        let times = calls.iter().filter(|(_, call)| of(call));
        times.map(|(at, _)| *at).collect()
    }

    /// The timeout of each wait for room.
    pub(crate) fn waits_for_room(&self) -> Vec<Duration> {
        let calls = self.calls.lock().unwrap();
        let waits = calls.iter().map(|(_, call)| call);
        let waits = waits.filter(|call| matches!(call, Call::WaitForRoom(_)));
        waits.filter_map(Call::waits_for).collect()
    }
}

#[async_trait]
impl Service for FaultInjector {
    async fn call(&self, call: Call) -> Result<Answer> {
        let at = self.start.elapsed();
        let behaviour = (self.rule)(at, &call);
        self.calls.lock().unwrap().push((at, call.clone()));
        match behaviour {
            Behaviour::Made => self.queue.call(call).await,
            Behaviour::Slow(time) => {
                let answer = self.queue.call(call).await;
                sleep(time).await;
                answer
            }
            Behaviour::Lost => {
                let _ = self.queue.call(call).await;
                Err(down().with_outcome(Outcome::Unknown))
            }
            Behaviour::Refused(error) => Err(error),
            Behaviour::Spurious(time) => {
                sleep(time.min(call.waits_for().unwrap_or_default())).await;
                Ok(call.waited())
            }
            Behaviour::Hangs => std::future::pending().await,
        }
    }
}

impl fmt::Debug for FaultInjector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultInjector").finish_non_exhaustive()
    }
}

/// The error of a server that is down.
pub(crate) fn down() -> Error {
    Error::new(ErrorKind::Unavailable, "out of order, says the test")
}

/// The error of a server that refuses until an operator acts.
pub(crate) fn forbidden() -> Error {
    Error::new(ErrorKind::Configuration, "not allowed, says the test")
}

fn name() -> QueueName {
    QueueName::new("jobs").unwrap()
}

/// A reliable queue in memory.
pub(crate) async fn reliable() -> Arc<dyn ReliableQueue> {
    let config = ReliableConfig::default();
    let queue = MemoryBackend::new().open_reliable(&name(), &config).await;
    queue.unwrap()
}

/// Puts this rule in front of a reliable queue.
pub(crate) fn before(
    queue: &Arc<dyn ReliableQueue>,
    rule: impl Fn(Duration, &Call) -> Behaviour + Send + Sync + 'static,
) -> Arc<FaultInjector> {
    FaultInjector::before(AnyQueue::Reliable(Arc::clone(queue)), rule)
}

/// A bounded queue for one message, and the rule in front of it.
pub(crate) async fn bounded(
    rule: impl Fn(Duration, &Call) -> Behaviour + Send + Sync + 'static,
) -> (Arc<dyn BoundedQueue>, Arc<FaultInjector>) {
    let one = BoundedConfig::new(1);
    let queue = MemoryBackend::new().open_bounded(&name(), &one).await;
    let queue = queue.unwrap();
    let injector = FaultInjector::before(AnyQueue::Bounded(Arc::clone(&queue)), rule);
    (queue, injector)
}

/// A ring, and the rule in front of it.
pub(crate) async fn ring(
    rule: impl Fn(Duration, &Call) -> Behaviour + Send + Sync + 'static,
) -> (Arc<dyn RotatingQueue>, Arc<FaultInjector>) {
    let config = RotatingConfig::default();
    let ring = MemoryBackend::new().open_rotating(&name(), &config).await;
    let ring = ring.unwrap();
    let injector = FaultInjector::before(AnyQueue::Rotating(Arc::clone(&ring)), rule);
    (ring, injector)
}
