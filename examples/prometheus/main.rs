//! A worker's metrics, for Prometheus to scrape.

#[path = "../cli/mod.rs"]
mod cli;
mod exposition;
#[path = "../signals/mod.rs"]
mod signals;

use std::{
    process::ExitCode,
    time::{Duration, SystemTime},
};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use queue_kit::{Delay, Headers, Worker};
use tokio::{
    net::TcpListener,
    time::{interval, sleep},
};

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Runs a worker on a delay queue, puts reminders into it, and serves the worker's metrics for
Prometheus, until ctrl-c or SIGTERM.

usage: prometheus [--backend URL] [ADDRESS]

ADDRESS is where to listen; 127.0.0.1:9187 if left out, and a port of 0 is any that is free.

--backend URL   where the queue is; memory: if left out";

const ADDRESS: &str = "127.0.0.1:9187";
const QUEUE: &str = "example:reminders";
/// The time between reminders; `DELAY` is the time until each is due.
const PACE: Duration = Duration::from_millis(20);
const DELAY: Duration = Duration::from_millis(100);
/// The interval at which the worker reads the queue's own gauges.
const SAMPLE: Duration = Duration::from_millis(500);
/// The interval at which the exporter cleans up if nobody scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 1)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // The recorder comes first: without one, counts are lost.
    let seconds = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0];
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &seconds)?
        .install_recorder()?;

    let asked = signals::asked_to_stop()?;
    let queues = queue_kit::connect(&arguments.backend).await?;
    let reminders = queues.delay(QUEUE).open::<u64>().await?;
    let address = arguments
        .operands
        .first()
        .map_or(ADDRESS, |address| address);
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    println!("metrics on http://{}/metrics", listener.local_addr()?);

    let upkeep = recorder.clone();
    let upkeep = async move {
        let mut ticks = interval(UPKEEP);
        loop {
            ticks.tick().await;
            upkeep.run_upkeep();
        }
    };
    let shutdown = async {
        tokio::select! {
            biased;
            signal = asked => {
                println!("{signal}: stopping");
                Ok(())
            }
            failed = produce(&reminders) => failed,
            failed = exposition::serve(listener, move || recorder.render()) => Ok(failed?),
            () = upkeep => Ok(()),
        }
    };
    let mut stopped: Result<(), Failure> = Ok(());
    let report = Worker::new(reminders.clone())
        .concurrency(4)
        .sample_every(SAMPLE)
        .run_until(
            async { stopped = shutdown.await },
            |reminder: u64, _| async move {
                sleep(Duration::from_millis(reminder % 40)).await;
                match reminder % 10 {
                    0 => Err("every tenth reminder fails"),
                    _ => Ok(()),
                }
            },
        )
        .await?;
    stopped?;
    println!(
        "handled={} acked={} retried={}",
        report.counts.started, report.counts.acked, report.counts.retried
    );
    Ok(ExitCode::SUCCESS)
}

/// Pushes reminders, stamped so that the worker can measure their wait and their lateness.
async fn produce(reminders: &Delay<u64>) -> Result<(), Failure> {
    let mut ticks = interval(PACE);
    for number in 1.. {
        ticks.tick().await;
        let now = SystemTime::now();
        let stamps = Headers::new().with_pushed_at(now).with_due_at(DELAY, now);
        let reminder = reminders.message(&number).headers(stamps);
        reminder.delay(DELAY).send().await?;
    }
    Ok(())
}
