//! The state that a worker shows while it works.

use queue_worker::*;
use tokio::time::sleep;

use crate::environment::{Environment, SECOND};

#[tokio::test(start_paused = true)]
async fn health_counts_the_messages_in_handlers() {
    let environment = Environment::holding(5).await;
    let worker = environment.worker().concurrency(3);
    let health = worker.health();
    assert_eq!(health.in_flight(), 0);
    let looks = async {
        for in_flight in [3, 2, 0] {
            sleep(SECOND / 2).await;
            assert_eq!(health.in_flight(), in_flight);
            sleep(SECOND / 2).await;
        }
    };
    worker
        .run_until(looks, |_: u64, _: Context| sleep(SECOND))
        .await
        .unwrap();
    assert_eq!(environment.counters().await.acked, 5);
}
