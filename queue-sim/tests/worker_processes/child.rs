//! The worker in the process that tests start, kill and stop.

use std::{
    env,
    io::{Read, Write},
    process::exit,
    sync::Arc,
    thread,
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    call::{Answer, Call, Layer, Service},
    *,
};
use queue_worker::{Report, Worker};
use tokio::signal::unix::{SignalKind, signal};

use crate::connect;

/// The queue.
pub(crate) const NAME: &str = "jobs";
/// The body of a job that a timid worker does not end by itself.
pub(crate) const HOLD: &str = "hold";

/// The names of the settings in a process's environment.
pub(crate) const URL: &str = "QUEUE_SIM_TEST_URL";
pub(crate) const SLOTS: &str = "QUEUE_SIM_TEST_SLOTS";
pub(crate) const LEASE: &str = "QUEUE_SIM_TEST_LEASE_MS";
pub(crate) const BOLD: &str = "QUEUE_SIM_TEST_BOLD";

/// The mark before each of its lines: the test harness prints, too.
pub(crate) const MARK: char = '@';

/// How long a job takes.
const WORK: Duration = Duration::from_millis(2);
/// The time that jobs have to end after a SIGTERM.
const DRAIN: Duration = Duration::from_millis(300);

fn variable<T: std::str::FromStr>(name: &str) -> T {
    let value = env::var(name).unwrap_or_else(|_| panic!("{name}: run by the tests, not by hand"));
    value
        .parse()
        .unwrap_or_else(|_| panic!("{name} is {value:?}"))
}

fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    // If the test is gone, nobody reads the line, and this process will end at once.
    let _ = writeln!(out, "\n{MARK}{what}").and_then(|()| out.flush());
}

/// Says what each answered call leased and settled.
#[derive(Debug)]
struct Says;

#[async_trait]
impl Layer for Says {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let settlements = match &call {
            Call::Settle(settlements) | Call::SettleAndLease(settlements, ..) => {
                settlements.clone()
            }
            _ => Vec::new(),
        };
        let answer = queue.call(call).await?;
        if let Answer::Settled(settled) | Answer::SettledAndLeased(settled, _) = &answer {
            for (settlement, settled) in settlements.iter().zip(settled) {
                settles(settlement, *settled);
            }
        }
        if let Answer::Leased(leased) | Answer::SettledAndLeased(_, leased) = &answer {
            for Delivery {
                receipt,
                attempt,
                body,
                ..
            } in &leased.deliveries
            {
                let body = String::from_utf8_lossy(body);
                say(&format!(
                    "leased {} {} {attempt} {body}",
                    receipt.id, receipt.token
                ));
            }
        }
        Ok(answer)
    }
}

/// Says how a lease ended. Of what it does not say, the test knows no outcome.
fn settles(settlement: &Settlement, settled: Settled) {
    let Receipt { id, token } = settlement.receipt;
    let how = match (&settlement.disposition, settled) {
        (Disposition::Ack, Settled::Done) => "acked",
        (Disposition::Release, Settled::Done) => "released",
        _ => return,
    };
    say(&format!("{how} {id} {token}"));
}

/// Runs a worker until a SIGTERM, and reports.
pub(crate) fn run() {
    // The test's end of this pipe closes when the test ends, however it ends.
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        exit(1)
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let report = runtime.block_on(work());
    let counts = report.counts;
    assert!(counts.balance(), "{report:?}");
    say(&format!(
        "report acked={} released={} retried={} lost={} errors={} drained={}",
        counts.acked,
        counts.released,
        counts.retried,
        counts.lost,
        counts.errors,
        u8::from(report.drained)
    ));
}

async fn work() -> Report {
    let mut asked = signal(SignalKind::terminate()).expect("signals");
    let backend = Layered::new(Says, connect(&variable::<String>(URL)).await);
    let queues = Queues::new(backend);
    let jobs = queues.reliable(NAME).open::<String>().await.expect("opens");
    let bold: bool = variable(BOLD);
    let shutdown = async move {
        asked.recv().await;
    };
    // Before the worker runs: it may start a handler before it first looks for the end.
    say("ready");
    Worker::new(jobs)
        .concurrency(variable(SLOTS))
        .lease(Duration::from_millis(variable(LEASE)))
        .drain(DRAIN)
        .run_until(shutdown, move |body: String, context| async move {
            if body == HOLD && !bold {
                let stop = context.stopped().await;
                return Err(format!("told to stop: {stop:?}"));
            }
            tokio::time::sleep(WORK).await;
            Ok(())
        })
        .await
        .expect("the settings are sound")
}
