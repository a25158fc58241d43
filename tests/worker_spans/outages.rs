//! An outage of a server is one line in the log for any number of queues.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use queue_kit::{
    Error, ErrorKind, Queues, Reliable, Result, Route, Workers,
    call::{Answer, Call, Layer, Layered, Service},
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

#[test]
fn an_outage_of_a_server_of_many_queues_is_one_warning_and_one_recovery() {
    traced(async |recorder| {
        let outage = Outage::default();
        let memory = Arc::new(queue_kit::MemoryBackend::new());
        let queues = Queues::new(Layered::new(outage.clone(), memory));
        let mut workers = Workers::by_weight();
        for number in 0..QUEUES {
            let name = format!("jobs-{number}");
            let jobs: Reliable<u64> = queues.reliable(&name).await.expect("opens");
            workers = workers.add(Route::new(jobs), |_, _| async {});
        }
        let end = async {
            for away in [false, true, false, true, false] {
                outage.0.store(away, Ordering::Relaxed);
                sleep(60 * SECOND).await;
            }
        };
        workers.run_until(end).await.expect("sound settings");
        let levels = |text| {
            let events = recorder.events(text);
            let logged = events
                .into_iter()
                .filter(|event| event.level <= Level::INFO);
            logged
                .map(|event| (event.level, event.fields.get("queues").cloned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            levels("a call failed"),
            [(Level::WARN, None), (Level::WARN, None)]
        );
        let all = Some(QUEUES.to_string());
        let recovered = [(Level::INFO, all.clone()), (Level::INFO, all)];
        assert_eq!(levels("calls succeed again"), recovered);
    });
}
