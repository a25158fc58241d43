//! Queues that are removed and reconfigured while producers and consumers use them, under all faults: the next
//! queue of the name has a history of its own (R1), and the list of queues has what is there.

#![cfg(all(unix, feature = "redis"))]

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use queue_core::{
    AnyQueue, Backend, Bytes, ErrorKind, Leasing, Partitioned, Push, QueueConfig, QueueInfo,
    QueueName, Receipt, ReliableConfig, Removal, Result, Settled, Settlement, StoredQueue,
    call::{Answer, Call},
};
use queue_memory::MemoryBackend;
use queue_sim::{
    history::Outcome,
    plan::Decisions,
    sim::{BoxError, Run, Sim, Story, check, sim},
    wire::{RedisEnvironment, Reply, Request, Rewrite, Steps},
    world::{EPOCH, MemoryEnvironment},
};

const LEASE: Duration = Duration::from_secs(2);
/// The queue that is removed.
const NAME: &str = "target";
/// The jobs that a run lasts for; a queue beside keeps them.
const JOBS: u32 = 12;
/// The checks must find a bug within this many seeds.
const HUNT: u64 = 200;
/// More polls than the steps of a call at which it is dropped.
const POLLS: u32 = 14;

fn target() -> QueueName {
    QueueName::new(NAME).expect("a name")
}

fn config(attempts: u32) -> QueueConfig {
    ReliableConfig::default().with_max_attempts(attempts).into()
}

/// Awaits the call, or drops it after some polls.
async fn perhaps_dropped<T>(run: &Run, call: impl Future<Output = T> + Send) -> Option<T> {
    let mut left = match run.choose(3) {
        0 => run.choose(POLLS),
        _ => return Some(call.await),
    };
    let mut call = pin!(call);
    std::future::poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        Pin::as_mut(&mut call).poll(context).map(Some)
    })
    .await
}

/// Sleeps for some of a lease. Answers whether the run is over.
async fn is_over(run: &Run) -> bool {
    let pause = LEASE / 20 * (1 + run.choose(20));
    tokio::time::timeout(pause, run.shutdown()).await.is_ok()
}

/// Writes down what must not be.
async fn tell(run: &Run, what: String) {
    run.ledger("broken").apply(what).await;
}

async fn open(run: &Run) -> Result<AnyQueue> {
    let backend = run.queues().backend();
    match backend.open(&target(), &config(5)).await {
        // The operator has changed it.
        Err(error) if error.kind() == ErrorKind::ConfigMismatch => {
            let stored = backend.open_stored(&target()).await?;
            match stored {
                Some(StoredQueue { queue, .. }) => Ok(queue),
                None => backend.open(&target(), &config(5)).await,
            }
        }
        opened => opened,
    }
}

/// Pushes, leases and settles, also what it leased long ago.
async fn user(run: Run) -> Result<(), BoxError> {
    let mut receipts: Vec<Receipt> = Vec::new();
    let queue = loop {
        if let Some(Ok(queue)) = perhaps_dropped(&run, open(&run)).await {
            break queue;
        }
        if is_over(&run).await {
            return Ok(());
        }
    };
    let leasing: Arc<dyn Leasing> = queue.leasing().expect("it leases");
    let mut number = 0;
    while !is_over(&run).await {
        match run.choose(5) {
            0 | 1 => {
                number += 1;
                let body = format!(
                    "{number} of lane {} at {}",
                    run.lane(),
                    run.now().as_millis()
                );
                let key = format!("key {}", run.choose(3));
                let push = Push::new(body).with_header(Partitioned::KEY, key);
                let _ = perhaps_dropped(&run, queue.put(&[push])).await;
            }
            2 | 3 => {
                let max = NonZeroUsize::new(2).expect("not zero");
                let leased = perhaps_dropped(&run, leasing.lease(max, LEASE * 3)).await;
                if let Some(Ok(leased)) = leased {
                    receipts.extend(leased.deliveries.iter().map(|delivery| delivery.receipt));
                }
            }
            _ if receipts.is_empty() => {}
            _ => {
                let held = run.choose(receipts.len() as u32) as usize;
                let ack = [Settlement::ack(receipts[held])];
                let _ = perhaps_dropped(&run, leasing.settle(&ack)).await;
            }
        }
    }
    Ok(())
}

