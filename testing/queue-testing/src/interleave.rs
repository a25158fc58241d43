//! For tests of code that threads share: plays two or three threads in every order of their steps, or in
//! many orders if there are too many.
//!
//! Real threads run the one order that breaks something once in a hundred thousand times. [`exhaustive`]
//! plays them all: it runs a scenario again and again, with its threads as coroutines of one thread.
//! Between two [`step`]s exactly one goes on; at each step it chooses another, until it has tried every
//! choice. [`sampled`] draws orders instead, the same each time.
//!
//! **The code under proof is the real one**, with the locks and channels that it always has. The code calls
//! [`step`] in its own tests (`#[cfg(test)]`), or in a test's code around it, at each point where another
//! thread may come between. These points are before it takes a lock, and after it releases one if others
//! see the next effect, such as a wake-up. The code between two steps runs as one. So there must be no step
//! while a thread holds a lock, or the scenario hangs. An operation on a channel, a semaphore or a waker of
//! another crate is one step; that crate has to prove it atomic.
//!
//! **Time stands still**, so that no timer hides a lost wake-up. Then all threads wait for ever, and the
//! test fails with a deadlock and the schedule that leads to it.
//!
//! A scenario must be deterministic for an order of its threads: no clock, no randomness. The number of
//! orders grows like a factorial of the steps, so keep the scenario to the point: three threads that wait,
//! lease and push have 27,000 orders, which take two seconds.

use std::sync::LazyLock;

use shuttle::{
    Config, FailurePersistence, Runner,
    scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler},
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};
pub use shuttle::{
    future::block_on,
    thread::{JoinHandle, spawn},
};
use tokio::runtime::{self, Runtime};

/// The runtime that holds timers. Nobody drives it, so they never end. It is never dropped, since
/// that would wake the tasks that a failed scenario has left behind.
static TIMERS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = runtime::Builder::new_current_thread();
    let builder = builder.enable_time().start_paused(true);
    builder.build().expect("a runtime")
});

/// Lets another thread go on here. Outside a scenario it does nothing.
pub fn step() {
    if shuttle::current::try_get_current_task().is_some() && !std::thread::panicking() {
        // Any operation of shuttle's will do, but not a yield, which would wake this thread as
        // well.
        AtomicBool::new(false).load(SeqCst);
    }
}

/// The most orders: more take too long.
const MOST: usize = 100_000;

/// Plays a scenario in every order of its threads' steps. Returns the number of orders.
///
/// # Panics
///
/// If the scenario panics or hangs in one of them, or if there are more than a hundred thousand: an
/// incomplete proof is no proof.
pub fn exhaustive(scenario: impl Fn() + Send + Sync + 'static) -> usize {
    let orders = play(DfsScheduler::new(Some(MOST + 1), false), scenario);
    assert!(orders <= MOST, "there are more than {MOST} orders");
    orders
}

/// Fixed, so that the orders are the same each time.
const SEED: u64 = 1;
/// The number of orders to draw in each way.
const DRAWN: usize = 500;
/// The number of times that a thread is overtaken at a critical step: most bugs take one or two.
const OVERTAKEN: usize = 3;

/// Plays a scenario in many orders: in some, all threads advance equally; in others, some threads are held
/// back for long.
///
/// # Panics
///
/// If the scenario panics or hangs in one of them.
pub fn sampled(scenario: impl Fn() + Send + Sync + Copy + 'static) {
    play(RandomScheduler::new_from_seed(SEED, DRAWN), scenario);
    let overtaking = PctScheduler::new_from_seed(SEED, OVERTAKEN, DRAWN);
    play(overtaking, scenario);
}

fn play(scheduler: impl Scheduler + 'static, scenario: impl Fn() + Send + Sync + 'static) -> usize {
    let _entered = TIMERS.enter();
    let mut config = Config::new();
    // Without optimisation futures take more than shuttle's default.
    config.stack_size = 1 << 18;
    config.failure_persistence = FailurePersistence::Print;
    Runner::new(scheduler, config).run(scenario)
}

#[cfg(test)]
mod tests {
    use std::{
        panic::catch_unwind,
        sync::{
            Arc, Mutex,
            atomic::{AtomicU32, Ordering::SeqCst},
        },
        time::Duration,
    };

    use super::{block_on, exhaustive, spawn, step};

    /// Two threads, each of which reads in one step and writes in another.
    fn sum(seen: &Arc<Mutex<Vec<u32>>>) {
        let count = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let count = Arc::clone(&count);
                spawn(move || {
                    step();
                    let read = count.load(SeqCst);
                    step();
                    count.store(read + 1, SeqCst);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        seen.lock().unwrap().push(count.load(SeqCst));
    }

    #[test]
    fn orders_that_lose_an_update_are_met_and_so_are_those_that_do_not() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let orders = {
            let seen = Arc::clone(&seen);
            exhaustive(move || sum(&seen))
        };
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), orders);
        assert!(seen.contains(&1) && seen.contains(&2), "{seen:?}");
    }

    #[test]
    fn all_orders_are_as_many_as_there_are() {
        // Two threads of three steps each, that is four pieces, are merged in 8! / (4! 4!) ways. The main
        // thread waits for the first, and continues at once or after the second.
        let merged = exhaustive(|| {
            let threads = [(); 2].map(|()| spawn(|| (0..3).for_each(|_| step())));
            for thread in threads {
                thread.join().unwrap();
            }
        });
        assert!(merged >= 70, "{merged}");
    }

    #[test]
    fn a_timer_never_ends_and_an_endless_wait_is_found() {
        let played =
            catch_unwind(|| exhaustive(|| block_on(tokio::time::sleep(Duration::from_millis(1)))));
        let panic = played.unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("deadlock"), "{message}");
    }

    #[test]
    fn outside_a_scenario_a_step_does_nothing() {
        step();
    }
}
