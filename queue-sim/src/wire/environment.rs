use std::{
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Backend, QueueKind, Result};
use queue_redis::RedisBackend;
use real_redis::{Aof, ServerBuilder, ServerError};
use redis::{RedisResult, aio::MultiplexedConnection};

use super::{
    Rewrite, WireCounts,
    affinity::{OneCore, PinnedThread},
    connector::{ProxyTasks, WireConnector},
    network::{Network, Serves},
    server_connection::ServerConnection,
};
use crate::{
    engine::Executor,
    history::current_call,
    plan::{ChoicePoint, Process, What},
    world::{Environment, Fault, RunContext, World},
};

/// The time after which a client polls without a hint, in runs in which no wake-up can get lost. It is long, so that a
/// lost wake-up shows.
const NEVER: Duration = Duration::from_secs(3600);

/// A setting that spares the server work at each command: it logs no slow commands.
const LINE: &str = "slowlog-log-slower-than -1";

/// The server reads its file at each start, so it rewrites the file early, without the data of
/// earlier runs.
const FORGET: &str = "auto-aof-rewrite-min-size 256kb";

/// An environment on a real redis-server, which it starts alone. Its processes use queue-redis's own client, connected
/// through the [wire](super).
pub struct RedisEnvironment {
    server_connection: Arc<Mutex<ServerConnection>>,
    core: Option<OneCore>,
    durable: bool,
    rewrite: Option<Arc<dyn Rewrite>>,
    serves: Option<Arc<Serves>>,
}

/// The settings of a new [`RedisEnvironment`].
#[derive(Default)]
#[must_use]
pub struct RedisEnvironmentBuilder {
    durable: bool,
    replace: Option<Box<super::scripts::Replace>>,
    rewrite: Option<Arc<dyn Rewrite>>,
    serves: Option<Serves>,
}

impl RedisEnvironment {
    /// Starts an environment on a server without persistence, which is the fastest.
    ///
    /// # Errors
    ///
    /// If the server does not come up.
    pub fn start() -> Result<Self, ServerError> {
        Self::builder().start()
    }

    /// The settings of a new environment.
    pub fn builder() -> RedisEnvironmentBuilder {
        RedisEnvironmentBuilder::default()
    }

    /// The environment's requests to its server so far.
    pub fn counts(&self) -> WireCounts {
        self.server_connection().counts()
    }

    fn server_connection(&self) -> MutexGuard<'_, ServerConnection> {
        self.server_connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl RedisEnvironmentBuilder {
    /// Keeps an append-only file, so that the server can be killed and started again ([`Fault::Restarted`]). The server
    /// writes the file before each reply, and the file outlives a killed process. So nothing is lost without a sync.
    /// Each restart takes some real milliseconds, so only some runs should use this.
    pub fn with_restarts(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Runs other scripts in place of queue-redis's own. The function gets a script's name, such as
    /// `reliable/settle_and_lease`, and its text. It returns the text that runs instead, or `None` to keep the script.
    /// The client does not notice. [`queue_redis::scripts`] lists all scripts.
    pub fn with_scripts(
        mut self,
        replace: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.replace = Some(Box::new(replace));
        self
    }

    /// Plays requests as this rewrite says.
    pub fn with_rewrite(mut self, rewrite: impl Rewrite) -> Self {
        self.rewrite = Some(Arc::new(rewrite));
        self
    }

    /// Plays another backend over the wire, such as a recipe: faults strike its plain commands like calls, and its
    /// processes use clocks of their own. The instant at which a call of several commands took effect is unknown, so
    /// the runs have no truth, and only the rules check them. `length` is the command that reads its queue's length,
    /// for B1. With `clocks_ahead`, some processes' clocks are ahead of the others'.
    pub fn serving(
        mut self,
        length: Option<&[&str]>,
        clocks_ahead: bool,
        backend: impl Fn(RedisBackend, Process) -> Arc<dyn Backend> + Send + Sync + 'static,
    ) -> Self {
        let words = |words: &[&str]| {
            let words = words.iter();
            words
                .map(|word| Bytes::copy_from_slice(word.as_bytes()))
                .collect()
        };
        self.serves = Some(Serves {
            backend: Box::new(backend),
            length: length.map(words),
            clocks_ahead,
        });
        self
    }

    /// Starts the server, and gives it the scripts.
    ///
    /// # Errors
    ///
    /// If the server does not come up, or does not compile a replaced script.
    pub fn start(self) -> Result<RedisEnvironment, ServerError> {
        let mut server = ServerBuilder::default().with_line(LINE);
        if self.durable {
            server = server.with_aof(Aof::BySystem).with_line(FORGET);
        }
        let core = OneCore::choose();
        if let Some(core) = &core {
            server = server.with_line(core.line());
        }
        let server_connection = ServerConnection::new(server.start()?, self.replace.as_deref());
        let tried = |error: io::Error| ServerError::tried("the environment's server", error);
        Ok(RedisEnvironment {
            server_connection: Arc::new(Mutex::new(server_connection.map_err(tried)?)),
            core,
            durable: self.durable,
            rewrite: self.rewrite,
            serves: self.serves.map(Arc::new),
        })
    }
}

impl Environment for RedisEnvironment {
    /// `redis`; or `redis-restarts` if a fault may restart the server: its plans fit no other
    /// environment.
    fn name(&self) -> &str {
        if self.durable {
            "redis-restarts"
        } else {
            "redis"
        }
    }

    fn world(&mut self, context: &RunContext) -> Arc<dyn World> {
        let server_connection = Arc::clone(&self.server_connection);
        let (rewrite, serves) = (self.rewrite.clone(), self.serves.clone());
        let network = Network::new(context, server_connection, self.durable, rewrite, serves);
        network.with_server_connection(ServerConnection::reset);
        Arc::new(WireWorld {
            network,
            executor: context.executor.clone(),
            proxy_tasks: ProxyTasks::default(),
            plain: self.serves.is_none() && is_plain(context),
            _held: self.core.as_ref().map(OneCore::hold),
        })
    }

    fn has_truth(&self) -> bool {
        self.serves.is_none()
    }

    /// A push hands over its message, if that is ready at once.
    fn goals(&self, kind: QueueKind) -> &'static [&'static str] {
        match kind {
            QueueKind::Delay | QueueKind::Rotating => &[],
            _ if self.serves.is_some() => &[],
            _ => &[
                "handed over",
                "handed over in vain",
                "handed over by an earlier registration",
            ],
        }
    }

    fn faults(&self) -> &'static [Fault] {
        const FAULTS: &[Fault] = &[
            Fault::RequestLost,
            Fault::ReplyLost,
            Fault::Delayed,
            Fault::Late,
            Fault::Repeated,
            Fault::Refused,
            Fault::Cut,
            Fault::CutInFrame,
            Fault::Partition,
            Fault::Cancelled,
            Fault::Crashed,
            Fault::Stalled,
            Fault::ScriptsFlushed,
            Fault::ClockBack,
            Fault::RolledBack,
            Fault::Restarted,
        ];
        if self.durable {
            FAULTS
        } else {
            FAULTS.split_at(FAULTS.len() - 1).0
        }
    }
}