/// Removes and reconfigures the queue while others use it; in the end it removes the queue for good.
async fn operator(run: Run) -> Result<(), BoxError> {
    let removals = run.ledger("removals");
    let (target, backend) = (target(), run.queues().backend());
    while !is_over(&run).await {
        if run.choose(3) == 0 {
            let other = config(3 + run.choose(4));
            if let Some(Err(error)) =
                perhaps_dropped(&run, backend.reconfigure(&target, &other)).await
                && !error.is_transient()
            {
                tell(&run, format!("a reconfiguration fails: {error}")).await;
            }
            continue;
        }
        removals.apply("begins").await;
        let removed = backend.remove(&target, Removal::EvenIfLeased);
        match perhaps_dropped(&run, removed).await {
            Some(Ok(_)) => removals.apply("ends").await,
            Some(Err(error)) if !error.is_transient() => {
                tell(&run, format!("a removal fails: {error}")).await;
            }
            _ => {}
        }
    }
    // The others have seen the end, too, and make no more calls.
    run.sleep(LEASE * 4).await;
    let ten = NonZeroUsize::new(10).expect("not zero");
    let listed = async || -> Result<Vec<QueueName>> {
        let listed = backend.queues(None, ten).await?;
        Ok(listed
            .into_iter()
            .map(|info: QueueInfo| info.name)
            .collect())
    };
    let is_listed = listed().await?.contains(&target);
    let is_there = match backend.open_stored(&target).await {
        Ok(stored) => stored.is_some(),
        // Some of its parts are there.
        Err(error) if error.kind() == ErrorKind::Configuration => true,
        Err(error) => return Err(error.into()),
    };
    if is_listed != is_there {
        tell(&run, format!("listed: {is_listed}, there: {is_there}")).await;
    }
    backend.remove(&target, Removal::EvenIfLeased).await?;
    if listed().await?.contains(&target) || backend.open_stored(&target).await?.is_some() {
        tell(&run, "a removed queue is there".to_owned()).await;
    }
    Ok(())
}

/// The removals that are known to be done: the orders of their beginnings and ends.
fn removals(story: &Story) -> Vec<(u64, u64)> {
    let mut removals = Vec::new();
    let mut begun = BTreeMap::new();
    for effect in story
        .effects
        .iter()
        .filter(|effect| &*effect.ledger == "removals")
    {
        match &*effect.key {
            "begins" => drop(begun.insert(effect.lane, effect.order)),
            _ => removals.extend(
                begun
                    .remove(&effect.lane)
                    .map(|begun| (begun, effect.order)),
            ),
        }
    }
    removals
}

