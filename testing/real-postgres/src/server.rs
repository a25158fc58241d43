//! A Postgres for one test, or for several.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{ServerError, container, programs, watched::Watched};

/// The longest time for a start: far more than needed, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A real Postgres in a folder of its own, on a Unix socket.
///
/// Dropping it ends the server and removes the folder; so does the end of the test's process, however it ends. Every
/// method takes `&self`, so that a test can share a server between tasks. They block the thread.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    life: Mutex<Watched>,
    databases: AtomicU32,
}

impl Server {
    /// The superuser of the server, who needs no password.
    pub const USER: &'static str = "postgres";

    /// Starts a server with default settings, and waits until it answers. It does not sync to disk: its data survive its
    /// own death, and not the machine's.
    ///
    /// # Errors
    ///
    /// If a program is missing, or the server does not come up; its log is in the message.
    pub fn start() -> Result<Self, ServerError> {
        let watched = Watched::new("real-postgres", "QUIT")?;
        let folder = watched.folder().to_owned();
        let mut make = command("initdb", &folder)?;
        make.arg("--pgdata").arg(folder.join("data"));
        make.args([
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--no-locale",
        ]);
        programs::run(make.args(["--username", Self::USER]))?;
        let server = Self {
            folder,
            life: Mutex::new(watched),
            databases: AtomicU32::new(0),
        };
        server.start_again()?;
        Ok(server)
    }

    /// Starts it on the same folder after [`kill`](Self::kill), and waits until it answers.
    ///
    /// # Errors
    ///
    /// If it runs already, or does not come up; its log is in the message.
    pub fn start_again(&self) -> Result<(), ServerError> {
        let start = Instant::now();
        let mut life = self.life();
        loop {
            // Children of a killed server may be at work still, and then a new one refuses to start.
            if life.has_ended() {
                self.end(&mut life)?;
                life.start(&mut self.postgres()?)?;
            }
            let answered = self.psql("postgres", "SELECT 1");
            match answered {
                Ok(_) => return Ok(()),
                Err(error) if start.elapsed() > PATIENCE => {
                    let log = life.log();
                    return Err(ServerError::new(format!(
                        "Postgres is not ready after {PATIENCE:?}: {error}. Its log:\n{log}"
                    )));
                }
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn postgres(&self) -> Result<Command, ServerError> {
        let mut command = command("postgres", &self.folder)?;
        command.arg("-D").arg(self.folder.join("data"));
        command.arg("-k").arg(&self.folder);
        for setting in ["listen_addresses=", "fsync=off", "max_connections=200"] {
            command.args(["-c", setting]);
        }
        Ok(command)
    }

    /// Kills it as a crash would (`kill -9`), and waits until it is gone.
    ///
    /// # Errors
    ///
    /// If the watchdog is gone.
    pub fn kill(&self) -> Result<(), ServerError> {
        self.end(&mut self.life())
    }

    fn end(&self, life: &mut Watched) -> Result<(), ServerError> {
        // The process is then the client of the engine.
        if container::is_asked_for() {
            container::kill(&self.folder);
        }
        life.kill()
    }

    /// Creates an empty database, and returns its name.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub fn database(&self) -> Result<String, ServerError> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        self.psql("postgres", &format!("CREATE DATABASE {name}"))?;
        Ok(name)
    }

    /// Runs statements on a database, and returns the rows: a line each, with `|` between values.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or refuses a statement.
    pub fn psql(&self, database: &str, text: &str) -> Result<String, ServerError> {
        let mut psql = programs::command("psql")?;
        psql.arg("--host").arg(&self.folder);
        psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"]);
        psql.args(["--set", "ON_ERROR_STOP=1", "--username", Self::USER]);
        programs::run(psql.args(["--dbname", database, "--command", text]))
            .map(|rows| rows.trim_end().to_owned())
    }

    /// The folder of its socket.
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.life().log()
    }

    fn life(&self) -> MutexGuard<'_, Watched> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command of a program of the server's, which may run in a container.
fn command(program: &str, folder: &Path) -> Result<Command, ServerError> {
    match container::is_asked_for() {
        true => container::command(program, folder),
        false => programs::command(program),
    }
}
