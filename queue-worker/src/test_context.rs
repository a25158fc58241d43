//! Contexts without a worker, for tests of handlers.

use std::{sync::Arc, time::Duration};

use queue_core::{Bytes, Delivery, Headers, Json, MessageId, Receipt, Token, TokioSpawn, limits};
use serde::Serialize;
use tokio::time::Instant;

use super::{
    context::{Context, LeaseExtender},
    families::WaitingParents,
    lease::Lease,
    queue_scope::QueueScope,
    stop::Stop,
};

impl Context {
    /// Begins a context for a test of a handler, without a worker and a queue.
    ///
    /// ```
    /// use std::time::Duration;
    /// use queue_worker::{Context, Failure, Stop};
    ///
    /// async fn copy(minutes: u64, cx: Context) -> Result<u32, Failure> {
    ///     for _ in 0..minutes {
    ///         tokio::select! {
    ///             biased;
    ///             stop = cx.stopped() => return Err(Failure::new(format!("{stop:?}"))),
    ///             () = tokio::time::sleep(Duration::from_secs(60)) => {}
    ///         }
    ///     }
    ///     Ok(cx.attempt())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cx = Context::for_test().attempt(3).build();
    /// assert_eq!(copy(90, cx).await, Ok(3));
    ///
    /// let (cx, worker) = Context::for_test().build_with_worker();
    /// let shutdown = async {
    ///     tokio::time::sleep(Duration::from_secs(30 * 60)).await;
    ///     worker.stop(Stop::Shutdown);
    /// };
    /// let (copied, ()) = tokio::join!(copy(90, cx), shutdown);
    /// assert_eq!(copied, Err(Failure::new("Shutdown")));
    /// # }
    /// ```
    pub fn for_test() -> TestContext {
        TestContext {
            queue: Arc::from("test"),
            receipt: Receipt::new(MessageId::new(1), Token::new(1)),
            attempt: 1,
            headers: Headers::new(),
            failure: None,
            age: Some(Duration::ZERO),
            last_attempt: false,
            priority: None,
            group: None,
            state: None,
            lease: Duration::from_secs(30),
            timeout: None,
        }
    }
}

impl Context {
    /// Begins the context of the next delivery of this message in a test, `time` later: with the same state, and so with
    /// the results of the same [steps](Context::step).
    pub fn again_after(&self, time: Duration) -> TestContext {
        let lease = self.lease();
        let state = lease.with_state(|state| state.current().clone());
        let age = lease.age_now().unwrap_or_default() + time;
        let token = Token::new(lease.receipt.token.get() + 1);
        TestContext {
            state: (!state.is_empty()).then_some(state),
            ..Self::for_test()
                .named(self.queue())
                .id(self.id())
                .token(token)
                .attempt(self.attempt())
                .headers(self.headers().clone())
                .age(age)
        }
    }
}

/// The settings of a [`Context`] without a worker; [`Context::for_test`] begins one.
///
/// Nothing happens to such a context by itself. No heartbeat comes, and no timeout cuts the handler
/// off. The lease is lost when the test [says so](TestWorker::stop), and not at its deadline.
/// [`extend`](Context::extend) moves the deadline at once, as a worker does on a sound backend; once
/// the lease is lost, it answers `LeaseLost`.
#[must_use = "it is no context until it is built"]
#[derive(Debug, Clone)]
pub struct TestContext {
    queue: Arc<str>,
    receipt: Receipt,
    attempt: u32,
    headers: Headers,
    failure: Option<String>,
    age: Option<Duration>,
    last_attempt: bool,
    priority: Option<i16>,
    group: Option<Bytes>,
    state: Option<Bytes>,
    lease: Duration,
    timeout: Option<Duration>,
}

impl TestContext {
    /// Sets the queue's name, `test` by default.
    pub fn named(mut self, queue: impl Into<Arc<str>>) -> Self {
        self.queue = queue.into();
        self
    }