/// What was answered before a removal began, and what was asked for after it had ended.
fn survives(story: &Story) -> Result<(), String> {
    let removals = removals(story);
    let is_between = |earlier: u64, later: u64| {
        let mut between = removals.iter();
        between.any(|(begun, ended)| earlier < *begun && *ended < later)
    };
    let mut leased: BTreeMap<Receipt, u64> = BTreeMap::new();
    let mut pushed: BTreeMap<Bytes, u64> = BTreeMap::new();
    for record in story
        .history
        .records
        .iter()
        .filter(|record| record.queue.as_str() == NAME)
    {
        let Some(ended) = &record.ended else { continue };
        let Outcome::Ok(answer) = &ended.outcome else {
            continue;
        };
        match (&record.call, answer) {
            (Call::Push(batch), _) => {
                pushed.extend(batch.iter().map(|push| (push.body.clone(), ended.at.order)));
            }
            (_, Answer::Leased(answered)) => {
                for delivery in &answered.deliveries {
                    leased.insert(delivery.receipt, ended.at.order);
                }
            }
            _ => {}
        }
    }
    for record in story
        .history
        .records
        .iter()
        .filter(|record| record.queue.as_str() == NAME)
    {
        let Some(ended) = &record.ended else { continue };
        let (began, Outcome::Ok(answer)) = (record.began.order, &ended.outcome) else {
            continue;
        };
        match (&record.call, answer) {
            (Call::Settle(batch), Answer::Settled(settled)) => {
                for (settlement, settled) in batch.iter().zip(settled) {
                    let granted = leased.get(&settlement.receipt).copied();
                    if *settled == Settled::Done && granted.is_some_and(|at| is_between(at, began))
                    {
                        let receipt = settlement.receipt;
                        return Err(format!("{receipt:?} settles after the queue was removed"));
                    }
                }
            }
            (_, Answer::Leased(answered)) => {
                for delivery in &answered.deliveries {
                    let at = pushed.get(&delivery.body).copied();
                    if at.is_some_and(|at| is_between(at, began)) {
                        let body = String::from_utf8_lossy(&delivery.body);
                        return Err(format!("{body:?} is delivered after the queue was removed"));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn told(story: &Story) -> Result<(), String> {
    let mut broken = story
        .effects
        .iter()
        .filter(|effect| &*effect.ledger == "broken");
    broken
        .next()
        .map_or(Ok(()), |effect| Err(effect.key.clone()))
}

/// Takes the jobs of the queue beside.
async fn consumer(run: Run) -> Result<(), BoxError> {
    let jobs = loop {
        if let Ok(jobs) = run.queues().reliable_with::<u32>("beside", &beside()).await {
            break jobs;
        }
        if is_over(&run).await {
            return Ok(());
        }
    };
    while !is_over(&run).await {
        if let Ok(Some(job)) = jobs.receive(LEASE, LEASE / 2).await {
            let _ = job.ack().await;
        }
    }
    Ok(())
}

fn beside() -> ReliableConfig {
    ReliableConfig::default().with_max_attempts(1_000)
}

/// Jobs of a queue beside, which the faults last for, and those who use the other one.
fn scene(name: &str) -> Sim {
    sim(name)
        .reliable::<u32>("beside", beside())
        .producer(|jobs| async move {
            for job in 0..JOBS {
                jobs.push(&job).await?;
                tokio::time::sleep(LEASE / 2).await;
            }
            Ok(())
        })
        .and()
        .lane("consumer", consumer)
        .lane("user 1", user)
        .lane("user 2", user)
        .lane("operator", operator)
        .lease(LEASE)
        .patience(LEASE * 300)
        .check(check::that("R1", survives))
        .check(check::that("operators", told))
}

fn in_parts(backend: Arc<dyn Backend>) -> Arc<dyn Backend> {
    let parted = Partitioned::new(backend, 3).expect("a number that is allowed");
    Arc::new(parted.beginning_at(0))
}

fn memory() -> Arc<dyn Backend> {
    Arc::new(MemoryBackend::starting_at(EPOCH))
}

#[test]
fn a_queue_in_memory_is_removed_in_use() {
    scene("removals in memory").seeds(400).run();
}

#[test]
fn a_queue_of_parts_in_memory_is_removed_in_use() {
    let environment = || MemoryEnvironment::over(|| in_parts(memory())).without_truth();
    scene("removals of parts in memory")
        .backend(environment)
        .seeds(400)
        .run();
}

#[test]
fn a_queue_on_redis_is_removed_in_use() {
    let environment = || RedisEnvironment::start().expect("a redis-server");
    scene("removals on redis")
        .backend(environment)
        .seeds(60)
        .run();
}

/// Queues of three parts on a server; some of its scripts may be others.
fn parts_on_redis(replace: fn(&str, &str) -> Option<String>) -> RedisEnvironment {
    let builder = RedisEnvironment::builder().with_scripts(replace);
    let served = builder.serving(None, false, |backend, _| in_parts(Arc::new(backend)));
    served.start().expect("a redis-server")
}

#[test]
fn a_queue_of_parts_on_redis_is_removed_in_use() {
    let environment = || parts_on_redis(|_, _| None);
    scene("removals of parts on redis")
        .backend(environment)
        .seeds(60)
        .run();
}

/// The rule that a bug breaks, and how. Nothing is shrunk.
fn found(scene: &Sim) -> (String, String) {
    let found = (0..HUNT).find_map(|seed| {
        let story = scene.story(&Decisions::seeded(seed));
        let finding = scene.findings(&story).into_iter().next()?;
        Some((finding.rule.to_string(), format!("seed {seed}: {finding}")))
    });
    let found = found.expect("it is found");
    println!("{}", found.1);
    found
}

/// Adds no entry before a queue is made.
#[derive(Debug)]
struct ListsLate;

#[async_trait::async_trait]
impl Rewrite for ListsLate {
    async fn rewrite(&self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        let is_opening = request.words.last()?.ends_with(b" opening");
        if !is_opening || !request.words[0].eq_ignore_ascii_case(b"ZADD") {
            return None;
        }
        Some(steps.command(&["ZCARD", "qk:queues"]).await)
    }
}

#[test]
fn a_queue_that_is_made_without_a_mark_is_found() {
    const STORED: &str = "call('HSET', KEYS[1], 'config', ARGV[2])";
    let unmarked = |_: &str, text: &str| {
        let without =
            "call('HSET', KEYS[1], 'config', (string.gsub(ARGV[2], ' unlisted=%x+$', '')))";
        text.contains(STORED).then(|| text.replace(STORED, without))
    };
    let environment = move || {
        let builder = RedisEnvironment::builder().with_scripts(unmarked);
        let builder = builder.with_rewrite(ListsLate);
        builder.start().expect("a redis-server")
    };
    let (rule, how) = found(&scene("unmarked queues").backend(environment));
    assert_eq!(rule, "operators", "{how}");
}

/// A removal that leaves one part out.
#[derive(Debug)]
struct LeavesPart(Arc<dyn Backend>);

#[async_trait::async_trait]
impl Backend for LeavesPart {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        self.0.open(name, config).await
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        self.0.open_stored(name).await
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        self.0.reconfigure(name, config).await
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        match name.as_str().contains("--1of3-") {
            true => Ok(true),
            false => self.0.remove(name, removal).await,
        }
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        self.0.queues(after, limit).await
    }
}

#[test]
fn a_part_that_survives_a_removal_is_found() {
    let environment = || {
        let backend = || in_parts(Arc::new(LeavesPart(memory())));
        MemoryEnvironment::over(backend).without_truth()
    };
    let (rule, how) = found(&scene("surviving parts").backend(environment));
    assert!(["R1", "operators"].contains(&&*rule), "{how}");
}
