//! A rotating queue: several pollers poll sensors in turn, each sensor at its pace.

mod cli;

use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use queue_kit::{Rotating, RotatingConfig, millis_ceil};
use serde::{Deserialize, Serialize};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Polls six sensors in turn, each at most every 400 ms, with three pollers, four rounds long.

usage: poll_sensors [--backend URL]

--backend URL   where the queue is; memory: if left out";

const QUEUE: &str = "example:sensors";
const SENSORS: [&str; 6] = ["cellar", "kitchen", "hall", "attic", "garden", "garage"];
const POLLERS: u32 = 3;
const ROUNDS: u32 = 4;
const PACE: Duration = Duration::from_millis(400);
/// The time that a sensor takes to answer.
const READING: Duration = Duration::from_millis(15);
/// The longest wait of a poller for a due sensor before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Serialize, Deserialize)]
struct Sensor {
    name: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 0)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let queues = queue_kit::connect(&arguments.backend).await?;
    let config = RotatingConfig::default().with_pace(PACE);
    let ring = queues
        .rotating(QUEUE)
        .config(config)
        .open::<Sensor>()
        .await?;

    let log = Arc::new(Log::new());
    // If an earlier run left its ring behind, the key keeps this from adding items twice.
    for name in SENSORS {
        let sensor = Sensor {
            name: name.to_owned(),
        };
        ring.message(&sensor).key(name).send().await?;
    }
    let mut pollers = JoinSet::new();
    for poller in 1..=POLLERS {
        pollers.spawn(poll(poller, ring.clone(), Arc::clone(&log)));
    }
    while let Some(ended) = pollers.join_next().await {
        ended??;
    }
    println!("{}", log.summary());
    Ok(ExitCode::SUCCESS)
}

async fn poll(poller: u32, ring: Rotating<Sensor>, log: Arc<Log>) -> Result<(), Failure> {
    while log.another_visit() {
        let visit = ring.visit(PATIENCE).await?;
        let visit = visit.ok_or_else(|| format!("no sensor was due within {PATIENCE:?}"))?;
        let line = log.visited(&visit.body?.name);
        println!("poller {poller}  {line}");
        sleep(READING).await;
    }
    Ok(())
}

/// The visits and their times.
struct Log {
    start: Instant,
    begun: AtomicU32,
    visits: Mutex<BTreeMap<String, Visits>>,
}

#[derive(Debug, Clone, Copy)]
struct Visits {
    count: u32,
    latest: Instant,
    early: u32,
    worst_late: Duration,
}

impl Log {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            begun: AtomicU32::new(0),
            visits: Mutex::default(),
        }
    }

    /// Claims one more visit for the caller. Returns false if no visit was left.
    fn another_visit(&self) -> bool {
        let total = ROUNDS * SENSORS.len() as u32;
        self.begun.fetch_add(1, Ordering::Relaxed) < total
    }

    fn visited(&self, name: &str) -> String {
        let now = Instant::now();
        let since_start = now - self.start;
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let visit = visits.entry(name.to_owned()).or_insert(Visits {
            count: 0,
            latest: self.start,
            early: 0,
            worst_late: Duration::ZERO,
        });
        // The first visit is not before the start, so the next is not before one pace after it, and
        // so on. Two answers may take unequal time to arrive, so the time between them proves less.
        let earliest = PACE * visit.count;
        visit.early += u32::from(millis_ceil(since_start) < millis_ceil(earliest));
        if visit.count > 0 {
            let late = (now - visit.latest).saturating_sub(PACE);
            visit.worst_late = visit.worst_late.max(late);
        }
        visit.count += 1;
        visit.latest = now;
        format!(
            "{:>5} ms  {name}, visit {}",
            since_start.as_millis(),
            visit.count
        )
    }

    fn summary(&self) -> String {
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = visits.values().map(|visit| visit.count);
        let worst_late = visits.values().map(|visit| visit.worst_late).max();
        format!(
            "sensors={} pollers={POLLERS} visits={} fewest={} most={} early={} worst_late_ms={}",
            visits.len(),
            counts.clone().sum::<u32>(),
            counts.clone().min().unwrap_or(0),
            counts.max().unwrap_or(0),
            visits.values().map(|visit| visit.early).sum::<u32>(),
            millis_ceil(worst_late.unwrap_or_default()),
        )
    }
}
