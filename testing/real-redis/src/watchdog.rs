//! The watchdog, which cleans up after a server, however the test ends.

use std::{
    io::Write,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

use super::ServerError;

/// Reads process ids until its input ends, also by the death of the test; then kills the last one
/// and removes the folder. An empty line means that there is no process to kill.
///
/// It traps SIGHUP, since the kernel sends one to an orphaned process group with a stopped member.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
server=
while read -r line; do server=$line; done
[ -z "$server" ] || kill -s KILL "$server" 2>/dev/null
rm -rf "$1"
"#;

/// A shell beside the server. It cleans up when this is dropped, or when the whole test process is
/// gone.
#[derive(Debug)]
pub(super) struct Watchdog {
    child: Child,
    orders: Option<ChildStdin>,
}

impl Watchdog {
    /// Watches over this folder.
    pub(super) fn over(folder: &Path) -> Result<Self, ServerError> {
        let mut child = Command::new("sh")
            .args(["-c", SCRIPT, "real-redis-watchdog"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // In its own process group, because a Ctrl-C would end it before the server.
            .process_group(0)
            .spawn()
            .map_err(|error| ServerError::tried("cannot start a shell (`sh`)", error))?;
        let orders = child.stdin.take();
        Ok(Self { child, orders })
    }

    /// From now on the watchdog kills this process at the end.
    pub(super) fn guard(&mut self, process: u32) -> Result<(), ServerError> {
        self.write(&process.to_string())
    }

    /// The process is gone, and another may get its id.
    pub(super) fn release(&mut self) -> Result<(), ServerError> {
        self.write("")
    }

    fn write(&mut self, line: &str) -> Result<(), ServerError> {
        let Some(orders) = &mut self.orders else {
            return Err(ServerError::new("the watchdog has been dismissed"));
        };
        writeln!(orders, "{line}")
            .map_err(|error| ServerError::tried("the watchdog is gone", error))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.orders = None;
        // The watchdog ends at the end of its input. The drop waits for it, so that the clean-up is then
        // complete.
        let _ = self.child.wait();
    }
}
