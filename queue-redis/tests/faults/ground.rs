//! The fixture of these tests: a server of their own, and clients of it.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{Backend, Error, Result, Timestamp};
use queue_redis::{Builder, RedisBackend};
pub(crate) use queue_testing::until::{until, within};
use real_redis::Server;

/// A bound of calls that no test reaches.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longer than a busy machine takes to connect or to answer, and short enough to give a silent connection
/// up. With the default of 3 s, a server without a processor for that time would fail unrelated tests.
const ANSWERING: Duration = Duration::from_secs(20);

/// Keeps the wait short after a lost wake-up, which a broken connection may cost.
const FALL_BACK: Duration = Duration::from_millis(500);

/// A client of this server.
pub(crate) async fn connect(server: &Server) -> Arc<dyn Backend> {
    connect_to(&server.url()).await
}

/// A client of the server at this address.
pub(crate) async fn connect_to(url: &str) -> Arc<dyn Backend> {
    open(builder(url)).await
}

/// A client of this server whose queues use this clock.
pub(crate) async fn connect_with(server: &Server, clock: &Clock) -> Arc<dyn Backend> {
    let clock = clock.clone();
    // Such a test uses no real time, so a busy machine may be slow.
    let builder = builder(&server.url()).response_timeout(PATIENCE);
    open(builder.clock(move || clock.now())).await
}

fn builder(url: &str) -> Builder {
    let builder = RedisBackend::builder(url).expect("a good URL");
    builder
        .fall_back(FALL_BACK)
        .connect_timeout(ANSWERING)
        .response_timeout(ANSWERING)
        .packs_from(4)
}

async fn open(builder: Builder) -> Arc<dyn Backend> {
    Arc::new(builder.connect().await.expect("the server takes us"))
}

/// A clock in milliseconds that moves only when a test moves it.
#[derive(Debug, Clone)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(crate) fn at(millis: u64) -> Self {
        Self(Arc::new(AtomicU64::new(millis)))
    }

    pub(crate) fn set(&self, millis: u64) {
        self.0.store(millis, Ordering::SeqCst);
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Repeats the call until the server and the machine serve it.
pub(crate) async fn at_last<T, F>(call: impl Fn() -> F + Send + Sync) -> T
where
    T: Send,
    F: Future<Output = Result<T>> + Send,
{
    queue_testing::until::at_last(call, Error::is_transient).await
}

/// Has the server run an administrator's command.
pub(crate) fn administer(server: &Server, command: &str) -> redis::Value {
    let words: Vec<&str> = command.split_whitespace().collect();
    let answer = server.ask(&words);
    answer.unwrap_or_else(|error| panic!("{command}: {error}"))
}
