//! A server, a client on a runtime of its own, and fresh keys for every measurement.

use std::{
    cell::{Cell, OnceCell, RefCell},
    future::Future,
    time::{Duration, Instant},
};

use queue_redis::RedisBackend;
use real_redis::{CommandCounts, Server, command_counts};
use redis::{AsyncConnectionConfig, Connection, aio::MultiplexedConnection};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};

use super::{counting::Counted, placement::Placement, slow_log};

/// The number of calls under way at once, and the messages of each.
///
/// A round is one call of each caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Messages in one call.
    pub batch: usize,
    /// Calls under way.
    pub in_flight: usize,
}

impl Shape {
    /// One message and many, in one call and in several at once.
    pub const ALL: [Self; 4] = [
        Self::new(1, 1),
        Self::new(1, 64),
        Self::new(100, 1),
        Self::new(100, 64),
    ];

    /// Calls of `batch` messages, `in_flight` of them at once.
    pub const fn new(batch: usize, in_flight: usize) -> Self {
        Self { batch, in_flight }
    }

    /// Messages in one round.
    pub const fn messages(self) -> usize {
        self.batch * self.in_flight
    }

    /// The shape's part of a measurement's name.
    pub fn name(self) -> String {
        format!("batch {}, {} in flight", self.batch, self.in_flight)
    }

    /// The time that all callers together take; `caller` makes the work of each.
    pub async fn time<W>(self, mut caller: impl FnMut() -> W) -> Duration
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let callers: Vec<W> = (0..self.in_flight).map(|_| caller()).collect();
        let start = Instant::now();
        if self.in_flight == 1 {
            for caller in callers {
                caller.await;
            }
        } else {
            JoinSet::from_iter(callers).join_all().await;
        }
        start.elapsed()
    }
}

/// The server and the clients of one placement's measurements.
pub struct Fixture {
    /// The cores of client and server.
    pub placement: Placement,
    /// The client's runtime.
    pub runtime: Runtime,
    /// The backend.
    pub backend: RedisBackend,
    /// A plain connection of the same protocol.
    pub raw: MultiplexedConnection,
    server: Server,
    admin: RefCell<Connection>,
    names: Cell<u64>,
}

impl Fixture {
    /// Starts a server and connects.
    ///
    /// # Panics
    ///
    /// If a server cannot be started.
    pub fn new(placement: Placement) -> Self {
        let server = Server::start().expect("the server starts");
        placement.pin(server.process_id().expect("the server runs"));
        let mut runtime = match placement {
            Placement::Threads(cores) => {
                let mut runtime = Builder::new_multi_thread();
                runtime.worker_threads(cores);
                runtime
            }
            _ => Builder::new_current_thread(),
        };
        let runtime = runtime.enable_all().build();
        let runtime = runtime.expect("a runtime starts");
        let admin = server.connect().expect("the server answers");
        let (backend, raw) = runtime.block_on(async {
            let backend = RedisBackend::connect(&server.url()).await;
            (
                backend.expect("the backend connects"),
                connect(&server).await,
            )
        });
        Self {
            placement,
            runtime,
            backend,
            raw,
            server,
            admin: RefCell::new(admin),
            names: Cell::new(0),
        }
    }

    /// Another plain connection.
    pub fn connect(&self) -> MultiplexedConnection {
        self.runtime.block_on(connect(&self.server))
    }

    /// Another backend on the same server.
    ///
    /// # Panics
    ///
    /// If it cannot connect.
    pub fn connect_backend(&self) -> RedisBackend {
        self.connect_backend_on(&self.runtime)
    }

    /// Another backend on the same server, whose connections this runtime drives.
    ///
    /// # Panics
    ///
    /// If it cannot connect.
    pub fn connect_backend_on(&self, runtime: &Runtime) -> RedisBackend {
        let url = self.server.url();
        let backend = runtime.block_on(RedisBackend::connect(&url));
        backend.expect("the backend connects")
    }

    /// Another backend on the same server, whose requests are counted.
    ///
    /// # Panics
    ///
    /// If it cannot connect.
    pub fn connect_counted(&self) -> Counted {
        let url = self.server.url();
        self.runtime.block_on(Counted::connect(&url))
    }

    /// A name that no other measurement has.
    pub fn fresh(&self) -> String {
        let name = self.names.get() + 1;
        self.names.set(name);
        format!("bench-{name}-")
    }

    /// Deletes all keys of this name.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn clear(&self, name: &str) {
        let admin = &mut *self.admin.borrow_mut();
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg(format!("*{name}*"))
            .query(admin)
            .expect("the keys are listed");
        if !keys.is_empty() {
            let mut delete = redis::cmd("DEL");
            delete.arg(keys).exec(admin).expect("they are deleted");
        }
    }

    /// Bytes that the server has allocated for stored data. Clients' buffers, which the server keeps for some seconds
    /// after a large request, do not count, and neither does the text of scripts.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn memory(&self) -> u64 {
        self.info("memory")
            .lines()
            .find_map(|line| line.strip_prefix("used_memory_dataset:"))
            .and_then(|bytes| bytes.trim().parse().ok())
            .expect("INFO memory has used_memory_dataset")
    }

    /// The processor's time that the server has used.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn processor_time(&self) -> Duration {
        let info = self.info("cpu");
        let seconds = ["used_cpu_sys:", "used_cpu_user:"].map(|field| {
            let value = info.lines().find_map(|line| line.strip_prefix(field));
            let seconds = value.and_then(|seconds| seconds.trim().parse::<f64>().ok());
            seconds.expect("INFO cpu has what the process used")
        });
        Duration::from_secs_f64(seconds.iter().sum())
    }

    /// The longest time for which one command kept the server from all others during this work.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn longest_stop(&self, work: impl FnOnce()) -> Duration {
        slow_log::longest(&mut self.admin.borrow_mut(), work)
    }

    /// The server's time for each command.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn commands(&self) -> CommandCounts {
        command_counts(&mut self.admin.borrow_mut()).expect("the server answers INFO")
    }

    /// The server's version.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn version(&self) -> String {
        self.info("server")
            .lines()
            .find_map(|line| line.strip_prefix("redis_version:"))
            .map(|version| version.trim().to_owned())
            .expect("INFO server has redis_version")
    }

    fn info(&self, section: &str) -> String {
        let info = redis::cmd("INFO")
            .arg(section)
            .query(&mut *self.admin.borrow_mut());
        info.expect("the server answers INFO")
    }
}

/// A value that its first use makes on the server. Its keys are deleted when it is dropped.
///
/// If a filter leaves a measurement out, the value that it needs is never made.
pub struct Kept<'a, T> {
    fixture: &'a Fixture,
    name: String,
    made: OnceCell<T>,
}

impl<'a, T> Kept<'a, T> {
    /// A place for a value, under a fresh name.
    pub fn new(fixture: &'a Fixture) -> Self {
        Self {
            fixture,
            name: fixture.fresh(),
            made: OnceCell::new(),
        }
    }

    /// The value, which the first use makes under its name.
    pub fn get(&self, make: impl FnOnce(&str) -> T) -> &T {
        self.made.get_or_init(|| make(&self.name))
    }
}

impl<T> Drop for Kept<'_, T> {
    fn drop(&mut self) {
        if self.made.get().is_some() {
            self.fixture.clear(&self.name);
        }
    }
}

async fn connect(server: &Server) -> MultiplexedConnection {
    let url = format!("{}?protocol=resp3", server.url());
    let client = redis::Client::open(url).expect("the URL is sound");
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let connected = client.get_multiplexed_async_connection_with_config(&config);
    connected.await.expect("the server answers")
}
