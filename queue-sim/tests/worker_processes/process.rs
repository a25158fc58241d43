//! A worker in its own process, and its output.

use std::{
    collections::{BTreeMap, HashSet},
    env,
    io::{BufRead, BufReader},
    num::NonZeroUsize,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use queue_core::{
    Delivery, Leased, MessageId, Receipt, Settled, Settlement, Token,
    call::{Answer, Call},
};
use queue_sim::history::{CallEnd, Moment};
use queue_testing::until::within;
use tokio::{sync::mpsc, time::sleep};

use crate::{
    Shop,
    child::{BOLD, LEASE, MARK, SLOTS, URL},
    ledger::Ledger,
};

/// A line of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// The worker runs.
    Ready,
    Leased {
        id: MessageId,
        attempt: u32,
    },
    Acked {
        id: MessageId,
    },
    Released,
    /// The process has ended, or is about to.
    Over,
}

/// Drop kills the process.
pub(crate) struct WorkerProcess {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    report: Option<BTreeMap<String, u64>>,
    ledger: Arc<Ledger>,
    number: usize,
    /// Its beginning: nobody knows when it made its calls.
    since: Moment,
    lease: Duration,
    /// Leases of whose end it has not said anything.
    held: HashSet<Receipt>,
}

impl WorkerProcess {
    /// A worker that does not end jobs marked to be held.
    pub(crate) fn start(shop: &Shop, slots: usize, lease: Duration) -> Self {
        Self::launch(shop, slots, lease, false)
    }

    /// A worker that ends every job.
    pub(crate) fn start_bold(shop: &Shop, slots: usize, lease: Duration) -> Self {
        Self::launch(shop, slots, lease, true)
    }

    /// Starts this test program again, for its ignored test.
    fn launch(shop: &Shop, slots: usize, lease: Duration, bold: bool) -> Self {
        let since = shop.ledger.now();
        let mut child = Command::new(env::current_exe().expect("the test program has a path"))
            .args(["--exact", "a_worker_process", "--ignored", "--nocapture"])
            .env(URL, shop.server.url())
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
            ledger: Arc::clone(&shop.ledger),
            number: shop.workers.fetch_add(1, Ordering::Relaxed),
            since,
            lease,
            held: HashSet::new(),
        }
    }

    /// The next line of its output.
    pub(crate) async fn said(&mut self) -> Said {
        let line = within("a word from the worker", self.lines.recv()).await;
        self.read(&line.unwrap_or_default())
    }

    /// Reads a line, and tells the ledger of leases.
    fn read(&mut self, line: &str) -> Said {
        let receipt = |id: &str, token: &str| {
            let token = Token::new(token.parse().expect("a token"));
            Receipt::new(id.parse().expect("an id"), token)
        };
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["ready"] => Said::Ready,
            ["leased", id, token, attempt, ref body @ ..] => {
                let receipt = receipt(id, token);
                let attempt = attempt.parse().expect("an attempt");
                let delivery = Delivery::new(receipt, attempt, self.lease, body.join(" "));
                self.held.insert(receipt);
                self.leases(CallEnd::Ok(Answer::Leased(Leased::of(vec![delivery]))));
                let id = receipt.id;
                Said::Leased { id, attempt }
            }
            ["acked", id, token] => {
                let receipt = receipt(id, token);
                self.settled(Settlement::ack(receipt));
                Said::Acked { id: receipt.id }
            }
            ["released", id, token] => {
                self.settled(Settlement::release(receipt(id, token)));
                Said::Released
            }
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

    fn heard(&self, call: Call, outcome: CallEnd) {
        self.ledger.heard(self.number, self.since, call, outcome);
    }

    fn leases(&self, outcome: CallEnd) {
        self.heard(Call::Lease(NonZeroUsize::MIN, self.lease), outcome);
    }

    fn settled(&mut self, settlement: Settlement) {
        self.held.remove(&settlement.receipt);
        let done = Answer::Settled(vec![Settled::Done]);
        self.heard(Call::Settle(vec![settlement]), CallEnd::Ok(done));
    }

    /// Reads the last lines of a process that has ended. It may have leased and acked more than it said.
    async fn read_the_rest(&mut self) {
        while let Some(line) = self.lines.recv().await {
            self.read(&line);
        }
        self.leases(CallEnd::Dropped);
        for receipt in std::mem::take(&mut self.held) {
            let ack = Settlement::ack(receipt);
            self.heard(Call::Settle(vec![ack]), CallEnd::Dropped);
        }
    }

    /// Leaves out the lines so far.
    pub(crate) fn forget(&mut self) {
        while let Ok(line) = self.lines.try_recv() {
            self.read(&line);
        }
    }

    /// Kills it as a crash would (SIGKILL).
    pub(crate) async fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is ours");
        self.read_the_rest().await;
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
        self.read_the_rest().await;
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
