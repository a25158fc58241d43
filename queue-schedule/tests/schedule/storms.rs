//! Schedulers that stall, are cut off and lose replies, in random order by a seed, while an operator changes the
//! schedule. The rules C1, C2 and C4 hold, and once the storm is over every slot comes.

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
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

use crate::{
    environment::*,
    random::{Random, seeds},
};

/// Calls take time, stall, fail before they take effect, and lose their replies.
#[derive(Debug)]
struct Weather {
    random: Random,
    calm: Arc<AtomicBool>,
}

#[async_trait]
impl Layer for Weather {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        if self.calm.load(SeqCst) {
            return queue.call(call).await;
        }
        let lost = |outcome| {
            let error = Error::new(ErrorKind::Unavailable, "the connection ended");
            Err(error.with_outcome(outcome))
        };
        let pause = |random: &Random| match random.below(40) {
            0 => Duration::from_secs(random.below(600)),
            _ => Duration::from_millis(random.below(50)),
        };
        sleep(pause(&self.random)).await;
        if self.random.below(12) == 0 {
            return lost(Outcome::NotApplied);
        }
        let answer = queue.call(call).await;
        sleep(pause(&self.random)).await;
        match self.random.below(12) {
            0 => lost(Outcome::Unknown),
            _ => answer,
        }
    }
}

/// A schedule's definitions: by number, each with bodies of its own.
fn definition(
    number: u64,
) -> (
    Periodic,
    impl Fn(&Slot) -> Result<Push> + Send + Sync + 'static,
) {
    let every = Duration::from_secs(20 + 10 * number);
    let periodic = Periodic::every("storm", every).unwrap();
    let make = move |slot: &Slot| Ok(Push::new(format!("{number} {}", slot.at().as_millis())));
    (periodic, make)
}

/// All messages that are ready: the definition's number and the slot of each.
async fn ready(queue: &Arc<dyn ReliableQueue>) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    while let Some(delivery) = queue.receive_one(MINUTE, Duration::ZERO).await.unwrap() {
        let body = std::str::from_utf8(&delivery.body).unwrap();
        let (number, slot) = body.split_once(' ').expect("no marker is ever due");
        found.push((number.parse().unwrap(), slot.parse().unwrap()));
        queue.ack(delivery.receipt).await.unwrap();
    }
    found
}

pub(crate) async fn storm(seed: u64) {
    let random = Random::new(seed);
    let memory = MemoryBackend::starting_at(Timestamp::from_millis(START));
    let calm = Arc::new(AtomicBool::new(false));
    let weather = Weather {
        random: random.clone(),
        calm: Arc::clone(&calm),
    };
    let plain = Queues::new(memory.clone());
    let stormy = Queues::new(Layered::new(weather, Arc::new(memory)));
    let queue = Arc::clone(plain.reliable("jobs").open::<Jobs>().await.unwrap().queue());
    let schedules = Schedules::open(&plain, "schedules").await.unwrap();

    // Schedulers that begin and are cut off, each with a definition that may be stored by then.
    let current = Arc::new(Mutex::new(0));
    let schedulers = (0..3).map(|_| {
        let (random, stormy, calm) = (random.clone(), stormy.clone(), Arc::clone(&calm));
        let current = Arc::clone(&current);
        tokio::spawn(async move {
            while !calm.load(SeqCst) {
                sleep(Duration::from_millis(random.below(20_000))).await;
                let number = *current.lock().unwrap();
                let life = sleep(Duration::from_millis(random.below(90_000)));
                let run = async {
                    let schedules = Schedules::open(&stormy, "schedules").await?;
                    let mut scheduler = Scheduler::new(&schedules);
                    let (periodic, make) = definition(number);
                    scheduler.add_push(periodic, "jobs", make).await?;
                    scheduler.run_until(std::future::pending()).await
                };
                // Cut off wherever it is.
                let _ = tokio::time::timeout_at(life.deadline(), run).await;
            }
        })
    });
    let schedulers: Vec<_> = schedulers.collect();

    let mut seen = BTreeSet::new();
    let mut gone = BTreeSet::new();
    let mut check = |found: Vec<(u64, u64)>, gone: &BTreeSet<u64>, now: u64| {
        for (number, slot) in found {
            assert!(slot <= now, "C2, seed {seed}: slot {slot} at {now}");
            assert!(
                !gone.contains(&number),
                "C4, seed {seed}: slot {slot} of definition {number} at {now}"
            );
            assert!(
                seen.insert((number, slot)),
                "C1, seed {seed}: slot {slot} of definition {number} twice"
            );
        }
    };
    let now = || async { plain.backend().now().await.unwrap().as_millis() };
    for change in 1..=4 {
        for _ in 0..30 {
            sleep(Duration::from_millis(random.below(6_000))).await;
            check(ready(&queue).await, &gone, now().await);
        }
        // The operator's connection is sound; he changes the definition, or takes the schedule away for a while.
        let old = std::mem::replace(&mut *current.lock().unwrap(), change);
        match random.below(3) {
            0 => {
                let (periodic, make) = definition(change);
                let mut scheduler = Scheduler::new(&schedules);
                // The program of the new definition replaces the stored one.
                scheduler.change_push(periodic, "jobs", make).await.unwrap();
            }
            1 => {
                schedules.remove("storm").await.unwrap();
                check(ready(&queue).await, &gone, now().await);
                // A scheduler that has just begun may add the old definition again.
                continue;
            }
            _ => {
                // Without a schedule, there is none to disable: a scheduler may add it meanwhile.
                let is_disabled = schedules.disable("storm").await.unwrap();
                check(ready(&queue).await, &gone, now().await);
                sleep(Duration::from_millis(random.below(60_000))).await;
                let quiet = ready(&queue).await;
                assert!(
                    quiet.is_empty() || !is_disabled,
                    "C4, seed {seed}: {quiet:?} of a disabled schedule"
                );
                check(quiet, &gone, now().await);
                *current.lock().unwrap() = old;
                schedules.enable("storm").await.unwrap();
                continue;
            }
        }
        // Messages that are ready by now were ready before the change returned.
        check(ready(&queue).await, &gone, now().await);
        gone.insert(old);
    }
    calm.store(true, SeqCst);
    for scheduler in schedulers {
        scheduler.await.unwrap();
    }
    // In the calm, one scheduler brings every slot.
    let number = *current.lock().unwrap();
    let mut scheduler = Scheduler::new(&schedules);
    let (periodic, make) = definition(number);
    scheduler.change_push(periodic, "jobs", make).await.unwrap();
    check(ready(&queue).await, &gone, now().await);
    let begin = now().await;
    scheduler.run_until(sleep(5 * MINUTE)).await.unwrap();
    let found = ready(&queue).await;
    let every = 20_000 + 10_000 * number;
    let expected = now().await / every - begin / every;
    assert_eq!(found.len() as u64, expected, "seed {seed}: {found:?}");
    check(found, &gone, now().await);
}