/// Whether no process of this run stores bodies out of line.
fn is_plain(context: &RunContext) -> bool {
    let point = ChoicePoint::new(Process::WORLD, 0, What::Parameter).nth(14);
    context.decisions.choose(point, 2) == 1
}

/// One run's world.
#[derive(Debug)]
struct WireWorld {
    network: Network,
    executor: Executor,
    proxy_tasks: ProxyTasks,
    /// Whether no body is stored out of line.
    plain: bool,
    _held: Option<PinnedThread>,
}

impl WireWorld {
    fn connector(&self, process: Process) -> WireConnector {
        WireConnector {
            process,
            network: self.network.clone(),
            executor: self.executor.clone(),
            proxy_tasks: self.proxy_tasks.clone(),
        }
    }
}

#[async_trait]
impl World for WireWorld {
    async fn connect(&self, process: Process) -> Result<Arc<dyn Backend>> {
        let network = &self.network;
        let connector = self.connector(process);
        let patience = network.patience();
        let fall_back = if network.loses_hints() {
            patience * 4
        } else {
            NEVER
        };
        let builder = RedisBackend::with_connector(connector)
            .spawn(self.executor.spawner(process))
            .jitter_seed(u64::from(process.0))
            .connect_timeout(patience * 2)
            .response_timeout(patience)
            .fall_back(fall_back)
            // A test of an idle connection would take decisions, and would find nothing that calls do not find.
            .keep_alive(24 * NEVER)
            .packs_from(4);
        // Every third process stores all bodies as large ones are stored, which takes calls of its own.
        let builder = match process.0 % 3 {
            2 if !self.plain => builder.large_bodies_from(0),
            _ => builder,
        };
        let Some(serves) = network.serves() else {
            return Ok(Arc::new(builder.tag_calls(current_tag).connect().await?));
        };
        let ahead = match serves.clocks_ahead {
            true => network.clock_ahead(process),
            false => Duration::ZERO,
        };
        let now = network.clone();
        let clock = move || now.now().plus_millis(ahead.as_millis() as u64);
        // Each life of a process draws names of its own.
        let life = network.next_connection().unsigned_abs() << 8;
        let builder = builder.jitter_seed(u64::from(process.0) + life);
        let backend = builder.clock(clock).connect().await?;
        Ok((serves.backend)(backend, process))
    }

    async fn heal(&self) {
        self.network.heal().await;
    }

    fn behind(&self) -> Duration {
        self.network.behind()
    }

    async fn leaks(&self) -> Vec<String> {
        if self.network.serves().is_some() {
            return Vec::new();
        }
        let left = self.network.with_server_connection(ServerConnection::leaks);
        left.unwrap_or_default()
    }

    async fn connection(&self, process: Process) -> Option<RedisResult<MultiplexedConnection>> {
        Some(self.connector(process).own().await)
    }
}

/// The number of the recorded call under way; zero if there is none. So the far end of the wire learns the call.
fn current_tag() -> u64 {
    current_call().map_or(0, |call| call.0)
}

impl fmt::Debug for RedisEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisEnvironment")
            .field("durable", &self.durable)
            .field("rewrite", &self.rewrite)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RedisEnvironmentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisEnvironmentBuilder")
            .field("durable", &self.durable)
            .field("replaces_scripts", &self.replace.is_some())
            .field("rewrite", &self.rewrite)
            .finish()
    }
}
