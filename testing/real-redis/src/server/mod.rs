//! A server for one test.

mod append_only;
mod life;
mod log;
mod roles;

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use redis::{Client, Connection, FromRedisValue};

use self::life::Life;
use super::{
    CommandCounts, ServerBuilder, ServerError, command_counts, folder, process::Process,
    watchdog::Watchdog,
};

/// The longest time for a start, an end or an answer: far more than needed, also on a busy machine, so that
/// only a real fault exceeds it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server of a cluster has another port, 10,000 above its own. These ports are not used by another
/// server, and are below the ports that systems give to outgoing connections, so that a restart finds both
/// free.
const PORTS: std::ops::Range<u16> = 10_000..20_000;
const PORTS_TRIED: u32 = 64;

/// A real redis-server in a folder of its own, for this test alone.
///
/// Dropping it kills the server and removes the folder; so does the end of the test's process,
/// however it ends. Every method takes `&self`, so that a test can share a server between tasks.
/// They block the thread, for a few milliseconds.
#[derive(Debug)]
pub struct Server {
    settings: ServerBuilder,
    folder: PathBuf,
    port: Option<u16>,
    life: Mutex<Life>,
}

impl ServerBuilder {
    /// Starts it, and waits until it answers.
    ///
    /// # Errors
    ///
    /// If there is no such program, or the server does not come up; the server's log is in the
    /// message.
    pub fn start(self) -> Result<Server, ServerError> {
        self.check()?;
        Server::launch(self)
    }
}

impl Server {
    /// Starts a plain server: no persistence, no password, on a Unix socket.
    ///
    /// # Errors
    ///
    /// The errors of [`ServerBuilder::start`].
    pub fn start() -> Result<Self, ServerError> {
        Self::builder().start()
    }

    /// The builder of a server.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    pub(super) fn launch(settings: ServerBuilder) -> Result<Self, ServerError> {
        let folder = folder::make()?;
        let watchdog = Watchdog::over(&folder)?;
        let mut server = Self {
            settings,
            folder,
            port: None,
            life: Mutex::new(Life {
                process: None,
                watchdog,
            }),
        };
        if server.settings.tcp {
            server.launch_on_a_port()?;
        } else {
            server.configure()?;
            server.start_again()?;
        }
        Ok(server)
    }

    /// Lets the server itself take the port, and tries another if it is in use, so that no other program
    /// can take the port between a check and its use.
    fn launch_on_a_port(&mut self) -> Result<(), ServerError> {
        let count = u64::from(PORTS.end - PORTS.start);
        let mut tried = 0;
        loop {
            let offset = RandomState::new().hash_one(tried) % count;
            self.port = u16::try_from(offset).ok().map(|port| PORTS.start + port);
            self.configure()?;
            let Err(error) = self.start_again() else {
                return Ok(());
            };
            tried += 1;
            if tried == PORTS_TRIED || !error.to_string().contains("Address already in use") {
                return Err(error);
            }
            // The log of this attempt must not be read as the next attempt's log.
            let _ = fs::remove_file(self.log_path());
        }
    }

    fn configure(&self) -> Result<(), ServerError> {
        let config = self.settings.config(
            &self.folder,
            &self.socket(),
            &self.log_path(),
            self.port.unwrap_or(0),
        );
        self.settings
            .write_files(&self.folder)
            .and_then(|()| fs::write(self.config_path(), config))
            .map_err(|error| ServerError::tried("cannot write a configuration", error))
    }

    /// The URL of its Unix socket, with the password if it has one.
    pub fn url(&self) -> String {
        let socket = self.socket();
        match &self.settings.password {
            Some(password) => format!("unix://{}?pass={password}", socket.display()),
            None => format!("unix://{}", socket.display()),
        }
    }

    /// The URL of its Unix socket for this user.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        let socket = self.socket();
        format!("unix://{}?user={user}&pass={password}", socket.display())
    }

    /// The URL of its loopback port, if it was built [with one](ServerBuilder::with_tcp), or
    /// [with TLS](ServerBuilder::with_tls).
    pub fn tcp_url(&self) -> Option<String> {
        let place = format!("127.0.0.1:{}", self.port?);
        Some(self.settings.tcp_url("", &place))
    }

    /// Its loopback port, if it was built [with one](ServerBuilder::with_tcp).
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// The folder that holds its socket, its log and its append-only file.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its process, while it runs.
    pub fn process_id(&self) -> Option<u32> {
        self.life().process.as_ref().map(Process::id)
    }

    /// A client of the redis crate, for connections of any kind.
    ///
    /// # Errors
    ///
    /// If the crate refuses the URL.
    pub fn client(&self) -> Result<Client, ServerError> {
        Client::open(self.url()).map_err(|error| ServerError::tried("cannot use the URL", error))
    }

    /// A blocking connection; each answer may take 30 s at most.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub fn connect(&self) -> Result<Connection, ServerError> {
        let tried = |error| ServerError::tried("cannot connect to the server", error);
        let client = self.client()?;
        let connection = client
            .get_connection_with_timeout(PATIENCE)
            .map_err(tried)?;
        connection
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| connection.set_write_timeout(Some(PATIENCE)))
            .map_err(tried)?;
        Ok(connection)
    }

    /// Runs this command on a new connection.
    ///
    /// # Errors
    ///
    /// If the server does not answer or refuses, or if the answer is none of this type.
    pub fn ask<T: FromRedisValue>(&self, words: &[&str]) -> Result<T, ServerError> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command
            .query(&mut self.connect()?)
            .map_err(|error| ServerError::tried(&words[..words.len().min(3)].join(" "), error))
    }

    /// A field of this section of `INFO`, if it is there.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub fn info(&self, section: &str, field: &str) -> Result<Option<String>, ServerError> {
        let info: String = self.ask(&["INFO", section])?;
        let mut lines = info.lines();
        let value = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Ok(value.map(str::to_owned))
    }

    /// The number of calls of each command so far.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub fn command_counts(&self) -> Result<CommandCounts, ServerError> {
        command_counts(&mut self.connect()?)
            .map_err(|error| ServerError::tried("INFO commandstats", error))
    }

    pub(super) fn settings(&self) -> &ServerBuilder {
        &self.settings
    }

    fn config_path(&self) -> PathBuf {
        self.folder.join("redis.conf")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("redis.log")
    }
}
