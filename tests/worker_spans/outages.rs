//! Each worker logs an outage of a server by one line, for any number of its queues.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use queue_kit::{
    Error, ErrorKind, Layered, Queues, Reliable, Result, Route, Workers,
    call::{Answer, Call, Layer, Service},
};
use tokio::time::sleep;
use tracing::Level;

use super::{SECOND, traced};

const QUEUES: usize = 40;

/// Refuses every call while the server is away.
#[derive(Debug, Clone, Default)]
struct Outage(Arc<AtomicBool>);

#[async_trait]
impl Layer for Outage {
    async fn call(
        &self,
        _: &queue_kit::QueueName,
        queue: &Arc<dyn Service>,
        call: Call,
    ) -> Result<Answer> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Unavailable, "away").with_server("redis"));
        }
        queue.call(call).await
    }
}

/// Two outages of a server, seen by workers of 40 queues each. Returns the warnings and the recoveries: their levels,
/// and how many queues they name.
fn two_outages(workers: usize) -> [Vec<(Level, Option<String>)>; 2] {
    let mut logged = [Vec::new(), Vec::new()];
    traced(async |recorder| {
        let outage = Outage::default();
        let memory = Arc::new(queue_kit::MemoryBackend::new());
        let queues = Queues::new(Layered::new(outage.clone(), memory));
        let mut runs = Vec::new();
        for _ in 0..workers {
            let mut worker = Workers::by_weight();
            for number in 0..QUEUES {
                let name = format!("jobs-{number}");
                let jobs: Reliable<u64> = queues.reliable(&name).open().await.expect("opens");
                worker = worker.add(Route::new(jobs), |_, _| async {});
            }
            runs.push(tokio::spawn(worker.run_until(sleep(5 * 60 * SECOND))));
        }
        let outages = async {
            for away in [false, true, false, true, false] {
                outage.0.store(away, Ordering::Relaxed);
                sleep(59 * SECOND).await;
            }
        };
        outages.await;
        for run in runs {
            let report = run.await.expect("no panic");
            report.expect("sound settings");
        }
        logged = ["a call failed", "calls succeed again"].map(|text| {
            let events = recorder.events(text).into_iter();
            let events = events.filter(|event| event.level <= Level::INFO);
            events
                .map(|event| (event.level, event.fields.get("queues").cloned()))
                .collect()
        });
    });
    logged
}

#[test]
fn an_outage_of_a_server_is_one_warning_and_one_recovery_for_each_worker() {
    for workers in [1, 3] {
        let [failed, recovered] = two_outages(workers);
        assert_eq!(failed, vec![(Level::WARN, None); 2 * workers]);
        let all = (Level::INFO, Some(QUEUES.to_string()));
        assert_eq!(recovered, vec![all; 2 * workers]);
    }
    let page = include_str!("../../docs/operations.md");
    let line = "Each worker logs an outage of a server as one such pair, whatever number of its `queues` it struck";
    assert!(page.contains(line));
}
