//! A queue in memory whose calls fail, hang or take their time, as a test says.

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

/// What becomes of a call.
pub(crate) enum Fate {
    /// It is made, and answered at once.
    Made,
    /// It is made and answered, so long after.
    Slow(Duration),
    /// It is made, and its answer is lost.
    Lost,
    /// Nothing is done.
    Refused(Error),
    /// A hint that tells of nothing, so long after.
    Spurious(Duration),
    /// Nothing is done, nor ever answered.
    Hangs,
}

type Rule = dyn Fn(Duration, &Call) -> Fate + Send + Sync;

/// A queue, and the rule that says what becomes of each call at its time.
pub(crate) struct Troubled {
    queue: AnyQueue,
    start: Instant,
    rule: Box<Rule>,
    calls: Mutex<Vec<(Duration, Call)>>,
}

impl Troubled {
    fn before(
        queue: AnyQueue,
        rule: impl Fn(Duration, &Call) -> Fate + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue,
            start: Instant::now(),
            rule: Box::new(rule),
            calls: Mutex::default(),
        })
    }

    /// As a queue of its kind.
    pub(crate) fn front(self: &Arc<Self>) -> Front {
        Front::of(Arc::clone(self) as Arc<dyn Service>)
    }

    /// When the calls came of which this holds.
    pub(crate) fn times(&self, of: impl Fn(&Call) -> bool) -> Vec<Duration> {
        let calls = self.calls.lock().unwrap();
        let times = calls.iter().filter(|(_, call)| of(call));
        times.map(|(at, _)| *at).collect()
    }

    /// How long each wait for room was to be.
    pub(crate) fn waits_for_room(&self) -> Vec<Duration> {
        let calls = self.calls.lock().unwrap();
        let waits = calls.iter().map(|(_, call)| call);
        let waits = waits.filter(|call| matches!(call, Call::WaitForRoom(_)));
        waits.map(patience).collect()
    }
}

#[async_trait]
impl Service for Troubled {
    async fn call(&self, call: Call) -> Result<Answer> {
        let at = self.start.elapsed();
        let fate = (self.rule)(at, &call);
        self.calls.lock().unwrap().push((at, call.clone()));
        match fate {
            Fate::Made => self.queue.call(call).await,
            Fate::Slow(time) => {
                let answer = self.queue.call(call).await;
                sleep(time).await;
                answer
            }
            Fate::Lost => {
                let _ = self.queue.call(call).await;
                Err(down().with_outcome(Outcome::Unknown))
            }
            Fate::Refused(error) => Err(error),
            Fate::Spurious(time) => {
                sleep(time.min(patience(&call))).await;
                Ok(Answer::Nothing)
            }
            Fate::Hangs => std::future::pending().await,
        }
    }
}

impl fmt::Debug for Troubled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Troubled").finish_non_exhaustive()
    }
}

/// How long a wait is to be.
fn patience(call: &Call) -> Duration {
    match call {
        Call::WaitForArrival(timeout) | Call::WaitForRoom(timeout) | Call::WaitForTurn(timeout) => {
            *timeout
        }
        _ => Duration::ZERO,
    }
}

/// A server that is not there.
pub(crate) fn down() -> Error {
    Error::new(ErrorKind::Unavailable, "out of order, says the test")
}

/// A server that refuses, until a person has acted.
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

/// In front of a reliable queue.
pub(crate) fn before(
    queue: &Arc<dyn ReliableQueue>,
    rule: impl Fn(Duration, &Call) -> Fate + Send + Sync + 'static,
) -> Arc<Troubled> {
    Troubled::before(AnyQueue::Reliable(Arc::clone(queue)), rule)
}

/// A bounded queue for one message, and what is in front of it.
pub(crate) async fn bounded(
    rule: impl Fn(Duration, &Call) -> Fate + Send + Sync + 'static,
) -> (Arc<dyn BoundedQueue>, Arc<Troubled>) {
    let one = BoundedConfig::new(1);
    let queue = MemoryBackend::new().open_bounded(&name(), &one).await;
    let queue = queue.unwrap();
    let troubled = Troubled::before(AnyQueue::Bounded(Arc::clone(&queue)), rule);
    (queue, troubled)
}

/// A ring, and what is in front of it.
pub(crate) async fn ring(
    rule: impl Fn(Duration, &Call) -> Fate + Send + Sync + 'static,
) -> (Arc<dyn RotatingQueue>, Arc<Troubled>) {
    let config = RotatingConfig::default();
    let ring = MemoryBackend::new().open_rotating(&name(), &config).await;
    let ring = ring.unwrap();
    let troubled = Troubled::before(AnyQueue::Rotating(Arc::clone(&ring)), rule);
    (ring, troubled)
}
