//! A server for one test.

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use redis::{Client, Connection};

use super::{
    CommandCounts, ServerBuilder, ServerError, command_counts, folder,
    process::{LOOK, Process},
    watchdog::Watchdog,
};

/// The longest time for a start, an end or an answer: far more than any takes, also on a busy
/// machine, so that only a real fault exceeds it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Below the ports that systems give to outgoing connections, so that a restart finds its own port
/// free.
const PORTS: std::ops::Range<u16> = 10_000..30_000;
const PORTS_TRIED: u32 = 64;

/// The lines of a log that go into an error.
const LOG_LINES: usize = 30;

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
    supervised: Mutex<Supervised>,
}

/// The process, while there is one, and the watchdog that cleans up after it.
#[derive(Debug)]
struct Supervised {
    process: Option<Process>,
    watchdog: Watchdog,
}

impl ServerBuilder {
    /// Follows `primary`, which has to listen [on a port](Self::with_tcp). The start waits until
    /// the replica has all the primary's data.
    ///
    /// # Errors
    ///
    /// If `primary` has no port.
    pub fn with_primary(mut self, primary: &Server) -> Result<Self, ServerError> {
        let Some(port) = primary.port() else {
            return Err(ServerError::new(
                "a primary needs a port for its replicas: build it `with_tcp`",
            ));
        };
        self.lines.push(format!("replicaof 127.0.0.1 {port}"));
        if let Some(password) = &primary.settings().password {
            self.lines.push(format!("masterauth {password}"));
        }
        self.replica = true;
        Ok(self)
    }

