//! Several queues in one worker.

use std::sync::{Arc, Mutex};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_worker::*;
use tokio::time::{Instant, sleep};

use crate::{
    environment::{Environment, HOUR, MILLI, SECOND},
    spy::Fault,
};

type Log = Arc<Mutex<Vec<&'static str>>>;

/// A handler that notes the message's queue, and takes ten milliseconds.
fn noting(
    log: &Log,
    name: &'static str,
) -> impl Fn(u64, Context) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync + 'static
{
    let log = Arc::clone(log);
    move |_, _| {
        log.lock().unwrap().push(name);
        Box::pin(sleep(10 * MILLI))
    }
}

/// Workers with a route to each of these, whose handler notes its name.
fn serving(workers: Workers, log: &Log, queues: &[(&Environment, &'static str)]) -> Workers {
    let add = |workers: Workers, (environment, name): &(&Environment, &'static str)| {
        workers.add(environment.route(), noting(log, name))
    };
    queues.iter().fold(workers, add)
}

fn share(log: &Log, first: usize, name: &str) -> usize {
    let log = log.lock().unwrap();
    log.iter()
        .take(first)
        .filter(|entry| **entry == name)
        .count()
}

#[tokio::test(start_paused = true)]
async fn weights_share_the_slots() {
    for slots in [1, 8] {
        let (heavy, light) = (
            Environment::holding(300).await,
            Environment::holding(300).await,
        );
        let log = Log::default();
        let both = async {
            heavy.empty().await;
            light.empty().await;
        };
        let report = Workers::by_weight()
            .concurrency(slots)
            .add(light.route(), noting(&log, "light"))
            .add(heavy.route().weight(3), noting(&log, "heavy"))
            .run_until(both)
            .await
            .unwrap();
        let share = share(&log, 200, "heavy");
        assert!(
            (145..=155).contains(&share),
            "{share} of 200, {slots} slots"
        );
        assert_eq!(report.counts.acked, 600);
        assert!(report.counts.balance(), "{report:?}");
        assert_eq!(heavy.spy.watched().dropped + light.spy.watched().dropped, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn in_order_the_first_goes_before_the_rest() {
    for slots in [1, 8] {
        let (first, second) = (
            Environment::holding(100).await,
            Environment::holding(100).await,
        );
        let log = Log::default();
        let both = async {
            first.empty().await;
            // Later messages of the first queue go before the rest, too.
            first.push(20).await;
            first.empty().await;
            assert!(second.counters().await.acked < 60);
            second.empty().await;
        };
        serving(
            Workers::in_order().concurrency(slots),
            &log,
            &[(&first, "first"), (&second, "second")],
        )
        .run_until(both)
        .await
        .unwrap();
        let share = share(&log, 100, "first");
        assert!(share >= 100 - slots, "{share} of 100, {slots} slots");
        assert_eq!(log.lock().unwrap().len(), 220);
    }
}

/// A call that only asks whether the backend is back holds no slot.
#[tokio::test(start_paused = true)]
async fn slow_failures_of_the_first_do_not_hold_up_the_rest() {
    let (broken, sound) = (
        Environment::holding(1).await,
        Environment::holding(3_000).await,
    );
    {
        let mut watched = broken.spy.watched();
        watched.fault = Some(Fault::Down);
        watched.latency = 10 * SECOND;
    }
    let log = Log::default();
    let start = Instant::now();
    let through = async {
        sound.empty().await;
        assert!(start.elapsed() < 45 * SECOND, "{:?}", start.elapsed());
        broken.spy.watched().fault = None;
        broken.empty().await;
    };
    serving(
        Workers::in_order(),
        &log,
        &[(&broken, "broken"), (&sound, "sound")],
    )
    .run_until(through)
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn in_order_slots_that_come_during_a_call_are_kept_for_the_first() {
    let (first, second) = (
        Environment::holding(300).await,
        Environment::holding(50).await,
    );
    first.spy.watched().latency = 5 * MILLI;
    let log = Log::default();
    let noted = Log::clone(&log);
    let both = async {
        first.empty().await;
        second.empty().await;
    };
    Workers::in_order()
        .concurrency(8)
        .add(first.route(), move |number: u64, _| {
            noted.lock().unwrap().push("first");
            sleep((7 + number % 7) as u32 * MILLI)
        })
        .add(second.route(), noting(&log, "second"))
        .run_until(both)
        .await
        .unwrap();
    assert_eq!(share(&log, 300, "first"), 300);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_cannot_be_reached_does_not_hold_up_the_others() {
    for workers in [Workers::in_order(), Workers::by_weight()] {
        let (broken, sound) = (
            Environment::holding(10).await,
            Environment::holding(50).await,
        );
        broken.spy.watched().fault = Some(Fault::Down);
        let log = Log::default();
        let health = workers.health();
        let spy = broken.spy.clone();
        let both = async {
            sound.empty().await;
            let troubles = health.troubles();
            assert!(troubles.iter().all(|trouble| trouble.queue == "broken"));
            spy.watched().fault = None;
            broken.empty().await;
        };
        let report = workers
            .add(broken.route().named("broken"), noting(&log, "broken"))
            .add(sound.route(), noting(&log, "sound"))
            .run_until(both)
            .await
            .unwrap();
        assert_eq!(share(&log, 50, "sound"), 50);
        assert_eq!(report.counts.acked, 60);
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_takes_no_more_slots_than_it_may() {
    let (slow, quick) = (
        Environment::holding(50).await,
        Environment::holding(50).await,
    );
    let running = Arc::new(Mutex::new((0, 0)));
    let count = Arc::clone(&running);
    let log = Log::default();
    Workers::by_weight()
        .concurrency(8)
        .drain(std::time::Duration::ZERO)
        .add(slow.route().at_most(3), move |_, _| {
            let count = Arc::clone(&count);
            async move {
                {
                    let mut count = count.lock().unwrap();
                    count.0 += 1;
                    count.1 = count.1.max(count.0);
                }
                sleep(HOUR).await;
                count.lock().unwrap().0 -= 1;
            }
        })
        .add(quick.route(), noting(&log, "quick"))
        .run_until(quick.empty())
        .await
        .unwrap();
    assert_eq!(running.lock().unwrap().1, 3);
    assert_eq!(quick.counters().await.acked, 50);
}

/// 20 slots work on 20 groups at once, and on one message of each. A message that failed keeps its place in its group.
#[tokio::test(start_paused = true)]
async fn a_worker_handles_each_group_in_order() {
    let queues = Queues::new(MemoryBackend::new());
    let steps = queues.grouped("steps").open::<u64>().await.unwrap();
    for step in 0..100 {
        steps
            .push(&step, format!("order-{}", step % 20))
            .await
            .unwrap();
    }
    let (begun, log) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let running = Arc::new(Mutex::new((0, 0)));
    let (noted, counted) = (Arc::clone(&log), Arc::clone(&running));
    let queue = Arc::clone(steps.queue());
    let done = async move {
        while queue.counters().await.unwrap().acked < 100 {
            sleep(MILLI).await;
        }
    };
    let handler = move |step: u64, cx: Context| {
        let (noted, counted) = (Arc::clone(&noted), Arc::clone(&counted));
        async move {
            let now = {
                let mut running = counted.lock().unwrap();
                running.0 += 1;
                running.1 = running.1.max(running.0);
                running.0
            };
            assert!(now <= 20, "one message of each of 20 groups");
            sleep(10 * MILLI).await;
            counted.lock().unwrap().0 -= 1;
            if step.is_multiple_of(7) && cx.attempt() == 1 {
                return Err(Failure::retry_after("again", 30 * MILLI));
            }
            noted.lock().unwrap().push(step);
            Ok(())
        }
    };
    Worker::new(steps)
        .concurrency(50)
        .run_until(done, handler)
        .await
        .unwrap();
    let log = log.lock().unwrap();
    for group in 0..20 {
        let own: Vec<u64> = log
            .iter()
            .copied()
            .filter(|step| step % 20 == group)
            .collect();
        let pushed: Vec<u64> = (0..5).map(|round| group + 20 * round).collect();
        assert_eq!(own, pushed);
    }
    assert_eq!(running.lock().unwrap().1, 20);
    assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn each_kind_that_leases_is_served_by_its_own_type() {
    let queues = Queues::new(MemoryBackend::new());
    let reliable = queues.reliable("reliable").open::<u64>().await.unwrap();
    let delay = queues.delay("delay").open::<String>().await.unwrap();
    let priority = queues
        .priority("priority")
        .open::<(u8, u8)>()
        .await
        .unwrap();
    let bounded = queues
        .bounded("bounded", 3)
        .open::<Vec<bool>>()
        .await
        .unwrap();
    reliable.push(&1).await.unwrap();
    delay.push(&"later".to_owned(), 5 * SECOND).await.unwrap();
    priority.push(&(1, 2), 7).await.unwrap();
    bounded
        .push(&vec![true], Overflow::Reject)
        .await
        .unwrap()
        .id()
        .unwrap();
    let log = Log::default();
    let note = |name: &'static str| {
        let log = Arc::clone(&log);
        move || log.lock().unwrap().push(name)
    };
    let notes = ["reliable", "delay", "priority", "bounded"].map(note);
    let [one, two, three, four] = notes;
    Workers::by_weight()
        .add(Route::new(reliable), move |number: u64, _| {
            assert_eq!(number, 1);
            one();
            async {}
        })
        .add(Route::new(delay), move |text: String, cx| {
            assert_eq!((text.as_str(), cx.queue()), ("later", "delay"));
            two();
            async {}
        })
        .add(Route::new(priority), move |pair: (u8, u8), _| {
            assert_eq!(pair, (1, 2));
            three();
            async {}
        })
        .add(Route::new(bounded), move |flags: Vec<bool>, _| {
            assert_eq!(flags, [true]);
            four();
            async {}
        })
        .run_until(sleep(5 * SECOND + 20 * MILLI))
        .await
        .unwrap();
    let mut served = log.lock().unwrap().clone();
    assert_eq!(served.pop(), Some("delay"), "when it was due");
    served.sort_unstable();
    assert_eq!(served, ["bounded", "priority", "reliable"]);
}
