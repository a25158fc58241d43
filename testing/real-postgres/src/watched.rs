//! A process, its folder, and a watchdog that cleans up after both, however the test ends.

use std::{
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, RandomState},
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{ServerError, programs};

/// Reads process ids until its input ends, also by the death of the test; then ends the last one and removes the folder.
/// An empty line means that there is no process to end. `$2` is the first signal: Postgres ends its children at a SIGQUIT.
const WATCHDOG: &str = r#"
trap '' HUP INT TERM
server=
while read -r line; do server=$line; done
if [ -n "$server" ]; then
    kill -s "$2" "$server" 2>/dev/null
    tries=100
    while kill -0 "$server" 2>/dev/null && [ $tries -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done
    kill -s KILL "$server" 2>/dev/null
fi
rm -rf "$1"
"#;

/// A folder with at most one process.
#[derive(Debug)]
pub(crate) struct Watched {
    folder: PathBuf,
    process: Option<Child>,
    watchdog: Child,
    orders: Option<ChildStdin>,
}

impl Watched {
    /// Makes the folder. In the end the process gets `signal` first.
    pub(crate) fn new(name: &str, signal: &str) -> Result<Self, ServerError> {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let unique = RandomState::new().hash_one(number) & 0xffff_ffff;
        let name = format!("{name}-{}-{unique:x}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder)
            .map_err(|error| ServerError::tried("cannot make a folder", error))?;
        programs::give(&folder)?;
        let mut watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "real-postgres-watchdog"])
            .arg(&folder)
            .arg(signal)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // In its own process group, because a Ctrl-C would end it before the server.
            .process_group(0)
            .spawn()
            .map_err(|error| ServerError::tried("cannot start a shell (`sh`)", error))?;
        let orders = watchdog.stdin.take();
        Ok(Self {
            folder,
            process: None,
            watchdog,
            orders,
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the process. Its output goes to the log.
    pub(crate) fn start(&mut self, command: &mut Command) -> Result<(), ServerError> {
        let tried = |error| ServerError::tried("cannot start a server", error);
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log_path());
        let log: File = log.map_err(tried)?;
        let process = command
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(tried)?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(tried)?;
        let id = process.id();
        self.process = Some(process);
        self.order(&id.to_string())
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        let ended = self.process.as_mut().map(|process| process.try_wait());
        !matches!(ended, Some(Ok(None)))
    }

    /// Kills the process as a crash would (`kill -9`), and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Result<(), ServerError> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        let _ = process.kill();
        let _ = process.wait();
        self.order("")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn order(&mut self, line: &str) -> Result<(), ServerError> {
        let Some(orders) = &mut self.orders else {
            return Err(ServerError::new("the watchdog has been dismissed"));
        };
        writeln!(orders, "{line}")
            .map_err(|error| ServerError::tried("the watchdog is gone", error))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The watchdog ends the process at the end of its input.
        self.orders = None;
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
        let _ = self.watchdog.wait();
    }
}
