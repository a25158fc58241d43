//! Waiting for changes: all who wait in a process share one connection, which listens to the
//! process's own channel.
//!
//! A *marker* is a sorted set of the server's, one for each thing that can be waited for. Whoever
//! waits registers its process there; whoever makes work tells as many of the registered as there is
//! work for, each once, or *arms* the marker where nobody is registered, for who waits next
//! (`lua/shared/arm.lua`). So a wake-up costs the same however many queues are waited for; those who
//! waited longest go first; and a process that has died is found out when it is told, since nobody
//! listens to its channel. No message is ever in a marker or in a channel, so what gets lost costs
//! no more than the fall-back interval.

mod board;
#[cfg(test)]
mod interleavings;
mod owed;
mod watch;

use std::{
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use queue_core::{Error, ErrorKind, Outcome, Result, Running, Spawn};
use tokio::time::{self, Instant};

use self::{
    board::Board,
    owed::Owed,
    watch::{Dialer, Watch},
};
use crate::{
    client::Clock,
    connection::ConnectionHealth,
    connection::{Alarm, Backoff, Connector, Supervised, Timeouts},
};

/// A registration is trusted for so many fall-back intervals: it is renewed rarely, so that being
/// idle costs next to nothing, and often enough to notice a connection that has gone silent.
const TRUSTED: u32 = 4;

/// Waits for changes. Cloning copies a pointer; the last clone to be dropped closes the connection.
#[derive(Debug, Clone)]
pub(crate) struct Waiter(Arc<Inner>);

/// What a waiter needs to know.
pub(crate) struct Settings {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) timeouts: Timeouts,
    pub(crate) fall_back: Duration,
    pub(crate) clock: Option<Clock>,
    pub(crate) backoff: Backoff,
    pub(crate) alarm: Alarm,
    pub(crate) spawn: Arc<dyn Spawn>,
    /// The process's own channel, which nobody else has.
    pub(crate) channel: Arc<str>,
}

struct Inner {
    owed: Arc<Owed>,
    board: Arc<Board>,
    started: OnceLock<Started>,
    settings: Settings,
}

#[derive(Debug)]
struct Started {
    connection: Supervised,
    _running: Running,
}

impl Waiter {
    pub(crate) fn new(settings: Settings) -> Self {
        Self(Arc::new(Inner {
            board: Arc::new(Board::new(settings.fall_back * TRUSTED)),
            owed: Arc::default(),
            started: OnceLock::new(),
            settings,
        }))
    }

    /// Waits until something changes at the marker, up to `timeout` and no longer than the
    /// fall-back interval, after which a caller looks by itself.
    ///
    /// Timed by this process, never by the server. It may return for no reason. Dropped, or ended by
    /// its timer at the same moment, it passes on what it was told: to another who waits at this
    /// marker, here or elsewhere. If it ends before `change`, the time of the next change that its
    /// caller knows of, it has another look, since nobody else may know of it; but not for a change
    /// after the fall-back interval: by then everybody has looked.
    ///
    /// # Errors
    ///
    /// `Unavailable` if it was told of nothing, and could not have been: the connection is down, or
    /// the server refuses to register. The time is over all the same.
    pub(crate) async fn wait(
        &self,
        marker: &Bytes,
        timeout: Duration,
        change: Option<Instant>,
    ) -> Result<()> {
        self.0.start();
        let fall_back = self.0.settings.fall_back;
        let watched = self.soon(change);
        if let Some(change) = watched {
            self.0.owed.take_over(marker, change);
        }
        let mut watch = Unused {
            inner: &self.0,
            marker: watched.map(|_| marker),
        };
        let mut place = self.0.board.join(marker);
        let woken = time::timeout(timeout.min(fall_back), place.woken()).await;
        // Either way the caller looks again; ended by a timer of its own, it may leave then.
        if woken.is_ok() || watched.is_some_and(|at| at <= Instant::now()) {
            watch.marker = None;
        }
        match (woken, self.health()) {
            (Err(_), ConnectionHealth::Down(Some(reason))) => Err(deaf(&reason, fall_back)),
            _ => Ok(()),
        }
    }

    /// Makes a call to which a change at this marker may have led. Dropped before its end, or
    /// failed, it passes on what it was told, as [`wait`](Self::wait) does.
    pub(crate) async fn follow_up<T>(
        &self,
        marker: &Bytes,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let mut unused = Unused {
            inner: &self.0,
            marker: Some(marker),
        };
        let answer = call.await;
        if answer.is_ok() {
            unused.marker = None;
        }
        answer
    }

    /// Somebody who has waited at this marker looked, and found nothing but the time of the next
    /// change. If they do not wait for it, another is told when it has come.
    pub(crate) fn found(&self, marker: &Bytes, change: Instant) {
        if let Some(change) = self.soon(Some(change)) {
            self.0.owed.add(marker, change);
        }
    }

    /// The change, unless everybody has looked before it comes.
    fn soon(&self, change: Option<Instant>) -> Option<Instant> {
        let fall_back = self.0.settings.fall_back;
        change.filter(|at| *at < Instant::now() + fall_back)
    }

    /// The server has lost what was registered at this marker.
    pub(crate) fn forget(&self, marker: &Bytes) {
        self.0.board.forget(marker);
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

/// What was told and is passed on when this is dropped.
struct Unused<'a> {
    inner: &'a Inner,
    marker: Option<&'a Bytes>,
}

impl Drop for Unused<'_> {
    fn drop(&mut self) {
        // Where nobody has ever waited, nobody was told.
        if let (Some(marker), Some(_)) = (self.marker, self.inner.started.get()) {
            self.inner.board.give_up(marker);
        }
    }
}

impl Inner {
    /// Opens the connection when it is first needed: a process that only pushes has none.
    fn start(&self) {
        self.started.get_or_init(|| {
            let settings = &self.settings;
            let dialer = Dialer {
                connector: Arc::clone(&settings.connector),
                timeouts: settings.timeouts,
                channel: Arc::clone(&settings.channel),
            };
            let spawn = &*settings.spawn;
            let (backoff, alarm) = (settings.backoff.clone(), settings.alarm.clone());
            let connection = Supervised::new(dialer, None, backoff, alarm, spawn);
            let watch = Watch {
                board: Arc::clone(&self.board),
                owed: Arc::clone(&self.owed),
                connection: connection.clone(),
                address: settings.connector.address(),
                channel: Arc::clone(&settings.channel),
                clock: settings.clock.clone(),
                patience: settings.fall_back * (2 * TRUSTED),
                response_timeout: settings.timeouts.response,
            };
            Started {
                connection,
                _running: spawn.spawn(Box::pin(watch.run())),
            }
        });
    }
}

/// What a caller is told who could not have been woken.
fn deaf(reason: &Arc<Error>, fall_back: Duration) -> Error {
    let message = format!(
        "nobody can be told of changes at present, so who waits looks each {fall_back:?}: {reason}"
    );
    Error::new(ErrorKind::Unavailable, message)
        .with_transient(true)
        .with_outcome(Outcome::NotApplied)
        .with_source(Arc::clone(reason))
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("board", &self.board)
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}
