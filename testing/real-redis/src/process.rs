//! The process of a server, from its start to its end.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{ServerError, watchdog::Watchdog};

/// Waits for a word before it becomes the server, so that the watchdog knows its id first. Then a test
/// killed in between leaves nothing behind either.
const GATE: &str = r#"read -r go && exec "$@" </dev/null"#;

/// The gate's exit status if there is no such program.
const NOT_FOUND: i32 = 127;

/// The interval at which a bounded wait checks.
pub(super) const LOOK: Duration = Duration::from_millis(2);

/// A running server.
#[derive(Debug)]
pub(super) struct Process(Child);

impl Process {
    /// Starts `program` with this configuration, and the mode, such as `--sentinel`; its output goes
    /// to the log.
    pub(super) fn start(
        program: &str,
        variables: &[(String, String)],
        config: &Path,
        mode: Option<&str>,
        log: &Path,
        watchdog: &mut Watchdog,
    ) -> Result<Self, ServerError> {
        let tried = |error| ServerError::tried(&format!("cannot start `{program}`"), error);
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .map_err(tried)?;
        let mut child = Command::new("sh")
            .args(["-c", GATE, "real-redis-gate", program])
            .arg(config)
            .args(mode)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(log.try_clone().map_err(tried)?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(tried)?;
        let gate = child.stdin.take();
        let mut process = Self(child);
        let opened = watchdog.guard(process.id()).and_then(|()| match gate {
            Some(mut gate) => writeln!(gate, "go").map_err(tried),
            None => Ok(()),
        });
        if let Err(error) = opened {
            process.kill();
            return Err(error);
        }
        Ok(process)
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Its exit status, if it has ended.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// The message for an unexpected end.
    pub(super) fn explain(program: &str, status: ExitStatus) -> String {
        if status.code() == Some(NOT_FOUND) {
            return format!(
                "there is no `{program}` here. Install Redis 6.2 or newer (./scripts/test does \
                 it; by hand: `apt-get install redis-server`, `brew install redis`), or name \
                 one by QUEUE_TEST_REDIS_SERVER"
            );
        }
        format!("`{program}` ended unexpectedly ({status})")
    }

    /// Kills it as a crash would (SIGKILL), and waits until it is gone.
    pub(super) fn kill(&mut self) {
        // Both fail only if it has ended and was waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Asks it to end (SIGTERM), and waits for that.
    pub(super) fn terminate(&mut self, patience: Duration) -> Result<ExitStatus, ServerError> {
        self.signal("TERM")?;
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Ok(status);
            }
            if start.elapsed() > patience {
                return Err(ServerError::new(format!(
                    "the server has not ended {patience:?} after a SIGTERM"
                )));
            }
            thread::sleep(LOOK);
        }
    }

    /// Stops it (SIGSTOP), and waits until it has stopped.
    pub(super) fn freeze(&mut self, patience: Duration) -> Result<(), ServerError> {
        self.signal("STOP")?;
        let start = Instant::now();
        while !is_stopped(self.id()) {
            if start.elapsed() > patience || self.ended().is_some() {
                return Err(ServerError::new("the server did not stop at a SIGSTOP"));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Continues it (SIGCONT).
    pub(super) fn thaw(&mut self) -> Result<(), ServerError> {
        self.signal("CONT")
    }

    fn signal(&mut self, name: &str) -> Result<(), ServerError> {
        // Until the process is waited for, no other can have its id. The shell's own `kill` always exists;
        // the program of that name often does not.
        if let Some(status) = self.ended() {
            return Err(ServerError::new(format!(
                "no SIG{name} for a server that has ended ({status})"
            )));
        }
        let sent = Command::new("sh")
            .args(["-c", r#"kill -s "$1" "$2""#, "sh", name])
            .arg(self.id().to_string())
            .status();
        match sent {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(ServerError::new(format!("`kill -s {name}`: {status}"))),
            Err(error) => Err(ServerError::tried("cannot start a shell (`sh`)", error)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether the kernel reports the process as stopped: by `/proc`, or by `ps` where there is none.
fn is_stopped(process: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat"))
        .ok()
        // The name is in parentheses and may contain spaces; the state follows it.
        .and_then(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()));
    let state = state.or_else(|| {
        let ps = Command::new("ps")
            .args(["-o", "state=", "-p", &process.to_string()])
            .output();
        ps.ok()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    });
    state.is_some_and(|state| state.trim_start().starts_with('T'))
}
