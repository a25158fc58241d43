//! What cleans up after a server, whatever happens to the test.

use std::{
    io::Write,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

use super::ServerError;

/// Reads process ids until its input ends, which it does also when the test is killed; then kills
/// the last one and removes the folder. An empty line means that there is none to kill.
///
/// The traps: a process group that is left with a stopped member gets a SIGHUP.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
server=
while read -r line; do server=$line; done
[ -z "$server" ] || kill -s KILL "$server" 2>/dev/null
rm -rf "$1"
"#;

/// A shell beside the server that ends what is left when this is dropped, or when the whole test
/// process is gone.
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
            // Out of reach of a Ctrl-C, which would end it before the server.
            .process_group(0)
            .spawn()
            .map_err(|error| ServerError::tried("cannot start a shell (`sh`)", error))?;
        let orders = child.stdin.take();
        Ok(Self { child, orders })
    }

    /// From now on, this process is to be killed at the end.
    pub(super) fn guard(&mut self, process: u32) -> Result<(), ServerError> {
        self.tell(&process.to_string())
    }

    /// There is no process any more: its id may become another's.
    pub(super) fn release(&mut self) -> Result<(), ServerError> {
        self.tell("")
    }

    fn tell(&mut self, line: &str) -> Result<(), ServerError> {
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
        // It ends by itself at the end of its input; waiting makes the clean-up visible to
        // whoever comes next.
        let _ = self.child.wait();
    }
}
