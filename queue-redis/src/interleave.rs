//! Many orders in which threads can take turns, played one after another.
//!
//! Real threads meet the one order that breaks something once in a hundred thousand times. Here a
//! scenario's threads are coroutines of one thread, and which of them goes on at each [`step`] is
//! drawn. The code under test is the real one: it has a step wherever another thread may come
//! between, before it takes a lock and between what others see of it. What is between two steps is
//! played as one, so there must be none while a lock is held. Time stands still, so that no timer
//! makes up for a wake-up that was lost: then all wait for ever, which is told as a deadlock, with
//! the schedule that leads there.

use std::sync::LazyLock;

use shuttle::{
    Config, FailurePersistence, Runner,
    scheduler::{PctScheduler, RandomScheduler, Scheduler},
};
use tokio::runtime::{self, Runtime};

/// The same orders each time.
const SEED: u64 = 1;
const ORDERS: usize = 500;
/// As many times a thread is overtaken where it hurts: most bugs take one or two.
const OVERTAKEN: usize = 3;

/// Where timers are kept, which never end: nobody drives it.
static TIMERS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = runtime::Builder::new_current_thread();
    let builder = builder.enable_time().start_paused(true);
    builder.build().unwrap()
});

/// Others may go on here. Outside a scenario it does nothing.
pub(crate) fn step() {
    if shuttle::current::try_get_current_task().is_some() && !std::thread::panicking() {
        shuttle::thread::yield_now();
    }
}

/// Plays a scenario in many orders: in some all threads go on alike, in others some are held back
/// for long.
pub(crate) fn in_many_orders(scenario: impl Fn() + Send + Sync + Copy + 'static) {
    play(RandomScheduler::new_from_seed(SEED, ORDERS), scenario);
    play(
        PctScheduler::new_from_seed(SEED, OVERTAKEN, ORDERS),
        scenario,
    );
}

fn play(scheduler: impl Scheduler + 'static, scenario: impl Fn() + Send + Sync + 'static) {
    let _entered = TIMERS.enter();
    let mut config = Config::new();
    // Without optimisation futures take more than shuttle's default.
    config.stack_size = 1 << 18;
    config.failure_persistence = FailurePersistence::Print;
    assert_eq!(Runner::new(scheduler, config).run(scenario), ORDERS);
}
