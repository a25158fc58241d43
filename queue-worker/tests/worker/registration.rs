//! The list of workers.

use queue_core::{Queues, Removal, workers};
use queue_memory::MemoryBackend;
use queue_worker::*;
use tokio::time::{sleep, timeout};

use crate::environment::{Environment, HOUR, SECOND};

#[tokio::test(start_paused = true)]
async fn a_worker_is_listed_while_it_runs_and_as_gone_once_it_was_killed() {
    let environment = Environment::holding(3).await;
    let queues = Queues::new(MemoryBackend::new());
    let listed = async || workers(&**queues.backend()).await.unwrap();
    assert_eq!(listed().await, []);
    let worker = || {
        let worker = environment.worker().named("jobs").concurrency(2);
        worker.holder("web-3").register(&queues, "shop 1.4.2")
    };

    let at_work = async {
        sleep(35 * SECOND).await;
        let found = listed().await;
        assert_eq!(found.len(), 1, "in place of its last beat: {found:?}");
        let (info, record) = (&found[0], &found[0].record);
        assert!(!info.gone && info.last_beat_ms <= 5_100, "{info:?}");
        assert_eq!((&*record.holder, &*record.program), ("web-3", "shop 1.4.2"));
        assert_eq!((record.slots, record.in_flight), (2, 2));
        assert_eq!(record.queues, ["jobs"]);
        assert_eq!(record.uptime_ms, 30_000);
    };
    let slow = |_: u64, _: Context| sleep(HOUR);
    worker()
        .drain(SECOND)
        .run_until(at_work, slow)
        .await
        .unwrap();
    assert_eq!(listed().await, [], "it took itself off the list");

    // Dropping a worker's future is a crash.
    let killed = worker().run(|_: u64, _| async {});
    assert!(timeout(25 * SECOND, killed).await.is_err());
    let last = listed().await;
    assert!(!last[0].gone && last[0].last_beat_ms == 5_000, "{last:?}");
    sleep(26 * SECOND).await;
    assert!(listed().await[0].gone);
    sleep(24 * HOUR).await;
    assert_eq!(listed().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_worker_works_without_the_list_and_registers_when_it_can() {
    let environment = Environment::holding(0).await;
    let queues = Queues::new(MemoryBackend::new());
    // Another queue has the name.
    queues.reliable("qk-workers").open::<u64>().await.unwrap();
    let worker = environment.worker().register(&queues, "shop 1.4.2");
    let health = worker.health();
    let steps = async {
        sleep(SECOND).await;
        environment.push(5).await;
        environment.empty().await;
        assert!(health.is_healthy());
        assert!(
            health
                .last_error()
                .unwrap()
                .to_string()
                .contains("qk-workers")
        );
        let removed = queues.remove("qk-workers", Removal::UnlessLeased);
        assert!(removed.await.unwrap());
        sleep(10 * SECOND).await;
        assert_eq!(workers(&**queues.backend()).await.unwrap().len(), 1);
    };
    let report = worker.run_until(steps, |_: u64, _| async {}).await.unwrap();
    assert_eq!(report.counts.acked, 5);
}
