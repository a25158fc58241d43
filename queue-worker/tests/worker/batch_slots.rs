//! The slots of queues whose handlers get batches: one for each batch, however many messages it has.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use queue_worker::*;
use tokio::time::sleep;

use crate::environment::{Environment, HOUR, SECOND};

/// Handlers that run now, the most that ran at once, and all that ran.
#[derive(Debug, Clone, Default)]
struct Runs(Arc<[AtomicUsize; 3]>);

impl Runs {
    async fn run_for(&self, time: std::time::Duration) {
        let now = self.0[0].fetch_add(1, Relaxed) + 1;
        self.0[1].fetch_max(now, Relaxed);
        self.0[2].fetch_add(1, Relaxed);
        sleep(time).await;
        self.0[0].fetch_sub(1, Relaxed);
    }

    fn at_once(&self) -> usize {
        self.0[1].load(Relaxed)
    }

    fn all(&self) -> usize {
        self.0[2].load(Relaxed)
    }
}

/// Serves both queues for 40 seconds, the first by batches of ten; each handler takes a second.
async fn serve(workers: Workers, batches: Route<u64>, singles: Route<u64>) -> [Runs; 2] {
    let runs = [Runs::default(), Runs::default()];
    let [of_batches, of_singles] = runs.clone();
    let report = workers
        .drain(2 * SECOND)
        .add_batches(10, batches, move |_: Vec<(u64, Context)>| {
            let runs = of_batches.clone();
            async move { runs.run_for(SECOND).await }
        })
        .add(singles, move |_: u64, _| {
            let runs = of_singles.clone();
            async move { runs.run_for(SECOND).await }
        })
        .run_until(sleep(40 * SECOND))
        .await
        .unwrap();
    assert!(report.counts.balance(), "{report:?}");
    runs
}

#[tokio::test(start_paused = true)]
async fn a_batch_counts_as_one_slot_of_its_queues_share() {
    let (first, second) = (
        Environment::holding(1_000).await,
        Environment::holding(100).await,
    );
    let workers = Workers::by_weight().concurrency(2);
    let [batches, singles] = serve(workers, first.route(), second.route()).await;
    let (batches, singles) = (batches.all(), singles.all());
    assert!(batches.abs_diff(singles) <= 4, "{batches} and {singles}");
    assert!(batches + singles >= 76, "{batches} and {singles}");
}

#[tokio::test(start_paused = true)]
async fn a_queue_of_batches_takes_its_own_slots_and_leaves_the_others() {
    let (first, second) = (
        Environment::holding(1_000).await,
        Environment::holding(1_000).await,
    );
    let workers = Workers::in_order().concurrency(5);
    let [batches, singles] = serve(workers, first.route().at_most(2), second.route()).await;
    assert_eq!((batches.at_once(), singles.at_once()), (2, 3));
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_call_for_a_batch_holds_one_slot() {
    let (first, second) = (
        Environment::holding(1_000).await,
        Environment::holding(1_000).await,
    );
    first.spy.watched().latency = HOUR;
    let workers = Workers::by_weight().concurrency(3);
    let [_, singles] = serve(workers, first.route().at_most(1), second.route()).await;
    assert_eq!(singles.at_once(), 2);
    assert!(singles.all() >= 76, "{}", singles.all());
    assert_eq!(first.spy.watched().largest, 10);
}
