//! What a scheduler costs, in calls, and that many schedules come on time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    Layered,
    call::{Answer, Call, Layer, Service},
    *,
};
use queue_memory::MemoryBackend;
use queue_schedule::*;
use tokio::time::sleep;

use crate::environment::*;

const EVERY: Duration = Duration::from_secs(10);

/// Counts calls, each of which takes a millisecond.
#[derive(Debug, Clone, Default)]
struct Distance {
    calls: Arc<AtomicU64>,
}

#[async_trait]
impl Layer for Distance {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        self.calls.fetch_add(1, SeqCst);
        sleep(Duration::from_millis(1)).await;
        queue.call(call).await
    }
}

/// Runs schedules that each have a slot every ten seconds, and returns the calls. Each slot comes within 100 ms.
async fn calls(schedules: u64, slots: u64) -> u64 {
    let distance = Distance::default();
    let memory = MemoryBackend::starting_at(Timestamp::from_millis(START));
    let near = Environment::on(Queues::new(memory.clone())).await;
    let far = Queues::new(Layered::new(distance.clone(), Arc::new(memory)));
    let far = Schedules::open(&far, "schedules").await.unwrap();
    let mut scheduler = Scheduler::new(&far);
    for number in 0..schedules {
        let periodic = Periodic::every(format!("{number}"), EVERY).unwrap();
        scheduler.add_job(periodic, "jobs", report).await.unwrap();
    }
    let begin = near.now().await;
    let first = EVERY - Duration::from_millis((begin - START) % 10_000);
    let before = distance.calls.load(SeqCst);
    let check = async {
        sleep(first).await;
        for slot in 1..=slots {
            sleep(Duration::from_millis(100)).await;
            let depth = near.jobs.queue().depth().await.unwrap();
            assert_eq!(depth.ready, slot * schedules, "slot {slot}");
            sleep(EVERY - Duration::from_millis(100)).await;
        }
    };
    scheduler.run_until(check).await.unwrap();
    distance.calls.load(SeqCst) - before
}

#[tokio::test(start_paused = true)]
async fn a_slot_costs_the_same_beside_any_number_of_schedules() {
    let (few, many) = (calls(10, 6).await, calls(1_000, 6).await);
    assert!(few < 3 * 60, "{few} calls for 60 slots");
    assert!(many < 2 * 6_000, "{many} calls for 6,000 slots");
}