/// Plays storms until one breaks a rule.
pub(crate) fn storms(seeds: Range<u64>) {
    each_seed(seeds, storm);
}

fn each_seed<Played: Future<Output = ()>>(seeds: Range<u64>, play: impl Fn(u64) -> Played) {
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(seed));
    }
}

#[test]
fn c1_c2_c4_hold_in_storms() {
    storms(0..seeds(100));
}

/// Runs that are asked for over bad connections, beside schedulers that come and go, changes of the definition, and
/// disabling (C8).
async fn storm_of_runs(seed: u64) {
    let random = Random::new(seed);
    let memory = MemoryBackend::starting_at(Timestamp::from_millis(START));
    let calm = Arc::new(AtomicBool::new(false));
    let weather = Weather {
        random: random.clone(),
        calm: Arc::clone(&calm),
    };
    let plain = Queues::new(memory.clone());
    let stormy = Queues::new(Layered::new(weather, Arc::new(memory)));
    let queue = Arc::clone(plain.reliable("jobs").open::<Jobs>().await.unwrap().queue());
    let schedules = Schedules::open(&plain, "schedules").await.unwrap();
    // A long interval: nearly all messages are runs.
    let definition = |number: u64| {
        let periodic = Periodic::every("storm", HOUR + SECOND * number as u32).unwrap();
        let make = move |slot: &Slot| {
            let (at, asked) = (slot.at().as_millis(), slot.is_asked_for());
            Ok(Push::new(format!("{number} {at} {asked}")))
        };
        (periodic, make)
    };
    let change = async |number| {
        let mut scheduler = Scheduler::new(&schedules);
        let (periodic, make) = definition(number);
        scheduler.change_push(periodic, "jobs", make).await.unwrap();
        scheduler
    };
    drop(change(0).await);
    let current = Arc::new(Mutex::new(0));
    let schedulers = async |current: Arc<Mutex<u64>>| {
        while !calm.load(SeqCst) {
            let number = *current.lock().unwrap();
            let run = async {
                let schedules = Schedules::open(&stormy, "schedules").await?;
                let mut scheduler = Scheduler::new(&schedules);
                let (periodic, make) = definition(number);
                scheduler.add_push(periodic, "jobs", make).await?;
                // Half of them end in the middle of what they do.
                let life = Duration::from_millis(random.below(60_000));
                scheduler.run_until(sleep(life)).await
            };
            let _ = run.await;
            sleep(Duration::from_millis(random.below(5_000))).await;
        }
    };
    let (sure, perhaps) = (AtomicU64::new(0), AtomicU64::new(0));
    let asker = async || {
        let schedules = Schedules::open(&stormy, "schedules").await.unwrap();
        while !calm.load(SeqCst) {
            sleep(Duration::from_millis(random.below(8_000))).await;
            match schedules.run_now("storm").await {
                Ok(there) => {
                    assert!(there, "C8, seed {seed}: no schedule");
                    sure.fetch_add(1, SeqCst);
                }
                Err(error) if error.outcome() == Outcome::Unknown => {
                    perhaps.fetch_add(1, SeqCst);
                }
                Err(_) => {}
            }
        }
    };
    let mut runs = BTreeSet::new();
    let mut collect = async |gone: u64| {
        while let Some(delivery) = queue.receive_one(MINUTE, Duration::ZERO).await.unwrap() {
            let body = String::from_utf8(delivery.body.to_vec()).unwrap();
            let number: u64 = body.split(' ').next().unwrap().parse().unwrap();
            assert!(number >= gone, "C4, seed {seed}: {body} of a changed one");
            if body.ends_with("true") {
                let slot = delivery.headers.get("slot").map(str::to_owned);
                assert!(runs.insert(slot), "C8, seed {seed}: {body} twice");
            }
            queue.ack(delivery.receipt).await.unwrap();
        }
    };
    let operator = async {
        let mut gone = 0;
        for step in 1..=6 {
            for _ in 0..10 {
                sleep(Duration::from_millis(random.below(6_000))).await;
                collect(gone).await;
            }
            match random.below(3) {
                0 => {
                    let old = std::mem::replace(&mut *current.lock().unwrap(), step);
                    assert!(old < step);
                    drop(change(step).await);
                    // Messages that are ready by now were ready before the change returned.
                    collect(gone).await;
                    gone = step;
                }
                1 => {
                    schedules.disable("storm").await.unwrap();
                    sleep(Duration::from_millis(random.below(20_000))).await;
                    schedules.enable("storm").await.unwrap();
                }
                _ => {
                    for _ in 0..5 {
                        schedules.disable("storm").await.unwrap();
                        schedules.enable("storm").await.unwrap();
                    }
                }
            }
        }
        calm.store(true, SeqCst);
    };
    let again = || schedulers(Arc::clone(&current));
    tokio::join!(again(), again(), asker(), asker(), operator);
    let number = *current.lock().unwrap();
    let last = change(number).await;
    last.run_until(sleep(5 * MINUTE)).await.unwrap();
    collect(0).await;
    let (sure, perhaps) = (sure.into_inner(), perhaps.into_inner());
    let came = runs.len() as u64;
    assert!(
        (sure..=sure + perhaps).contains(&came),
        "C8, seed {seed}: {came} runs, {sure} surely asked for, {perhaps} perhaps"
    );
}

