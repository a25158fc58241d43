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

/// A queue and the schedules that push to it, over connections that are sound and others that are not.
#[derive(Clone)]
struct Storm {
    seed: u64,
    random: Random,
    calm: Arc<AtomicBool>,
    plain: Queues,
    stormy: Queues,
    queue: Arc<dyn ReliableQueue>,
    schedules: Schedules,
    /// The definition that a scheduler adds that begins now.
    current: Arc<Mutex<u64>>,
}

impl Storm {
    async fn new(seed: u64) -> Self {
        let random = Random::new(seed);
        let memory = MemoryBackend::starting_at(Timestamp::from_millis(START));
        let calm = Arc::new(AtomicBool::new(false));
        let weather = Weather {
            random: random.clone(),
            calm: Arc::clone(&calm),
        };
        let plain = Queues::new(memory.clone());
        let stormy = Queues::new(Layered::new(weather, Arc::new(memory)));
        let jobs = plain.reliable("jobs").open::<Jobs>().await.unwrap();
        let schedules = Schedules::open(&plain, "schedules").await.unwrap();
        Self {
            seed,
            random,
            calm,
            queue: Arc::clone(jobs.queue()),
            plain,
            stormy,
            schedules,
            current: Arc::default(),
        }
    }

    fn current(&self) -> u64 {
        *self.current.lock().unwrap()
    }

    fn is_calm(&self) -> bool {
        self.calm.load(SeqCst)
    }

    async fn pause(&self, below: u64) {
        sleep(Duration::from_millis(self.random.below(below))).await;
    }

    /// Schedulers that begin and are cut off, each with a definition that may be stored by then.
    async fn schedulers_come_and_go(self) {
        while !self.is_calm() {
            self.pause(20_000).await;
            let number = self.current();
            let life = sleep(Duration::from_millis(self.random.below(90_000)));
            let run = async {
                let schedules = Schedules::open(&self.stormy, "schedules").await?;
                let mut scheduler = Scheduler::new(&schedules);
                let (periodic, make) = definition(number);
                scheduler.add_push(periodic, "jobs", make).await?;
                scheduler.run_until(std::future::pending()).await
            };
            // Cut off wherever it is.
            let _ = tokio::time::timeout_at(life.deadline(), run).await;
        }
    }

    /// The program of the new definition replaces the stored one.
    async fn change(&self, number: u64) -> Scheduler {
        let (periodic, make) = definition(number);
        let mut scheduler = Scheduler::new(&self.schedules);
        scheduler.change_push(periodic, "jobs", make).await.unwrap();
        scheduler
    }

    /// The operator's connection is sound. He changes the definition, takes the schedule away, or disables it for a while.
    async fn operate(&self, change: u64, slots: &mut Slots) {
        let old = std::mem::replace(&mut *self.current.lock().unwrap(), change);
        match self.random.below(3) {
            0 => {
                drop(self.change(change).await);
                // Messages that are ready by now were ready before the change returned.
                slots.check(self).await;
                slots.gone.insert(old);
            }
            1 => {
                self.schedules.remove("storm").await.unwrap();
                // A scheduler that has just begun may add the old definition again.
                slots.check(self).await;
            }
            _ => {
                // Without a schedule, there is none to disable: a scheduler may add it meanwhile.
                let is_disabled = self.schedules.disable("storm").await.unwrap();
                slots.check(self).await;
                self.pause(60_000).await;
                let quiet = slots.check(self).await;
                assert!(
                    quiet == 0 || !is_disabled,
                    "C4, seed {}: {quiet} of a disabled schedule",
                    self.seed
                );
                *self.current.lock().unwrap() = old;
                self.schedules.enable("storm").await.unwrap();
            }
        }
    }
}

/// The slots that came, by definition, and the definitions that are replaced.
#[derive(Default)]
struct Slots {
    seen: BTreeSet<(u64, u64)>,
    gone: BTreeSet<u64>,
}

