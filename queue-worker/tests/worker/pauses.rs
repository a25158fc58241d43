//! Queues that an operator pauses.

use tokio::time::sleep;

use crate::environment::{Environment, MILLI, SECOND};

#[tokio::test(start_paused = true)]
async fn a_paused_queue_shows_in_the_health_of_a_worker_that_samples() {
    let environment = Environment::holding(1).await;
    environment.queue.pause().await.unwrap();
    let worker = environment.worker().named("jobs").sample_every(SECOND);
    let health = worker.health();
    let steps = async {
        assert!(health.paused().is_empty(), "not looked at yet");
        sleep(SECOND / 2).await;
        assert_eq!(health.paused(), ["jobs"]);
        assert!(health.is_healthy(), "an operator wants it so");
        environment.queue.resume().await.unwrap();
        environment.empty().await;
        sleep(SECOND + MILLI).await;
        assert!(health.paused().is_empty());
    };
    let report = worker.run_until(steps, |_: u64, _| async {}).await.unwrap();
    assert_eq!(report.counts.acked, 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_does_not_sample_does_not_know_of_a_pause() {
    let environment = Environment::holding(1).await;
    environment.queue.pause().await.unwrap();
    let worker = environment.worker();
    let health = worker.health();
    let shutdown = sleep(60 * SECOND);
    worker
        .run_until(shutdown, |_: u64, _| async {})
        .await
        .unwrap();
    assert!(health.paused().is_empty());
}
