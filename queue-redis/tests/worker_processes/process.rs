//! A worker in its own process, and its output.

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use queue_core::MessageId;
use real_redis::Server;
use tokio::{sync::mpsc, time::sleep};

use crate::{
    child::{BOLD, LEASE, MARK, SLOTS, URL},
    within,
};

/// A line of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// The worker runs.
    Ready,
    Started {
        id: MessageId,
        attempt: u32,
    },
    Done {
        id: MessageId,
    },
    /// The process has ended, or is about to.
    Over,
}

/// Drop kills the process.
pub(crate) struct WorkerProcess {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    report: Option<BTreeMap<String, u64>>,
}

impl WorkerProcess {
    /// A worker that does not end jobs marked to be held.
    pub(crate) fn start(server: &Server, slots: usize, lease: Duration) -> Self {
        Self::launch(server, slots, lease, false)
    }

    /// A worker that ends every job.
    pub(crate) fn start_bold(server: &Server, slots: usize, lease: Duration) -> Self {
        Self::launch(server, slots, lease, true)
    }

    /// Starts this test program again, for its ignored test.
    fn launch(server: &Server, slots: usize, lease: Duration, bold: bool) -> Self {
        let mut child = Command::new(env::current_exe().expect("the test program has a path"))
            .args(["--exact", "a_worker_process", "--ignored", "--nocapture"])
            .env(URL, server.url())
            .env(SLOTS, slots.to_string())
            .env(LEASE, lease.as_millis().to_string())
            .env(BOLD, bold.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the test program starts");
        let output = child.stdout.take().expect("its output is a pipe");
        let (sender, lines) = mpsc::unbounded_channel();
        // Ends with the process, whose end closes the pipe.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let said = line.strip_prefix(MARK).map(str::to_owned);
                if said.is_some_and(|said| sender.send(said).is_err()) {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            report: None,
        }
    }

    /// The next line of its output.
    pub(crate) async fn said(&mut self) -> Said {
        let line = within("a word from the worker", self.lines.recv()).await;
        let line = line.unwrap_or_default();
        let words: Vec<&str> = line.split(' ').collect();
        let id = |word: &str| word.parse().expect("an id");
        match words[..] {
            ["ready"] => Said::Ready,
            ["started", number, attempt] => Said::Started {
                id: id(number),
                attempt: attempt.parse().expect("an attempt"),
            },
            ["done", number] => Said::Done { id: id(number) },
            ["report", ref counts @ ..] => {
                let counts = counts.iter().filter_map(|count| count.split_once('='));
                let number = |value: &str| value.parse().expect("a number");
                let counts = counts.map(|(name, value)| (name.to_owned(), number(value)));
                self.report = Some(counts.collect());
                Said::Over
            }
            _ => Said::Over,
        }
    }

    /// Forgets the lines so far that nobody has read.
    pub(crate) fn forget(&mut self) {
        while self.lines.try_recv().is_ok() {}
    }

    /// Kills it as a crash would (SIGKILL).
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is ours");
    }

    /// Asks it to stop, as a supervisor does (SIGTERM).
    pub(crate) fn ask_to_stop(&self) {
        let kill = Command::new("sh")
            .args(["-c", "kill -s TERM \"$1\"", "sh"])
            .arg(self.child.id().to_string())
            .status();
        assert!(kill.expect("a shell").success());
    }

    /// The report at its end, which was an orderly end.
    pub(crate) async fn report(&mut self) -> BTreeMap<String, u64> {
        let status = within("the worker's end", self.ended()).await;
        assert!(status.success(), "{status}");
        self.report.take().expect("it reports before it ends")
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) async fn stop(&mut self) -> BTreeMap<String, u64> {
        self.ask_to_stop();
        while self.said().await != Said::Over {}
        self.report().await
    }

    async fn ended(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status;
            }
            sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Both fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