    /// Sets the message's id, 1 by default.
    pub const fn id(mut self, id: MessageId) -> Self {
        self.receipt.id = id;
        self
    }

    /// Sets the fencing token, 1 by default.
    pub const fn token(mut self, token: Token) -> Self {
        self.receipt.token = token;
        self
    }

    /// Sets the attempt, from 1. 1 by default.
    pub const fn attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// Sets why the last retry said that it failed. Nothing by default.
    pub fn failure(mut self, reason: impl Into<String>) -> Self {
        self.failure = Some(reason.into());
        self
    }

    /// Makes the attempt the last one. By default it is not.
    pub const fn last_attempt(mut self) -> Self {
        self.last_attempt = true;
        self
    }

    /// Sets the time since the push. Zero by default.
    pub const fn age(mut self, age: Duration) -> Self {
        self.age = Some(age);
        self
    }

    /// Sets the message's priority, as of a priority queue. None by default.
    pub const fn priority(mut self, priority: i16) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the key of the message's group, as of a grouped queue. None by default.
    pub fn group(mut self, key: impl Into<Bytes>) -> Self {
        self.group = Some(key.into());
        self
    }

    /// Sets the state that an earlier attempt left, as JSON. None by default.
    ///
    /// # Panics
    ///
    /// If JSON cannot write the state.
    pub fn state<T: Serialize + ?Sized>(mut self, state: &T) -> Self {
        self.state = Some(Json::write(state).expect("JSON writes the state"));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers = self.headers.with(name, value);
        self
    }

    /// Sets all headers. None by default.
    pub fn headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the length of the lease, 30 s by default, up to 24 h. It begins when the context is
    /// built. As in a worker, the deadline is a millisecond sooner.
    pub const fn lease(mut self, lease_time: Duration) -> Self {
        self.lease = lease_time;
        self
    }

    /// Sets the timeout that [`cut_off`](Context::cut_off) shows, counted from when the context is
    /// built. None by default.
    pub const fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// The context.
    pub fn build(self) -> Context {
        self.build_with_worker().0
    }

    /// The context, and the worker's part of it.
    pub fn build_with_worker(self) -> (Context, TestWorker) {
        let now = Instant::now();
        let lease_time = self.lease.min(limits::MAX_LEASE);
        let mut delivery = Delivery::new(self.receipt, self.attempt, lease_time, Bytes::new());
        delivery.headers = self.headers;
        delivery.failure = self.failure;
        delivery.age = self.age;
        delivery.last_attempt = self.last_attempt;
        delivery.priority = self.priority;
        delivery.group = self.group;
        delivery.state = self.state.map(Box::new);
        let lease = Lease::new(&delivery, now, None, None);
        let cut_off = self.timeout.and_then(|limit| now.checked_add(limit));
        let extender = LeaseExtender::Nobody { lease_time };
        let scope = Arc::new(QueueScope {
            name: self.queue,
            queue: None,
            shutting_down: Arc::default(),
            parents: WaitingParents::new(Arc::new(TokioSpawn::default())),
        });
        let worker = TestWorker {
            lease: Arc::clone(&lease),
            scope: Arc::clone(&scope),
        };
        let context = Context::new(lease, scope, cut_off, extender);
        (context, worker)
    }
}

/// A worker's part of a [`Context`] in a test: it tells the handler to stop.
#[derive(Debug, Clone)]
pub struct TestWorker {
    lease: Arc<Lease>,
    scope: Arc<QueueScope>,
}

impl TestWorker {
    /// Tells the handler to stop, for this reason. As in a worker, the first reason stays, unless
    /// the new one is a lost lease.
    pub fn stop(&self, stop: Stop) {
        self.lease.stop(stop);
    }

    /// Tells the handler that the worker's shutdown begins.
    pub fn begin_shutdown(&self) {
        self.scope.shutting_down.send_replace(true);
    }
}
