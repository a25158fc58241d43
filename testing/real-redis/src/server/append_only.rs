//! The append-only file after a crash.

use std::{
    fs,
    io::Write,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use super::Server;
use crate::ServerError;

/// A server's program also checks such files if its name contains one of these.
const CHECK: &str = "redis-check-aof valkey-check-aof";

impl Server {
    /// Cuts a half-done write of a crash off the append-only file, with its whole script.
    ///
    /// A server that is allowed to (`aof-load-truncated`) cuts off the torn command only, and leaves the
    /// commands of its script before it, behind their MULTI. When the file is loaded again, later writes
    /// then belong to that transaction. They are lost, or a part of the script is executed with them (Redis
    /// up to 8.2 at least; Valkey fixed it in its pull request 4342). The program that checks such files
    /// cuts before the MULTI.
    pub(super) fn mend_append_only(&self) -> Result<(), ServerError> {
        let Some(file) = self.append_only() else {
            return Ok(());
        };
        let program = self.settings.program();
        let tried = |error| ServerError::tried(&format!("cannot check {}", file.display()), error);
        let mut check = Command::new(&program)
            .arg0(CHECK)
            .arg("--fix")
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(tried)?;
        if let Some(mut answer) = check.stdin.take() {
            // The program asks only if there is something to cut, and may have ended by now.
            let _ = answer.write_all(b"y\n");
        }
        let checked = check.wait_with_output().map_err(tried)?;
        if checked.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&checked.stdout);
        let what = format!("`{program}` as {CHECK} could not mend its file. It said:\n{said}");
        Err(ServerError::new(what))
    }

    /// The append-only file that is written to, if there is one. Since Redis 7.0 it is the last of several, which
    /// a list names. (To check the list itself is no way: Valkey 9.1 does not know its own base file there.)
    fn append_only(&self) -> Option<PathBuf> {
        let folder = self.folder.join("appendonlydir");
        let file = match fs::read_to_string(folder.join("appendonly.aof.manifest")) {
            Ok(list) => {
                let grown = list.lines().rfind(|line| line.contains(" type i"))?;
                folder.join(grown.strip_prefix("file ")?.split(' ').next()?)
            }
            Err(_) => self.folder.join("appendonly.aof"),
        };
        file.exists().then_some(file)
    }
}