impl Slots {
    /// Takes all messages that are ready. Returns their number.
    async fn check(&mut self, storm: &Storm) -> u64 {
        let found = ready(&storm.queue).await;
        let now = storm.plain.backend().now().await.unwrap().as_millis();
        let (seed, count) = (storm.seed, found.len() as u64);
        for (number, slot) in found {
            assert!(slot <= now, "C2, seed {seed}: slot {slot} at {now}");
            assert!(
                !self.gone.contains(&number),
                "C4, seed {seed}: slot {slot} of definition {number} at {now}"
            );
            assert!(
                self.seen.insert((number, slot)),
                "C1, seed {seed}: slot {slot} of definition {number} twice"
            );
        }
        count
    }
}

pub(crate) async fn storm(seed: u64) {
    let storm = Storm::new(seed).await;
    let schedulers = (0..3).map(|_| tokio::spawn(storm.clone().schedulers_come_and_go()));
    let schedulers: Vec<_> = schedulers.collect();
    let mut slots = Slots::default();
    for change in 1..=4 {
        for _ in 0..30 {
            storm.pause(6_000).await;
            slots.check(&storm).await;
        }
        storm.operate(change, &mut slots).await;
    }
    storm.calm.store(true, SeqCst);
    for scheduler in schedulers {
        scheduler.await.unwrap();
    }
    // In the calm, one scheduler brings every slot.
    let number = storm.current();
    let scheduler = storm.change(number).await;
    slots.check(&storm).await;
    let now = || async { storm.plain.backend().now().await.unwrap().as_millis() };
    let begin = now().await;
    scheduler.run_until(sleep(5 * MINUTE)).await.unwrap();
    let every = 20_000 + 10_000 * number;
    let expected = now().await / every - begin / every;
    assert_eq!(slots.check(&storm).await, expected, "seed {seed}");
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
struct Runs {
    storm: Storm,
    /// The slots of the runs that came.
    came: Mutex<BTreeSet<Option<String>>>,
    /// How many runs were surely asked for, and how many perhaps.
    sure: AtomicU64,
    perhaps: AtomicU64,
}

impl Runs {
    /// Stores a definition of a long interval, so that nearly all messages are runs.
    async fn change(&self, number: u64) -> Scheduler {
        let mut scheduler = Scheduler::new(&self.storm.schedules);
        let (periodic, make) = hourly(number);
        scheduler.change_push(periodic, "jobs", make).await.unwrap();
        scheduler
    }

    async fn schedulers(&self) {
        let storm = &self.storm;
        while !storm.is_calm() {
            let number = storm.current();
            let run = async {
                let schedules = Schedules::open(&storm.stormy, "schedules").await?;
                let mut scheduler = Scheduler::new(&schedules);
                let (periodic, make) = hourly(number);
                scheduler.add_push(periodic, "jobs", make).await?;
                // Half of them end in the middle of what they do.
                let life = Duration::from_millis(storm.random.below(60_000));
                scheduler.run_until(sleep(life)).await
            };
            let _ = run.await;
            storm.pause(5_000).await;
        }
    }

    async fn ask(&self) {
        let schedules = Schedules::open(&self.storm.stormy, "schedules").await;
        let schedules = schedules.unwrap();
        while !self.storm.is_calm() {
            self.storm.pause(8_000).await;
            match schedules.run_now("storm").await {
                Ok(there) => {
                    assert!(there, "C8, seed {}: no schedule", self.storm.seed);
                    self.sure.fetch_add(1, SeqCst);
                }
                Err(error) if error.outcome() == Outcome::Unknown => {
                    self.perhaps.fetch_add(1, SeqCst);
                }
                Err(_) => {}
            }
        }
    }

    /// Takes all messages that are ready, of which none is of a definition before `gone`.
    async fn collect(&self, gone: u64) {
        let Storm { seed, queue, .. } = &self.storm;
        while let Some(delivery) = queue.receive_one(MINUTE, Duration::ZERO).await.unwrap() {
            let body = String::from_utf8(delivery.body.to_vec()).unwrap();
            let number: u64 = body.split(' ').next().unwrap().parse().unwrap();
            assert!(number >= gone, "C4, seed {seed}: {body} of a changed one");
            if body.ends_with("true") {
                let slot = delivery.headers.get("slot").map(str::to_owned);
                let is_new = self.came.lock().unwrap().insert(slot);
                assert!(is_new, "C8, seed {seed}: {body} twice");
            }
            queue.ack(delivery.receipt).await.unwrap();
        }
    }

    async fn operate(&self) {
        let storm = &self.storm;
        let mut gone = 0;
        for step in 1..=6 {
            for _ in 0..10 {
                storm.pause(6_000).await;
                self.collect(gone).await;
            }
            match storm.random.below(3) {
                0 => {
                    let old = std::mem::replace(&mut *storm.current.lock().unwrap(), step);
                    assert!(old < step);
                    drop(self.change(step).await);
                    // Messages that are ready by now were ready before the change returned.
                    self.collect(gone).await;
                    gone = step;
                }
                1 => {
                    storm.schedules.disable("storm").await.unwrap();
                    storm.pause(20_000).await;
                    storm.schedules.enable("storm").await.unwrap();
                }
                _ => {
                    for _ in 0..5 {
                        storm.schedules.disable("storm").await.unwrap();
                        storm.schedules.enable("storm").await.unwrap();
                    }
                }
            }
        }
        storm.calm.store(true, SeqCst);
    }
}

/// A schedule's definitions of an hour and more.
fn hourly(
    number: u64,
) -> (
    Periodic,
    impl Fn(&Slot) -> Result<Push> + Send + Sync + 'static,
) {
    let periodic = Periodic::every("storm", HOUR + SECOND * number as u32).unwrap();
    let make = move |slot: &Slot| {
        let (at, asked) = (slot.at().as_millis(), slot.is_asked_for());
        Ok(Push::new(format!("{number} {at} {asked}")))
    };
    (periodic, make)
}

async fn storm_of_runs(seed: u64) {
    let runs = Runs {
        storm: Storm::new(seed).await,
        came: Mutex::default(),
        sure: AtomicU64::new(0),
        perhaps: AtomicU64::new(0),
    };
    drop(runs.change(0).await);
    tokio::join!(
        runs.schedulers(),
        runs.schedulers(),
        runs.ask(),
        runs.ask(),
        runs.operate()
    );
    let last = runs.change(runs.storm.current()).await;
    last.run_until(sleep(5 * MINUTE)).await.unwrap();
    runs.collect(0).await;
    let (sure, perhaps) = (runs.sure.into_inner(), runs.perhaps.into_inner());
    let came = runs.came.into_inner().unwrap().len() as u64;
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
    let storm = Storm::new(seed).await;
    let schedulers = async {
        loop {
            let run = || async {
                let schedules = Schedules::open(&storm.stormy, "schedules").await?;
                let mut scheduler = Scheduler::new(&schedules);
                let (periodic, make) = definition(0);
                let periodic = periodic.unless_running();
                scheduler.add_push(periodic, "jobs", make).await?;
                let life = sleep(Duration::from_millis(storm.random.below(90_000)));
                scheduler.run_until(life).await
            };
            let _ = tokio::join!(run(), run(), run());
        }
    };
    let consumer = async {
        let mut slots = BTreeSet::new();
        while slots.len() < 20 {
            let delivery = storm.queue.receive_one(MINUTE, HOUR).await.unwrap();
            let delivery = delivery.expect("schedulers come again");
            assert!(
                slots.insert(delivery.headers.get("slot").map(str::to_owned)),
                "C1, seed {seed}"
            );
            for _ in 0..storm.random.below(8) {
                sleep(Duration::from_millis(storm.random.below(6_000))).await;
                let depth = storm.queue.depth().await.unwrap();
                assert_eq!(depth.occupied(), 1, "C6, seed {seed}: {depth:?}");
            }
            storm.queue.ack(delivery.receipt).await.unwrap();
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
