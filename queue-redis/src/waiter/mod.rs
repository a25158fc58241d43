//! Waiting for arrivals: all waiters of a backend share one connection that blocks on markers.
//!
//! A marker is a sorted set of the server's that holds something when there may be something to
//! do. Whoever makes work arms it (`ZADD`), and `BZPOPMIN` disarms it and wakes one waiter of all
//! that any process has; whoever wakes and leaves work behind arms it again. No message is ever
//! in it, so an arrival that gets lost costs no more than the fall-back interval.

mod board;
mod watch;

use std::{
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use queue_core::{Running, Spawn};
use tokio::time::{self, Instant};

use self::{
    board::{Arrival, Board},
    watch::{Dialer, Watch},
};
use crate::{
    backend::ConnectionHealth,
    client::Client,
    connection::{Backoff, Connector, Supervised, Timeouts},
};

/// Waits for arrivals. Cloning copies a pointer; the last clone to be dropped closes the
/// connection.
#[derive(Debug, Clone)]
pub(crate) struct Waiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    board: Arc<Board>,
    started: OnceLock<Started>,
    client: Client,
    connector: Arc<dyn Connector>,
    timeouts: Timeouts,
    fall_back: Duration,
    backoff: Backoff,
    spawn: Arc<dyn Spawn>,
}

#[derive(Debug)]
struct Started {
    connection: Supervised,
    _running: Running,
}

impl Waiter {
    pub(crate) fn new(
        client: Client,
        connector: Arc<dyn Connector>,
        timeouts: Timeouts,
        fall_back: Duration,
        backoff: Backoff,
        spawn: Arc<dyn Spawn>,
    ) -> Self {
        Self(Arc::new(Inner {
            board: Arc::default(),
            started: OnceLock::new(),
            client,
            connector,
            timeouts,
            fall_back,
            backoff,
            spawn,
        }))
    }

    /// Waits until the marker is armed, up to `timeout` and no longer than the fall-back
    /// interval, after which a caller looks by itself.
    ///
    /// Timed by this process, never by the server, which is late by up to 100 ms. It may return
    /// for no reason. Dropped, or ended by its timer at the same moment, it passes an arrival on:
    /// to another who waits for this marker, or back to the server. If it ends before the `change`
    /// that its caller knows of, it does so even without one, since nobody else may know until when
    /// to sleep; but for a change that comes after the fall-back interval: by then everybody has
    /// looked. An outage of the connection is no error here: the fall-back interval bridges it, and
    /// [`health`](Self::health) shows it.
    pub(crate) async fn wait(&self, marker: &Bytes, timeout: Duration, change: Option<Instant>) {
        self.0.start();
        let watched = change.filter(|at| *at < Instant::now() + self.0.fall_back);
        let mut watch = Unused {
            inner: &self.0,
            marker: watched.map(|_| marker),
        };
        let mut place = self.0.board.join(marker);
        let arrival = place.arrival();
        let told = time::timeout(timeout.min(self.0.fall_back), arrival).await;
        // Either way the caller looks again; ended by a timer of its own, it may leave then.
        if told.is_ok() || watched.is_some_and(|at| at <= Instant::now()) {
            watch.marker = None;
        }
    }

    /// Makes a call to which an arrival at this marker may have led. Dropped before its end, it
    /// passes the arrival on, as [`wait`](Self::wait) does.
    pub(crate) async fn follow_up<T>(&self, marker: &Bytes, call: impl Future<Output = T>) -> T {
        let mut unused = Unused {
            inner: &self.0,
            marker: Some(marker),
        };
        let answer = call.await;
        unused.marker = None;
        answer
    }

    pub(crate) fn health(&self) -> ConnectionHealth {
        let Some(started) = self.0.started.get() else {
            return ConnectionHealth::Unused;
        };
        match self.0.board.trouble() {
            Some(trouble) => ConnectionHealth::Down(Some(trouble)),
            None => ConnectionHealth::of(&started.connection.state()),
        }
    }
}

/// An arrival that is passed on when this is dropped.
struct Unused<'a> {
    inner: &'a Inner,
    marker: Option<&'a Bytes>,
}

impl Drop for Unused<'_> {
    fn drop(&mut self) {
        // Where nobody has ever waited, there was none.
        if let (Some(marker), Some(_)) = (self.marker, self.inner.started.get()) {
            self.inner.board.arrive(Arrival::at(marker));
        }
    }
}

impl Inner {
    /// Opens the connection when it is first needed: a process that only pushes has none.
    fn start(&self) {
        self.started.get_or_init(|| {
            let dialer = Dialer::new(Arc::clone(&self.connector), self.timeouts);
            let client_id = dialer.client_id();
            let connection = Supervised::new(dialer, None, self.backoff.clone(), &*self.spawn);
            let watch = Watch {
                board: Arc::clone(&self.board),
                connection: connection.clone(),
                client: self.client.clone(),
                client_id,
                response_timeout: self.timeouts.response,
                backoff: self.backoff.clone(),
            };
            Started {
                connection,
                _running: self.spawn.spawn(Box::pin(watch.run())),
            }
        });
    }
}