    /// Makes it a sentinel, which watches `primary` under the name `service`, and counts it as down
    /// when `quorum` sentinels say so. More settings take [a line](Self::with_line), as
    /// `sentinel down-after-milliseconds orders 500`.
    ///
    /// # Errors
    ///
    /// If `primary` has no port.
    pub fn with_watch(
        mut self,
        service: &str,
        primary: &Server,
        quorum: u32,
    ) -> Result<Self, ServerError> {
        let Some(port) = primary.port() else {
            return Err(ServerError::new(
                "a primary needs a port for its sentinels: build it `with_tcp`",
            ));
        };
        self.lines.push(format!(
            "sentinel monitor {service} 127.0.0.1 {port} {quorum}"
        ));
        if let Some(password) = &primary.settings().password {
            let line = format!("sentinel auth-pass {service} {password}");
            self.lines.push(line);
        }
        self.sentinel = true;
        Ok(self)
    }

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
    /// Those of [`ServerBuilder::start`].
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
            supervised: Mutex::new(Supervised {
                process: None,
                watchdog,
            }),
        };
        if server.settings.has_tcp() {
            server.launch_on_a_port()?;
        } else {
            server.configure()?;
            server.start_again()?;
        }
        Ok(server)
    }

    /// Lets the server itself take the port, and tries another if it is in use: so nobody can take
    /// the port between a check and its use.
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
            // The log of this port must not pass for the next one's.
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
        match self.settings.password() {
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
        let login = match self.settings.password() {
            Some(password) => format!(":{password}@"),
            None => String::new(),
        };
        let scheme = if self.settings.has_tls() {
            "rediss"
        } else {
            "redis"
        };
        Some(format!("{scheme}://{login}127.0.0.1:{}", self.port?))
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
        self.supervised().process.as_ref().map(Process::id)
    }

    /// A client of the redis crate, for connections of any sort.
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
        self.connect_within(PATIENCE)
    }

    fn connect_within(&self, patience: Duration) -> Result<Connection, ServerError> {
        let tried = |error| ServerError::tried("cannot connect to the server", error);
        let client = self.client()?;
        let connection = client
            .get_connection_with_timeout(patience)
            .map_err(tried)?;
        connection
            .set_read_timeout(Some(patience))
            .and_then(|()| connection.set_write_timeout(Some(patience)))
            .map_err(tried)?;
        Ok(connection)
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

    /// Kills it as a crash would (`kill -9`), and waits until it is gone.
    ///
    /// # Errors
    ///
    /// If the watchdog is gone.
    pub fn kill(&self) -> Result<(), ServerError> {
        let mut supervised = self.supervised();
        if let Some(mut process) = supervised.process.take() {
            process.kill();
            supervised.watchdog.release()?;
        }
        Ok(())
    }

    /// Ends it in order (SIGTERM), and waits for that. Without an append-only file its data are
    /// gone.
    ///
    /// # Errors
    ///
    /// If it does not run, or has not ended after 30 s.
    pub fn shut_down(&self) -> Result<(), ServerError> {
        let mut supervised = self.supervised();
        let process = running(&mut supervised.process)?;
        process.thaw()?;
        process.terminate(PATIENCE)?;
        supervised.process = None;
        supervised.watchdog.release()
    }

    /// Starts it on the same folder and address, after [`kill`](Self::kill) or
    /// [`shut_down`](Self::shut_down), and waits until it answers and has loaded its data.
    ///
    /// # Errors
    ///
    /// If it runs already, or does not come up; its log is in the message.
    pub fn start_again(&self) -> Result<(), ServerError> {
        let mut supervised = self.supervised();
        if supervised.process.is_some() {
            return Err(ServerError::new("the server runs already"));
        }
        let (config, log) = (self.config_path(), self.log_path());
        let program = self.settings.program();
        let mode = self.settings.is_sentinel().then_some("--sentinel");
        let mut process = Process::start(&program, &config, mode, &log, &mut supervised.watchdog)?;
        if let Err(error) = self.wait_until_ready(&mut process, &program) {
            process.kill();
            supervised.watchdog.release()?;
            return Err(error);
        }
        supervised.process = Some(process);
        Ok(())
    }

    /// [Shuts it down](Self::shut_down) and [starts it again](Self::start_again).
    ///
    /// # Errors
    ///
    /// Those of the two.
    pub fn restart(&self) -> Result<(), ServerError> {
        self.shut_down()?;
        self.start_again()
    }

    /// Stops it in mid-flight (SIGSTOP): connections stay open, and nothing answers.
    ///
    /// # Errors
    ///
    /// If it does not run.
    pub fn freeze(&self) -> Result<(), ServerError> {
        running(&mut self.supervised().process)?.freeze(PATIENCE)
    }

    /// Lets it go on (SIGCONT) after [`freeze`](Self::freeze).
    ///
    /// # Errors
    ///
    /// If it does not run.
    pub fn thaw(&self) -> Result<(), ServerError> {
        running(&mut self.supervised().process)?.thaw()
    }

    /// The server's log.
    pub fn log(&self) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    pub(super) fn settings(&self) -> &ServerBuilder {
        &self.settings
    }

    fn wait_until_ready(&self, process: &mut Process, program: &str) -> Result<(), ServerError> {
        let start = Instant::now();
        loop {
            if let Some(status) = process.ended() {
                return Err(self.failed(Process::explain(program, status)));
            }
            // The failure may pass: there is no socket yet, or the server is still loading.
            let Err(error) = self.look() else {
                return Ok(());
            };
            if start.elapsed() > PATIENCE {
                let what = format!("`{program}` is not ready after {PATIENCE:?}: {error}");
                return Err(self.failed(what));
            }
            thread::sleep(LOOK);
        }
    }

    /// Whether it answers and, as a replica, has all the primary's data.
    fn look(&self) -> Result<(), ServerError> {
        let mut connection = self.connect_within(PATIENCE)?;
        let refused = |error| ServerError::tried("the server refuses", error);
        redis::cmd("PING").exec(&mut connection).map_err(refused)?;
        if self.settings.is_replica() {
            let info: String = redis::cmd("INFO")
                .arg("replication")
                .query(&mut connection)
                .map_err(refused)?;
            if !info.contains("master_link_status:up") {
                return Err(ServerError::new("the link to the primary is down"));
            }
        }
        Ok(())
    }

    fn failed(&self, what: String) -> ServerError {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
        if last.is_empty() {
            return ServerError::new(what);
        }
        let hint = if lacks_tls(&last) {
            " (it was built without TLS: name one that has it by QUEUE_TEST_REDIS_SERVER)"
        } else {
            ""
        };
        ServerError::new(format!("{what}{hint}. The end of its log:\n{last}"))
    }

    fn config_path(&self) -> PathBuf {
        self.folder.join("redis.conf")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("redis.log")
    }

    /// A panic elsewhere leaves nothing half done here, and the clean-up must still work.
    fn supervised(&self) -> MutexGuard<'_, Supervised> {
        self.supervised
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server's log says that it cannot speak TLS: as an unknown directive, or from 7.2 on in
/// words.
fn lacks_tls(log: &str) -> bool {
    log.contains(">>> 'tls-") || log.contains("Failed finding TLS support")
}

impl Drop for Server {
    fn drop(&mut self) {
        // It fails if the watchdog is gone; the process is dead all the same.
        let _ = self.kill();
    }
}

fn running(process: &mut Option<Process>) -> Result<&mut Process, ServerError> {
    let stopped = || ServerError::new("the server does not run: start it again first");
    process.as_mut().ok_or_else(stopped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_tls_is_known_by_its_log() {
        let old = "Reading the configuration file, at line 11\n>>> 'tls-port 10123'\n\
                   Bad directive or wrong number of arguments";
        let new = "# Missing implement of connection type tls\n# Failed finding TLS support.";
        assert!(lacks_tls(old) && lacks_tls(new));
        assert!(!lacks_tls(">>> 'nonsense'\nBad directive"));
    }
}
