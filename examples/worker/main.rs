//! A worker that works through a file of jobs, and can be stopped and started again.

#[path = "../cli/mod.rs"]
mod cli;
mod jobs;
mod progress;
#[path = "../signals/mod.rs"]
mod signals;

use std::{path::Path, process::ExitCode, time::Duration};

use queue_kit::{Backoff, LeasingExt, Reliable, ReliableConfig, Worker, worker::Report};

use self::{
    cli::{Arguments, Failure},
    jobs::Job,
};

const HELP: &str = "\
Works through a file of jobs, and shows how far it is.

usage: worker [--backend URL] [FILE]

FILE has one job a line, as JSON:
    {\"job\": \"invoice-17\", \"millis\": 40, \"fails\": 1}
An attempt at it takes so many milliseconds, and so many attempts fail (0 if left out); the third
failure is the last. Without FILE, a bundled sample is used.

Ctrl-c and SIGTERM stop it: what runs may finish, what does not is given back, its attempt
refunded; a second one ends it at once. On a backend that outlives the process, start it again to
go on: the jobs are in a queue named after the file, and a job that was put in within the last
seven days is not put in again. Start it twice at once, and both share the work.

--backend URL   where the queue is; memory: if left out";

const SAMPLE: &str = include_str!("../data/jobs.jsonl");
const QUEUE: &str = "example:jobs";
/// The time in which a job's name keeps it from being pushed again: the longest possible.
const KNOWN: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const ATTEMPTS: u32 = 3;
const SLOTS: usize = 4;
/// If this process dies, others get its jobs this much later.
const LEASE: Duration = Duration::from_secs(5);
/// The time that jobs have to finish after a ctrl-c.
const DRAIN: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 1)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = arguments.operands.first();
    let (all, bad_lines) = match file {
        Some(path) => {
            let file =
                std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
            jobs::read(&file)
        }
        None => jobs::read(SAMPLE.as_bytes()),
    };
    for (line, reason) in &bad_lines {
        eprintln!("line {line} is left out: {reason}");
    }

    let queues = queue_kit::connect(&arguments.backend).await?;
    let config = ReliableConfig::default().with_max_attempts(ATTEMPTS);
    let queue = queues
        .reliable(&queue_name(file))
        .config(config)
        .open::<Job>()
        .await?;
    let added = put_in(&queue, &all).await?;
    println!("{} jobs in the file, {added} of them new", all.len());

    let report = work(&queue).await?;
    let counts = report.counts;
    println!(
        "this run: handled={} acked={} retried={} released={} dead={} lost={} drained={} stop_ms={}",
        counts.started,
        counts.acked,
        counts.retried,
        counts.released,
        counts.died,
        counts.lost,
        report.drained,
        report.shutdown.as_millis()
    );
    println!("{}", progress::summary(&queue).await?);
    if bad_lines.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("{} lines were left out, see above", bad_lines.len());
    Ok(ExitCode::FAILURE)
}

/// The queue of a file's name; the sample has a queue of its own.
fn queue_name(file: Option<&String>) -> String {
    let stem = file.and_then(|path| Path::new(path).file_stem()?.to_str());
    let Some(stem) = stem else {
        return QUEUE.to_owned();
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let stem = stem.chars().map(|c| if plain(c) { c } else { '-' });
    stem.take(100)
        .fold(format!("{QUEUE}:"), |name, c| name + &c.to_string())
}

/// Pushes the jobs that were not pushed before, and returns their number.
async fn put_in(queue: &Reliable<Job>, jobs: &[Job]) -> Result<usize, Failure> {
    let mut pushes = Vec::with_capacity(jobs.len());
    for job in jobs {
        pushes.push(queue.encode(job)?.with_dedup(job.job.clone(), KNOWN));
    }
    let pushed = queue.queue().push_all(&pushes).await?;
    Ok(pushed
        .iter()
        .filter(|pushed| !pushed.is_duplicate())
        .count())
}

/// Works until all jobs are done, or until a signal.
async fn work(queue: &Reliable<Job>) -> Result<Report, Failure> {
    let asked = signals::asked_to_stop()?;
    let shutdown = async {
        tokio::select! {
            biased;
            signal = asked => println!("{signal}: no more is begun, what runs may finish"),
            () = progress::until_all_done(queue) => {}
        }
    };
    let report = Worker::new(queue.clone())
        .concurrency(SLOTS)
        .lease(LEASE)
        .drain(DRAIN)
        .retry(Backoff::exponential(Duration::from_millis(100)))
        .run_until(shutdown, |job: Job, context| async move {
            let done = job.attempt(&context).await;
            if let Err(failure) = &done {
                println!("{}: {}", job.job, failure.reason());
            }
            done
        })
        .await?;
    Ok(report)
}