/// Plays storms of runs until one breaks a rule.
pub(crate) fn storms_of_runs(seeds: Range<u64>) {
    each_seed(seeds, storm_of_runs);
}

#[test]
fn c8_each_run_comes_once_in_storms() {
    storms_of_runs(0..seeds(100));
}

/// Schedulers of one schedule of which one may run at a time, and a consumer that holds each message for a while (C6).
async fn storm_of_one(seed: u64) {
    let random = Random::new(seed);
    let memory = MemoryBackend::starting_at(Timestamp::from_millis(START));
    let weather = Weather {
        random: random.clone(),
        calm: Arc::default(),
    };
    let plain = Queues::new(memory.clone());
    let stormy = Queues::new(Layered::new(weather, Arc::new(memory)));
    let queue = Arc::clone(plain.reliable("jobs").open::<Jobs>().await.unwrap().queue());
    let schedulers = async {
        loop {
            let run = || async {
                let schedules = Schedules::open(&stormy, "schedules").await?;
                let mut scheduler = Scheduler::new(&schedules);
                let (periodic, make) = definition(0);
                let periodic = periodic.unless_running();
                scheduler.add_push(periodic, "jobs", make).await?;
                let life = sleep(Duration::from_millis(random.below(90_000)));
                scheduler.run_until(life).await
            };
            let _ = tokio::join!(run(), run(), run());
        }
    };
    let consumer = async {
        let mut slots = BTreeSet::new();
        while slots.len() < 20 {
            let delivery = queue.receive_one(MINUTE, HOUR).await.unwrap();
            let delivery = delivery.expect("schedulers come again");
            assert!(
                slots.insert(delivery.headers.get("slot").map(str::to_owned)),
                "C1, seed {seed}"
            );
            for _ in 0..random.below(8) {
                sleep(Duration::from_millis(random.below(6_000))).await;
                let depth = queue.depth().await.unwrap();
                assert_eq!(depth.occupied(), 1, "C6, seed {seed}: {depth:?}");
            }
            queue.ack(delivery.receipt).await.unwrap();
        }
    };
    tokio::select! {
        () = schedulers => {}
        () = consumer => {}
    }
}

#[test]
fn c6_holds_in_storms() {
    each_seed(0..100, storm_of_one);
}
