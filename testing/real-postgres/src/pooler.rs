//! A PgBouncer before a server.

use std::{
    fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::{Server, ServerError, programs, watched::Watched};

/// The longest time for a start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A real PgBouncer in transaction mode, on a Unix socket, with two connections to the server. Dropping it ends it.
#[derive(Debug)]
pub struct Pooler(Watched);

impl Pooler {
    /// Starts a pooler before this server, for all of its databases.
    ///
    /// # Errors
    ///
    /// If there is no such program, or it does not come up; its log is in the message.
    pub fn before(server: &Server) -> Result<Self, ServerError> {
        let mut watched = Watched::new("real-pgbouncer", "KILL")?;
        let folder = watched.folder().to_owned();
        let config = format!(
            "[databases]\n* = host={} user={}\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = {}\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 2\nignore_startup_parameters = extra_float_digits\n",
            server.socket_folder().display(),
            Server::USER,
            folder.display()
        );
        let file = folder.join("pgbouncer.ini");
        let written: io::Result<()> = fs::write(&file, config);
        written.map_err(|error| ServerError::tried("cannot write a configuration", error))?;
        watched.start(programs::command("pgbouncer")?.arg(&file))?;
        let start = Instant::now();
        while !folder.join(".s.PGSQL.6432").exists() {
            if watched.has_ended() || start.elapsed() > PATIENCE {
                let log = watched.log();
                return Err(ServerError::new(format!("PgBouncer did not start:\n{log}")));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(Self(watched))
    }

    /// The folder of its socket, with the port 6432.
    pub fn socket_folder(&self) -> &Path {
        self.0.folder()
    }
}
