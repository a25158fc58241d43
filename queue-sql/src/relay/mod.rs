//! The relay: it moves committed rows to their queues.

mod cursor;
mod event;
#[cfg(feature = "planted")]
mod planted;
mod pushing;
mod running;
#[cfg(feature = "tracing")]
mod spans;
mod wait;

use std::{
    fmt,
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use queue_core::{Error, Queues, Result, limits};
use tokio::sync::{Notify, watch};

pub use self::event::RelayEvent;
#[cfg(feature = "planted")]
pub use self::planted::PlantedBug;
use self::{running::Running, wait::unless};
use crate::{Inbox, Outbox, Store};

/// The most rows of one round, unless [`Relay::rows`] says otherwise.
const ROWS: u32 = 256;
const MAX_ROWS: u32 = 4_096;

/// An hour less than the longest dedup window, for clocks that run at different rates.
const MAX_WINDOW: Duration = limits::MAX_DEDUP_WINDOW.saturating_sub(Duration::from_secs(3600));

type OnEvent = Arc<dyn Fn(&RelayEvent<'_>) + Send + Sync>;

/// Moves committed rows of an [`Outbox`] to their queues, each as one message. Any number of relays, in any number of
/// processes, share the work.
///
/// A round takes rows in order of their ids and passes over those that other relays have. It pushes them in batches, each
/// under a dedup key of its row, deletes the rows, and commits. If a relay dies or loses a reply between the push and the
/// commit, the rows come again, and the queue knows their keys. So a row that is younger than the window is one message.
///
/// - **A row that the queue refuses for good** is kept apart, with the reason in its column `refused`. It is never lost
///   and never in the way.
/// - **A row older than the window** of 7 days is kept apart in the same way, since nobody knows whether it was pushed.
/// - **A full bounded queue, and a backend that is away**, hold the rows of their queue. Rows of other queues go on.
/// - **Order**: rows of one transaction get to a queue in the order of their pushes. Transactions get there in the order
///   in which relays see them; for a key whose producers wait for each other, that is the order of their commits.
///
/// ```
/// # #[cfg(feature = "sqlx-postgres")]
/// # async fn example(pool: sqlx::PgPool, queues: queue_core::Queues, shutdown: tokio::sync::oneshot::Receiver<()>) -> queue_core::Result<()> {
/// use queue_core::ReliableConfig;
/// use queue_sql::{Outbox, Relay, SqlxPostgres};
///
/// let outbox = Outbox::new().queue("mails", ReliableConfig::default())?;
/// let relay = Relay::new(&outbox, SqlxPostgres::new(pool), queues);
/// let report = relay.run_until(async { shutdown.await.unwrap_or(()) }).await?;
/// println!("relayed {} rows", report.relayed);
/// # Ok(())
/// # }
/// ```
#[must_use = "a relay does nothing before it runs"]
#[derive(Clone)]
pub struct Relay {
    outbox: Outbox,
    store: Arc<dyn Store>,
    queues: Queues,
    rows: u32,
    window: Duration,
    grace: Duration,
    listen: bool,
    inbox: Option<Inbox>,
    on_event: Option<OnEvent>,
    waker: Waker,
    #[cfg(feature = "planted")]
    planted: Option<PlantedBug>,
}

/// The work of a relay, from [`Relay::run_until`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RelayReport {
    /// Rows that got to their queues. Repeats count, too.
    pub relayed: u64,
    /// Of these, rows whose message the queue had already: repeats of a relay, or of a message's own key.
    pub duplicates: u64,
    /// Rows that are kept apart.
    pub refused: u64,
}

/// Wakes a relay in this process: call [`wake`](Self::wake) after a commit. SQLite has no other wake-up.
#[derive(Debug, Clone, Default)]
pub struct Waker(Arc<Notify>);

impl Waker {
    /// Makes the relay look for rows at once, or after its round.
    pub fn wake(&self) {
        self.0.notify_one();
    }
}

impl Relay {
    /// A relay for the queues of this outbox. `queues` opens them, with the outbox's configurations.
    pub fn new(outbox: &Outbox, store: impl Store, queues: Queues) -> Self {
        Self {
            outbox: outbox.clone(),
            store: Arc::new(store),
            queues,
            rows: ROWS,
            window: MAX_WINDOW,
            grace: Duration::from_secs(10),
            listen: true,
            inbox: None,
            on_event: None,
            waker: Waker::default(),
            #[cfg(feature = "planted")]
            planted: None,
        }
    }

    /// Sets the most rows of one round: 1 to 4,096, and 256 without it. A round holds its rows in memory, up to 8 MiB.
    pub const fn rows(mut self, rows: u32) -> Self {
        self.rows = rows;
        self
    }

    /// Keeps rows apart that are older than this: up to 7 days less an hour, which is the time without it.
    pub const fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Sets the time that a round may still take after the shutdown: 10 seconds without it.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Polls alone, and listens to nothing. Say so behind a pooler in transaction mode: LISTEN would stay on a connection
    /// of the server that other programs get, and sqlx fails at a wake-up that it does not expect. Before a relay
    /// listens it compares the server's processes of two connections, and finds most poolers, but not a busy one for sure.
    pub const fn without_listening(mut self) -> Self {
        self.listen = false;
        self
    }

    /// Removes old marks of this inbox as well, at most 1,000 in a second.
    pub const fn sweep(mut self, inbox: Inbox) -> Self {
        self.inbox = Some(inbox);
        self
    }

    /// Calls this with everything that happens. The features `metrics` and `tracing` publish the same events.
    pub fn on_event(mut self, call: impl Fn(&RelayEvent<'_>) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(call));
        self
    }

    /// A handle that wakes this relay.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Plants a bug.
    #[cfg(feature = "planted")]
    pub const fn plant(mut self, bug: PlantedBug) -> Self {
        self.planted = Some(bug);
        self
    }

    /// Relays until `shutdown` ends; then the round under way has the [grace](Self::grace) time to end. The relay repeats
    /// failed calls after a pause, and reports them as events.
    ///
    /// Dropping the future ends the relay at once. Rows that it had taken come again, under their keys.
    ///
    /// # Errors
    ///
    /// At the start only: `Invalid` for a setting; `Configuration` if the tables are missing or of another version;
    /// the permanent errors of opening a queue, such as `ConfigMismatch`.
    pub async fn run_until(self, shutdown: impl Future<Output = ()> + Send) -> Result<RelayReport> {
        self.check()?;
        let grace = self.grace;
        let (stop, stopped) = watch::channel(false);
        let report = Arc::new(Mutex::new(RelayReport::default()));
        let mut work = pin!(Running::new(self, stopped, Arc::clone(&report)).run());
        let ended = match unless(work.as_mut(), shutdown).await {
            Some(ended) => ended,
            None => {
                stop.send_replace(true);
                tokio::time::timeout(grace, work).await.unwrap_or(Ok(()))
            }
        };
        ended?;
        let report = report.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(*report)
    }

    fn check(&self) -> Result<()> {
        if self.rows == 0 || self.rows > MAX_ROWS {
            return Err(Error::invalid(format!(
                "{} rows in a round: 1 to {MAX_ROWS} are allowed",
                self.rows
            )));
        }
        if self.window > MAX_WINDOW {
            return Err(Error::invalid(
                "a relay's window is 7 days less an hour at most, because queues forget dedup keys after 7 days",
            ));
        }
        Ok(())
    }

    /// Whether anybody learns of what it counts.
    const fn is_watched(&self) -> bool {
        self.on_event.is_some() || cfg!(feature = "metrics")
    }

    fn emit(&self, event: &RelayEvent<'_>) {
        event.publish();
        if let Some(call) = &self.on_event {
            call(event);
        }
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("outbox", &self.outbox)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
