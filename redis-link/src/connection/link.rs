use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use queue_core::{Running, Spawn};
use redis::{Cmd, Pipeline, PushInfo, RedisFuture, Value, aio::ConnectionLike};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::progress::Progress;

/// A connection of any type that can be cloned: clones share it.
pub trait Wire: ConnectionLike + Send + Sync + 'static {
    /// Another handle to the same connection.
    fn cloned(&self) -> Box<dyn Wire>;
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Wire for C {
    fn cloned(&self) -> Box<dyn Wire> {
        Box::new(self.clone())
    }
}

/// An open connection of any type. Cloning makes another handle to it. Dropping the last handle
/// stops its driver and closes it.
pub struct Link {
    wire: Box<dyn Wire>,
    driver: Option<Arc<Driver>>,
    pushes: Arc<Mutex<Option<mpsc::UnboundedReceiver<PushInfo>>>>,
    progress: Option<Arc<Progress>>,
}

struct Driver {
    /// Whether the driver's task has made a first step.
    begun: Arc<AtomicBool>,
    ended: watch::Receiver<()>,
    /// The running driver, until the connection is cut.
    running: Mutex<Option<Running>>,
}

impl Link {
    /// A connection that needs no driver, or has its own.
    pub fn new(wire: impl Wire) -> Self {
        Self {
            wire: Box::new(wire),
            driver: None,
            pushes: Arc::default(),
            progress: None,
        }
    }

    /// A connection and the future that drives it, which is spawned here. The backend notices the driver's end at once,
    /// not at the next command.
    pub fn driven(
        wire: impl Wire,
        driver: impl Future<Output = ()> + Send + 'static,
        spawn: &dyn Spawn,
    ) -> Self {
        let (alive, ended) = watch::channel(());
        let begun = Arc::new(AtomicBool::new(false));
        let begins = Arc::clone(&begun);
        let running = spawn.spawn(Box::pin(async move {
            // The task drops this when it ends, also after a panic or an abort.
            let _alive = alive;
            begins.store(true, Ordering::Release);
            driver.await;
        }));
        Self {
            wire: Box::new(wire),
            driver: Some(Arc::new(Driver {
                begun,
                ended,
                running: Mutex::new(Some(running)),
            })),
            pushes: Arc::default(),
            progress: None,
        }
    }

    /// Adds the receiver of the connection's pushes (messages that the server sends unasked).
    ///
    /// A connection of [`Role::Waiter`](super::Role::Waiter) needs this receiver. For the redis crate's own
    /// connections, its sender is given to `AsyncConnectionConfig::set_push_sender`.
    #[must_use]
    pub fn with_pushes(self, pushes: mpsc::UnboundedReceiver<PushInfo>) -> Self {
        Self {
            pushes: Arc::new(Mutex::new(Some(pushes))),
            ..self
        }
    }

    /// The server's pushes, for the first caller that asks.
    pub fn take_pushes(&self) -> Option<mpsc::UnboundedReceiver<PushInfo>> {
        let mut pushes = self.pushes.lock().unwrap_or_else(PoisonError::into_inner);
        pushes.take()
    }

    /// The same link, with the progress of its stream.
    pub(super) fn with_progress(mut self, progress: Arc<Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// The time when bytes last moved, if it is known.
    pub(super) fn last_progress(&self) -> Option<Instant> {
        self.progress.as_ref().map(|progress| progress.last())
    }

    /// Whether the driver is known to have ended. Requests then get nowhere.
    pub fn has_ended(&self) -> bool {
        let driver = self.driver.as_ref();
        driver.is_some_and(|driver| driver.ended.has_changed().is_err())
    }

    /// Stops the driver, which ends the requests in progress. Does nothing without a driver.
    pub(super) fn cut(&self) {
        if let Some(driver) = &self.driver {
            let running = driver.running.lock();
            let running = running.unwrap_or_else(PoisonError::into_inner).take();
            drop(running);
        }
    }

    /// Whether the driver ended before its first step: the runtime that should run it has ended.
    pub(super) fn is_stillborn(&self) -> bool {
        // In this order, because a driver that has begun says so before it ends.
        let begun = |driver: &Driver| driver.begun.load(Ordering::Acquire);
        self.has_ended() && !self.driver.as_deref().is_some_and(begun)
    }

    /// Waits for the driver's end; for ever if there is no driver to watch.
    pub async fn ended(&self) {
        match &self.driver {
            Some(driver) => {
                let mut ended = driver.ended.clone();
                // The sender never sends, so this returns only when the sender is dropped.
                while ended.changed().await.is_ok() {}
            }
            None => std::future::pending().await,
        }
    }
}

impl Clone for Link {
    fn clone(&self) -> Self {
        Self {
            wire: self.wire.cloned(),
            driver: self.driver.clone(),
            pushes: Arc::clone(&self.pushes),
            progress: self.progress.clone(),
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        self.wire.req_packed_command(command)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.wire.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.wire.get_db()
    }
}
