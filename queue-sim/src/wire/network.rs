//! The network between a run's clients and the server.

use std::{
    fmt, io,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use queue_core::{Backend, Timestamp};
use queue_redis::RedisBackend;
use tokio::{
    sync::watch,
    time::{self, Instant},
};

use super::{listeners::ConnectionId, resp, rewrite::Rewrite, server_connection::ServerConnection};
use crate::{
    history::Event,
    plan::{Chance, Process, What},
    world::{Fault, NetworkFaults, RunContext},
};

/// The highest chance that any fault strikes a request, and again its reply, in percent.
const MOST: Chance = 30;

/// The state that all wires of one run share. Clones share it, too.
#[derive(Clone)]
pub(super) struct Network(Arc<WireInner>);

struct WireInner {
    faults: NetworkFaults,
    server_connection: Arc<Mutex<ServerConnection>>,
    durable: bool,
    rewrite: Option<Arc<dyn Rewrite>>,
    serves: Option<Arc<Serves>>,
    state: Mutex<WireState>,
    healed: watch::Sender<bool>,
    cut: watch::Sender<u64>,
    executed: watch::Sender<()>,
}

/// Another backend on the server, in place of the default queues.
pub(super) struct Serves {
    pub(super) backend: Box<Serve>,
    /// The command that reads the length of its queue, if the wire reads it after every request.
    pub(super) length: Option<Vec<Bytes>>,
    /// Whether the clocks of its processes may be ahead of the others'.
    pub(super) clocks_ahead: bool,
}

/// Makes the backend of a process from its client of the server.
type Serve = dyn Fn(RedisBackend, Process) -> Arc<dyn Backend> + Send + Sync;

#[derive(Default)]
struct WireState {
    last_connection: ConnectionId,
    /// The time until which the server takes no connections.
    down: Option<Instant>,
    /// The time by which the server's clock is behind.
    behind: Duration,
    /// The journal's last event when the snapshot was taken.
    snapshot: Option<u64>,
    /// The keys that a served backend has set with an expiry, and their ends.
    expiring: Vec<(Instant, Bytes)>,
}

impl Network {
    pub(super) fn new(
        context: &RunContext,
        server_connection: Arc<Mutex<ServerConnection>>,
        durable: bool,
        rewrite: Option<Arc<dyn Rewrite>>,
        serves: Option<Arc<Serves>>,
    ) -> Self {
        Self(Arc::new(WireInner {
            faults: NetworkFaults::new(context),
            server_connection,
            durable,
            rewrite,
            serves,
            state: Mutex::default(),
            healed: watch::channel(false).0,
            cut: watch::channel(0).0,
            executed: watch::channel(()).0,
        }))
    }

    /// Whether a wake-up, or its receiver, can get lost.
    pub(super) fn loses_hints(&self) -> bool {
        let harmless = [Fault::Delayed, Fault::Cancelled];
        self.0
            .faults
            .mix()
            .iter()
            .any(|fault| !harmless.contains(&fault))
    }

    pub(super) fn rewrite(&self) -> Option<&Arc<dyn Rewrite>> {
        self.0.rewrite.as_ref()
    }

    /// A backend other than the default queues, whose calls are plain commands.
    pub(super) fn serves(&self) -> Option<&Serves> {
        self.0.serves.as_deref()
    }

    /// The time by which the clock of this process's client is ahead of the server's.
    pub(super) fn clock_ahead(&self, process: Process) -> Duration {
        let ahead = match self.way(process, What::Delay, 3) {
            0 => return Duration::ZERO,
            1 => Duration::from_millis(15),
            _ => self.patience(),
        };
        self.journal().note(Event::Fault("clock ahead", process));
        ahead
    }

    /// The server's clock.
    pub(super) fn now(&self) -> Timestamp {
        let behind = self.lock().behind.as_millis() as u64;
        let now = self.journal().now().as_millis();
        Timestamp::from_millis(now.saturating_sub(behind))
    }

    /// Uses the server. No time passes.
    ///
    /// An error here comes from the environment, and not from the code under test. The journal records it as a broken
    /// rule, because the run proves nothing.
    pub(super) fn with_server_connection<T>(
        &self,
        work: impl FnOnce(&mut ServerConnection) -> io::Result<T>,
    ) -> Option<T> {
        let done = work(&mut self.server_connection());
        match done {
            Ok(value) => Some(value),
            Err(error) => {
                let message = format!("the server of the simulation failed: {error}");
                self.journal().note(Event::Broken("wire", message));
                None
            }
        }
    }

    /// The server, for uses that cannot fail. No time passes.
    pub(super) fn server_connection(&self) -> MutexGuard<'_, ServerConnection> {
        let server_connection = self.0.server_connection.lock();
        server_connection.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn next_connection(&self) -> ConnectionId {
        let mut state = self.lock();
        state.last_connection += 1;
        state.last_connection
    }

    /// The fault among `faults` that strikes this process now, if any, at one in `rarely` of its chances. Together they
    /// strike at a bounded chance, because otherwise hardly any call would succeed.
    pub(super) fn strike(
        &self,
        process: Process,
        what: What,
        faults: &[Fault],
        rarely: Chance,
    ) -> Option<Fault> {
        self.0.faults.strike(process, what, faults, |weights| {
            let sum: Chance = weights.iter().sum();
            let most = sum.max(MOST);
            for weight in weights.iter_mut() {
                *weight = *weight * 100 * MOST / (most * rarely);
            }
            weights[0] = 10_000 - weights.iter().sum::<Chance>();
        })
    }

    /// Waits until this time, or until the faults are over.
    pub(super) async fn pause(&self, until: Instant) {
        tokio::select! {
            biased;
            () = self.healed() => {}
            () = time::sleep_until(until) => {}
        }
    }

    /// Waits while the process is cut off.
    pub(super) async fn pass(&self, process: Process) {
        while let Some(until) = self.held(process) {
            self.pause(until).await;
        }
    }

    /// Whether the server takes connections.
    pub(super) fn is_down(&self) -> bool {
        self.lock().down.is_some_and(|until| until > Instant::now())
    }

    /// Puts the server's clock back.
    pub(super) fn step_back(&self, by: Duration) {
        self.lock().behind += by;
    }

    /// The time by which the clock is behind.
    pub(super) fn behind(&self) -> Duration {
        self.lock().behind
    }

    /// Copies all data. If a copy exists, puts it back instead, like a failover to a replica that
    /// lagged behind.
    pub(super) fn fail_over(&self, process: Process) {
        let remembered = self.lock().snapshot.take();
        let Some(to) = remembered else {
            let order = self.journal().order();
            self.server_connection().snapshot();
            self.lock().snapshot = Some(order);
            return;
        };
        self.cut_all();
        self.server_connection().roll_back();
        self.note(Fault::RolledBack, process);
        self.journal().note(Event::RolledBack { to });
    }

    /// Kills the server, and starts it again from its file. It takes connections again after a
    /// while.
    pub(super) fn restart(&self, process: Process) {
        if !self.0.durable {
            return;
        }
        self.note(Fault::Restarted, process);
        self.cut_all();
        self.with_server_connection(ServerConnection::restart);
        let until = Instant::now() + self.delay(process);
        self.lock().down = Some(until);
    }

    /// Ends all connections.
    fn cut_all(&self) {
        self.0.cut.send_modify(|cuts| *cuts += 1);
    }

    /// Notifies when all connections end.
    pub(super) fn cuts(&self) -> watch::Receiver<u64> {
        self.0.cut.subscribe()
    }

    /// Notifies when the server has executed a request of a served backend.
    pub(super) fn executed(&self) -> watch::Receiver<()> {
        self.0.executed.subscribe()
    }

    /// Lets blocked pops try again.
    pub(super) fn has_executed(&self) {
        self.0.executed.send_replace(());
    }

    /// Removes the keys whose time is over: the server's own clock does not follow the run's.
    pub(super) fn expire(&self) -> Option<()> {
        let now = Instant::now();
        let mut over = Vec::new();
        self.lock().expiring.retain(|(end, key)| {
            let lives = *end > now;
            if !lives {
                over.push(key.clone());
            }
            lives
        });
        for key in over {
            let mut delete = Vec::new();
            resp::encode(&[&b"DEL"[..], &key], &mut delete);
            self.with_server_connection(|server_connection| server_connection.execute(&delete, 1))?;
        }
        Some(())
    }

    /// Notes the end of a key that a request has set.
    pub(super) fn ends(&self, end: Instant, key: Bytes) {
        let mut state = self.lock();
        state.expiring.retain(|(_, other)| *other != key);
        state.expiring.push((end, key));
    }

    /// Ends the faults, and returns when no request or reply is on its way any more.
    pub(super) async fn heal(&self) {
        self.end();
        self.0.healed.send_replace(true);
        self.lock().down = None;
        // Time only passes when no task can do anything any more.
        time::sleep(Duration::from_millis(1)).await;
        while self.is_under_way() {
            time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits for the end of the faults.
    pub(super) async fn healed(&self) {
        let mut healed = self.0.healed.subscribe();
        // The channel stays open, because this network holds the sender.
        let _ = healed.wait_for(|healed| *healed).await;
    }

    fn lock(&self) -> MutexGuard<'_, WireState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A network has the faults of [`NetworkFaults`], and a server beside it.
impl Deref for Network {
    type Target = NetworkFaults;

    fn deref(&self) -> &NetworkFaults {
        &self.0.faults
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Network")
            .field("connections", &state.last_connection)
            .field("faults", &self.0.faults)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Serves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serves")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
