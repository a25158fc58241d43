//! What keeps one connection open.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Error, ErrorKind, Outcome, Result, Running, Spawn};
use tokio::{
    sync::watch,
    time::{self, Instant},
};

use super::{Backoff, Channel};

/// A connection that lasted this long was sound: the next one is tried at once.
const SOUND: Duration = Duration::from_secs(1);

/// Opens a connection and makes it ready for use, within a bounded time.
#[async_trait]
pub(crate) trait Dial: fmt::Debug + Send + Sync + 'static {
    async fn dial(&self) -> Result<Channel>;
}

/// A connection that is opened again whenever it ends. The last clone to be dropped closes it.
#[derive(Debug, Clone)]
pub(crate) struct Supervised {
    state: watch::Receiver<State>,
    _running: Arc<Running>,
}

#[derive(Debug, Clone)]
pub(crate) enum State {
    Up(Arc<Channel>),
    /// With the reason, once one is known.
    Down(Option<Arc<Error>>),
}

impl Supervised {
    /// Keeps the connection open from now on. `first` is one that is open already.
    pub(crate) fn new(
        dial: impl Dial,
        first: Option<Channel>,
        backoff: Backoff,
        spawn: &dyn Spawn,
    ) -> Self {
        let first = first.map(Arc::new);
        let (publish, state) = watch::channel(match &first {
            Some(channel) => State::Up(Arc::clone(channel)),
            None => State::Down(None),
        });
        let running = spawn.spawn(Box::pin(supervise(dial, first, backoff, publish)));
        Self {
            state,
            _running: Arc::new(running),
        }
    }

    /// The open connection, waiting for one up to `patience`.
    ///
    /// Waiting instead of failing at once bridges a restart or a failover without the callers'
    /// doing, and paces those who try again in a loop while the server is away.
    pub(crate) async fn channel(&self, patience: Duration) -> Result<Arc<Channel>> {
        if let Some(channel) = self.state.borrow().usable() {
            return Ok(channel);
        }
        let mut state = self.state.clone();
        let up = async {
            match state.wait_for(|state| state.usable().is_some()).await {
                Ok(state) => state.usable(),
                Err(_) => None,
            }
        };
        match time::timeout(patience, up).await {
            Ok(Some(channel)) => Ok(channel),
            _ => Err(self.outage()),
        }
    }

    /// Waits until this connection is over or another has taken its place.
    pub(crate) async fn replaced(&self, channel: &Arc<Channel>) {
        let mut state = self.state.clone();
        let other =
            |state: &State| !matches!(state, State::Up(current) if Arc::ptr_eq(current, channel));
        // An error means that nobody keeps it open any more.
        let _ = state.wait_for(other).await;
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// What a caller is told who waited for a connection in vain: nothing was sent.
    fn outage(&self) -> Error {
        match &*self.state.borrow() {
            State::Down(Some(reason)) => Error::clone(reason)
                .with_transient(true)
                .with_outcome(Outcome::NotApplied),
            State::Up(_) | State::Down(None) => {
                Error::new(ErrorKind::Unavailable, "there is no connection at present")
            }
        }
    }
}

impl State {
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
    publish: watch::Sender<State>,
) {
    loop {
        let channel = match next.take() {
            Some(channel) => channel,
            None => match dial.dial().await {
                Ok(channel) => Arc::new(channel),
                Err(error) => {
                    publish.send_replace(State::Down(Some(Arc::new(error))));
                    time::sleep(backoff.next_delay()).await;
                    continue;
                }
            },
        };
        let since = Instant::now();
        publish.send_replace(State::Up(Arc::clone(&channel)));
        channel.over().await;
        publish.send_replace(State::Down(None));
        drop(channel);
        if since.elapsed() >= SOUND {
            backoff.reset();
        } else {
            time::sleep(backoff.next_delay()).await;
        }
    }
}
