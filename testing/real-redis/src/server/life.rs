//! The life of a server: its starts, its stops and its end.

use std::{
    sync::{MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use super::{PATIENCE, Server};
use crate::{
    ServerError,
    process::{LOOK, Process},
    watchdog::Watchdog,
};

/// The process, while there is one, and the watchdog that cleans up after it.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) process: Option<Process>,
    pub(super) watchdog: Watchdog,
}

impl Server {
    /// Kills it as a crash would (`kill -9`), and waits until it is gone.
    ///
    /// # Errors
    ///
    /// If the watchdog is gone.
    pub fn kill(&self) -> Result<(), ServerError> {
        let mut life = self.life();
        if let Some(mut process) = life.process.take() {
            process.kill();
            life.watchdog.release()?;
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
        let mut life = self.life();
        let process = running(&mut life.process)?;
        process.thaw()?;
        process.terminate(PATIENCE)?;
        life.process = None;
        life.watchdog.release()
    }

    /// Starts it on the same folder and address, after [`kill`](Self::kill) or
    /// [`shut_down`](Self::shut_down), and waits until it answers and has loaded its data. A script that
    /// was half-written to the append-only file is removed completely (a server alone would keep a part).
    ///
    /// # Errors
    ///
    /// If it runs already, or does not come up; its log is in the message.
    pub fn start_again(&self) -> Result<(), ServerError> {
        let mut life = self.life();
        if life.process.is_some() {
            return Err(ServerError::new("the server runs already"));
        }
        self.mend_append_only()?;
        let (config, log) = (self.config_path(), self.log_path());
        let program = self.settings.program();
        let mode = self.settings.sentinel.then_some("--sentinel");
        let variables = &self.settings.variables;
        let mut process =
            Process::start(&program, variables, &config, mode, &log, &mut life.watchdog)?;
        if let Err(error) = self.wait_until_ready(&mut process, &program) {
            process.kill();
            life.watchdog.release()?;
            return Err(error);
        }
        life.process = Some(process);
        Ok(())
    }

    /// [Shuts it down](Self::shut_down) and [starts it again](Self::start_again).
    ///
    /// # Errors
    ///
    /// The errors of the two.
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
        running(&mut self.life().process)?.freeze(PATIENCE)
    }

    /// Continues it (SIGCONT) after [`freeze`](Self::freeze).
    ///
    /// # Errors
    ///
    /// If it does not run.
    pub fn thaw(&self) -> Result<(), ServerError> {
        running(&mut self.life().process)?.thaw()
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
        match self.ask::<()>(&["PING"]) {
            // The server answers, but its configuration renames the command.
            Err(error) if error.to_string().contains("unknown command") => {}
            answer => answer?,
        }
        if self.settings.replica {
            let link = self.info("replication", "master_link_status")?;
            if link.as_deref() != Some("up") {
                return Err(ServerError::new("the link to the primary is down"));
            }
        }
        Ok(())
    }

    /// A panic elsewhere leaves nothing half done here, and the clean-up must still work.
    pub(super) fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It fails if the watchdog is gone; the process is dead in any case.
        let _ = self.kill();
    }
}

fn running(process: &mut Option<Process>) -> Result<&mut Process, ServerError> {
    let stopped = || ServerError::new("the server does not run: start it again first");
    process.as_mut().ok_or_else(stopped)
}
