//! Keeps one connection open.

#[cfg(test)]
mod tests;

use std::{future, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::FutureExt;
use queue_core::{
    Error, ErrorKind, Outcome, Result, Running, Spawn, caller_deadline, with_sources,
};
use tokio::{
    sync::watch,
    time::{self, Instant},
};

use super::{Alarm, Backoff, Channel};
use crate::panic;

/// A connection that lasted this long was healthy: the supervisor tries the next one at once.
const SOUND: Duration = Duration::from_secs(1);

/// Opens a connection and makes it ready for use, within a bounded time.
#[async_trait]
pub trait Dial: Send + Sync + 'static {
    /// Opens the connection.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or the server is unfit. After a permanent error nobody retries.
    async fn dial(&self) -> Result<Channel>;
}

/// A connection that a task reopens whenever it ends. Dropping the last clone closes it.
#[derive(Debug, Clone)]
pub struct Supervised {
    state: watch::Receiver<ConnectionState>,
    _running: Arc<Running>,
}

/// The state of a connection.
#[derive(Debug, Clone)]
pub enum ConnectionState {
    /// It is open.
    Up(Arc<Channel>),
    /// Not open. Contains the reason, once one is known.
    Down(Option<Arc<Error>>),
}

impl Supervised {
    /// Keeps the connection open from now on. `first` is open already. A silent connection rings the alarm. Each ring
    /// has this connection tested, and so does a time of `keep_alive` without a sign of life, if it is set.
    pub fn new(
        dial: impl Dial,
        first: Option<Channel>,
        backoff: Backoff,
        keep_alive: Option<Duration>,
        alarm: Alarm,
        spawn: &dyn Spawn,
    ) -> Self {
        let first = first.map(Arc::new);
        let (publish, state) = watch::channel(match &first {
            Some(channel) => ConnectionState::Up(Arc::clone(channel)),
            None => ConnectionState::Down(None),
        });
        let watch = Watch { alarm, keep_alive };
        let running = spawn.spawn(Box::pin(supervise(dial, first, backoff, watch, publish)));
        Self {
            state,
            _running: Arc::new(running),
        }
    }

    /// The open connection; waits for one until `deadline`, or until the caller is about to go.
    ///
    /// The wait bridges a restart or a failover, so callers need not retry. It also slows down callers that retry in a
    /// loop while the server is away. If no task will ever open a connection again, returns a permanent error at once.
    pub async fn channel_until(&self, deadline: Instant) -> Result<Arc<Channel>> {
        if let Some(channel) = self.state.borrow().usable() {
            return Ok(channel);
        }
        let end = caller_deadline().map(Instant::from_std);
        let deadline = end.map_or(deadline, |end| end.min(deadline));
        let mut state = self.state.clone();
        loop {
            let up = state.wait_for(|state| state.usable().is_some());
            match time::timeout_at(deadline, up).await {
                Ok(Ok(state)) => {
                    if let Some(channel) = state.usable() {
                        return Ok(channel);
                    }
                }
                Ok(Err(_)) | Err(_) => return Err(self.outage()),
            }
        }
    }

    /// Waits until this connection is over or another has replaced it.
    pub async fn replaced(&self, channel: &Arc<Channel>) {
        let mut state = self.state.clone();
        let other = |state: &ConnectionState| !matches!(state, ConnectionState::Up(current) if Arc::ptr_eq(current, channel));
        // An error means that the supervising task has ended.
        let _ = state.wait_for(other).await;
    }

    /// Has the open connection tested, because a reply did not fit its request.
    pub fn mark_suspect(&self) {
        if let ConnectionState::Up(channel) = &*self.state.borrow() {
            channel.mark_suspect();
        }
    }

    /// Whether the supervising task has ended: then a closed connection stays closed.
    pub fn has_ended(&self) -> bool {
        self.state.has_changed().is_err()
    }

    /// The connection's state now.
    pub fn state(&self) -> ConnectionState {
        if self.has_ended() {
            return ConnectionState::Down(Some(Arc::new(ended())));
        }
        self.state.borrow().clone()
    }

    /// The error for a caller that waited for a connection in vain: it sent nothing.
    ///
    /// A connection was open before, so any reason may be transient. During a failover, a server may be a replica, or
    /// ask for another password, for a while.
    pub fn outage(&self) -> Error {
        match self.state() {
            _ if self.has_ended() => ended(),
            ConnectionState::Down(Some(reason)) => {
                let reason = Error::clone(&reason).with_outcome(Outcome::NotApplied);
                Error::new(ErrorKind::Unavailable, with_sources(&reason))
            }
            ConnectionState::Up(_) | ConnectionState::Down(None) => {
                Error::new(ErrorKind::Unavailable, "there is no connection at present")
            }
        }
    }
}

impl ConnectionState {
    fn usable(&self) -> Option<Arc<Channel>> {
        match self {
            Self::Up(channel) if !channel.is_over() => Some(Arc::clone(channel)),
            _ => None,
        }
    }
}

async fn supervise(
    dial: impl Dial,
    mut next: Option<Arc<Channel>>,
    mut backoff: Backoff,
    watch: Watch,
    publish: watch::Sender<ConnectionState>,
) {
    loop {
        let channel = match next.take() {
            Some(channel) => channel,
            None => match dial_safely(&dial).await {
                Ok(channel) => Arc::new(channel),
                Err(error) => {
                    publish.send_replace(ConnectionState::Down(Some(Arc::new(error))));
                    time::sleep(backoff.next_delay()).await;
                    continue;
                }
            },
        };
        let since = Instant::now();
        publish.send_replace(ConnectionState::Up(Arc::clone(&channel)));
        watch.over(&channel).await;
        if channel.is_silent() {
            watch.alarm.ring();
        }
        publish.send_replace(ConnectionState::Down(Some(Arc::new(channel.why_over()))));
        drop(channel);
        if since.elapsed() >= SOUND {
            backoff.reset();
        } else {
            time::sleep(backoff.next_delay()).await;
        }
    }
}

/// A connector may be foreign code: a panic counts as a failed attempt.
async fn dial_safely(dial: &impl Dial) -> Result<Channel> {
    match AssertUnwindSafe(dial.dial()).catch_unwind().await {
        Ok(dialled) => dialled,
        Err(panic) => Err(Error::new(
            ErrorKind::Internal,
            format!("opening a connection panicked: {}", panic::message(&*panic)),
        )),
    }
}

/// Decides when a connection is tested.
struct Watch {
    alarm: Alarm,
    keep_alive: Option<Duration>,
}

impl Watch {
    async fn idle(&self, channel: &Channel) {
        match self.keep_alive {
            Some(interval) => channel.idle(interval).await,
            None => future::pending().await,
        }
    }

    /// Tests the connection whenever this or another one is silent, this one is doubted, or nothing was received on it
    /// for a while. Ends when this one is over.
    async fn over(&self, channel: &Channel) {
        loop {
            let rung = self.alarm.rung();
            tokio::select! {
                biased;
                () = channel.over() => return,
                () = channel.suspected() => {}
                () = channel.silent() => self.alarm.ring(),
                () = rung => {}
                () = self.idle(channel) => {}
            }
            tokio::select! {
                biased;
                () = channel.over() => return,
                () = channel.test() => {}
            }
        }
    }
}

fn ended() -> Error {
    Error::new(
        ErrorKind::Configuration,
        "the runtime that this backend was connected on has ended, and with it the tasks that \
         keep its connections: connect again, on a runtime that lives as long as the backend",
    )
}
