//! The configuration of a server to start.

use std::{env, fmt::Write, fs, io, path::Path};

use super::ServerError;

/// Names the program to start instead of `redis-server`.
const PROGRAM: &str = "QUEUE_TEST_REDIS_SERVER";

/// When the server syncs its append-only file to the disk, and which writes a crash of the process
/// (`kill -9`) may undo. A power cut undoes all writes that are not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aof {
    /// At times that the system chooses. The server writes the file before each reply, so a crash of the
    /// process undoes nothing.
    BySystem,
    /// Once a second, in the background. While a sync is under way, the server answers before it
    /// writes the file. So a crash may undo up to two seconds, though rarely more than a few
    /// milliseconds.
    EverySecond,
    /// Before each reply: a crash undoes nothing.
    Always,
}

/// A server to start. By default it is plain, without persistence, and listens on its Unix socket
/// alone.
///
/// ```
/// use real_redis::{Aof, Server};
///
/// let server = Server::builder()
///     .with_aof(Aof::Always)
///     .with_password("secret")
///     .with_line("maxmemory 32mb")
///     .start()?;
/// server.kill()?;
/// server.start_again()?;
/// # Ok::<(), real_redis::ServerError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct ServerBuilder {
    pub(crate) program: Option<String>,
    pub(crate) aof: Option<Aof>,
    pub(crate) tcp: bool,
    pub(crate) password: Option<String>,
    pub(crate) lines: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) replica: bool,
    pub(crate) sentinel: bool,
    tls: Option<Certificate>,
    client_roots: Option<String>,
}

/// A server's certificate and key, in PEM.
#[derive(Debug, Clone)]
struct Certificate {
    certificate: String,
    key: String,
}

/// The files of TLS in a server's folder.
const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";
const CLIENT_ROOTS: &str = "clients.crt";

impl ServerBuilder {
    /// Starts this program instead of `redis-server`: another version, or a Valkey.
    pub fn with_program(mut self, program: impl Into<String>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Keeps an append-only file in the server's folder, which a restart loads.
    pub fn with_aof(mut self, aof: Aof) -> Self {
        self.aof = Some(aof);
        self
    }

    /// Also listens on a loopback port, which replicas and tests of TCP need.
    pub fn with_tcp(mut self) -> Self {
        self.tcp = true;
        self
    }

    /// Listens on a loopback port that speaks TLS, and on no plain port. The server has this certificate
    /// and key, in PEM, and does not ask clients for a certificate. The Unix socket stays plain.
    pub fn with_tls(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        self.tcp = true;
        self.tls = Some(Certificate {
            certificate: certificate.into(),
            key: key.into(),
        });
        self
    }

    /// Over TLS, takes only clients with a certificate that one of these roots, in PEM, has signed.
    pub fn with_client_roots(mut self, roots: impl Into<String>) -> Self {
        self.client_roots = Some(roots.into());
        self
    }

    /// Asks its clients for this password; [`Server::url`](super::Server::url) holds it. Letters, digits and `-_.`
    /// only.
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Adds a user with a password and ACL rules, as `("worker", "secret", "~app:* +@all")`;
    /// [`Server::url_as`](super::Server::url_as) logs in as one.
    pub fn with_user(self, name: &str, password: &str, rules: &str) -> Self {
        self.with_line(format!("user {name} on >{password} {rules}"))
    }

    /// Adds a line to the configuration, as `maxmemory 32mb`. A later line wins.
    pub fn with_line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Sets a variable of the server's environment, as `LC_ALL` to a locale. Other variables are those of the test.
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn check(&self) -> Result<(), ServerError> {
        if let Some(line) = self.lines.iter().find(|line| line.contains(['\n', '\r'])) {
            return Err(ServerError::new(format!(
                "the configuration line {line:?} has a line break in it: add two lines"
            )));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        match &self.password {
            Some(password) if password.is_empty() || !password.chars().all(plain) => {
                Err(ServerError::new(format!(
                    "the password {password:?}: use letters, digits and -_. only, so that it \
                     reads the same in a configuration and in a URL"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The program to run.
    pub(super) fn program(&self) -> String {
        let named = self.program.clone().or_else(|| env::var(PROGRAM).ok());
        named.unwrap_or_else(|| "redis-server".to_owned())
    }

    fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The URL of these addresses: TCP, with TLS and the password if the server has them. The suffix names
    /// their kind, as `+cluster`.
    pub(crate) fn tcp_url(&self, suffix: &str, places: &str) -> String {
        let scheme = if self.has_tls() { "rediss" } else { "redis" };
        let login = match &self.password {
            Some(password) => format!(":{password}@"),
            None => String::new(),
        };
        format!("{scheme}{suffix}://{login}{places}")
    }

    /// Writes the files that the configuration names into the server's folder.
    pub(super) fn write_files(&self, folder: &Path) -> io::Result<()> {
        if let Some(Certificate { certificate, key }) = &self.tls {
            fs::write(folder.join(CERTIFICATE), certificate)?;
            fs::write(folder.join(KEY), key)?;
        }
        match &self.client_roots {
            Some(roots) => fs::write(folder.join(CLIENT_ROOTS), roots),
            None => Ok(()),
        }
    }

    /// The configuration file's text.
    pub(super) fn config(&self, folder: &Path, socket: &Path, log: &Path, port: u16) -> String {
        let (dir, socket, log) = (folder.display(), socket.display(), log.display());
        let (plain, secure) = if self.has_tls() { (0, port) } else { (port, 0) };
        let mut config = format!(
            "bind 127.0.0.1\nport {plain}\nunixsocket \"{socket}\"\nunixsocketperm 700\n\
             dir \"{dir}\"\nlogfile \"{log}\"\ndaemonize no\nsave \"\"\n\
             repl-diskless-sync-delay 0\n"
        );
        // A machine that stalls makes any script seem long, and then the server refuses other calls as BUSY.
        if !self.sentinel {
            config.push_str("lua-time-limit 0\n");
        }
        match self.aof {
            None => config.push_str("appendonly no\n"),
            Some(Aof::BySystem) => config.push_str("appendonly yes\nappendfsync no\n"),
            Some(Aof::EverySecond) => config.push_str("appendonly yes\nappendfsync everysec\n"),
            Some(Aof::Always) => config.push_str("appendonly yes\nappendfsync always\n"),
        }
        // A server repairs a torn file badly, so `start_again` does it.
        config.push_str("aof-load-truncated no\n");
        if let Some(password) = &self.password {
            // Writing to a String cannot fail.
            let _ = writeln!(config, "requirepass {password}");
        }
        if self.has_tls() {
            let _ = writeln!(
                config,
                "tls-port {secure}\ntls-cert-file \"{dir}/{CERTIFICATE}\"\n\
                 tls-key-file \"{dir}/{KEY}\""
            );
            config.push_str(match self.client_roots {
                Some(_) => "tls-auth-clients yes\n",
                None => "tls-auth-clients no\n",
            });
        }
        if self.client_roots.is_some() {
            let _ = writeln!(config, "tls-ca-cert-file \"{dir}/{CLIENT_ROOTS}\"");
        }
        for line in &self.lines {
            let _ = writeln!(config, "{line}");
        }
        config
    }
}
