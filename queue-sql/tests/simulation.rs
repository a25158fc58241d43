//! Producers, relays and handlers on a database in memory and queues in memory, in virtual time. Between any two steps a
//! process may crash, wait, or lose a reply; a ledger accounts for each row. `QUEUE_SQL_SEEDS=5000` plays more runs, and
//! `QUEUE_SQL_SEED=7` one run again.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    future::{Future, pending},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    Error, ErrorKind, Layered, LeasingExt, Outcome, Push, QueueName, Queues, ReliableConfig,
    Result,
    call::{Answer, Call, Layer, Service},
};
use queue_memory::MemoryBackend;
use queue_sql::{Inbox, InboxKey, MemoryDatabase, Outbox, PlantedBug, Relay};
use tokio::{sync::Notify, time::sleep};

const SEEDS: u64 = 300;
/// From then on nothing fails.
const CALM: Duration = Duration::from_secs(15);
/// Sooner than a relay scans all ids again, which would repair a cursor that skips.
const END: Duration = Duration::from_secs(45);
const LEASE: Duration = Duration::from_secs(2);
const ORDERS: u64 = 8;

/// A bug of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bug {
    None,
    Relay(PlantedBug),
    /// The wake-up comes before the commit.
    EarlyNotify,
    /// The same, and the relay does not poll.
    EarlyNotifyAlone,
    /// The handler has its effect, and marks it in another transaction.
    MarkApart,
}

/// Numbers of a seed.
struct Chance(Mutex<u64>);

impl Chance {
    fn below(&self, bound: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

#[derive(Default)]
struct Ledger {
    /// Rows of transactions that committed.
    committed: BTreeSet<(u64, u64)>,
    effects: BTreeMap<(u64, u64), u64>,
    /// The ids under which a row was delivered.
    messages: BTreeMap<(u64, u64), BTreeSet<u64>>,
    next_order: u64,
    crashes: u64,
    lost_replies: u64,
}

struct World {
    chance: Chance,
    ledger: Mutex<Ledger>,
    database: MemoryDatabase,
    backend: Arc<MemoryBackend>,
    start: tokio::time::Instant,
    /// Of a thousand steps.
    crashes: u64,
    losses: u64,
    bug: Bug,
}

/// One life of a process.
#[derive(Clone)]
struct Process {
    world: Arc<World>,
    crashed: Arc<Notify>,
}

impl Process {
    /// A point between two steps.
    async fn step(&self, name: &'static str) -> Result<()> {
        let world = &self.world;
        let chance = world.chance.below(1_000);
        if world.start.elapsed() < CALM {
            if chance < world.crashes {
                world.ledger.lock().unwrap().crashes += 1;
                self.crashed.notify_one();
                pending::<()>().await;
            }
            if chance >= 1_000 - world.losses {
                world.ledger.lock().unwrap().lost_replies += 1;
                let lost = Error::new(ErrorKind::Unavailable, name).with_outcome(Outcome::Unknown);
                return Err(lost);
            }
        }
        match world.chance.below(8) {
            0 => sleep(Duration::from_millis(world.chance.below(300))).await,
            1..4 => tokio::task::yield_now().await,
            _ => {}
        }
        Ok(())
    }

    fn database(&self) -> MemoryDatabase {
        let process = self.clone();
        let database = self.world.database.clone().with_steps(move |name| {
            let process = process.clone();
            async move { process.step(name).await }
        });
        match self.world.bug {
            Bug::EarlyNotify | Bug::EarlyNotifyAlone => database.notifying_early(),
            _ => database,
        }
    }

    fn queues(&self) -> Queues {
        let backend = Arc::clone(&self.world.backend) as Arc<dyn queue_core::Backend>;
        Queues::new(Layered::new(Network(self.clone()), backend))
    }
}

/// Requests and replies that get lost.
struct Network(Process);

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Network")
    }
}

#[async_trait]
impl Layer for Network {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        if call.is_wait() {
            return queue.call(call).await;
        }
        self.0.step("request").await?;
        let answer = queue.call(call).await;
        self.0.step("reply").await?;
        answer
    }
}

fn config() -> ReliableConfig {
    ReliableConfig::default().with_max_attempts(10_000)
}

fn outbox() -> Outbox {
    Outbox::new().queue("mails", config()).unwrap()
}

async fn produce(process: Process) -> Result<()> {
    loop {
        let world = &process.world;
        let order = {
            let mut ledger = world.ledger.lock().unwrap();
            ledger.next_order += 1;
            ledger.next_order
        };
        if order > ORDERS {
            return Ok(());
        }
        // A lost reply leaves the outcome to the ledger.
        let _ = place(&process, order).await;
    }
}

async fn place(process: &Process, order: u64) -> Result<()> {
    let world = &process.world;
    let (outbox, mut tx) = (outbox(), process.database().begin());
    let rows = 1 + world.chance.below(5);
    let body = |row| Push::new(format!("{order} {row}"));
    outbox.push(&mut tx, "mails", body(0)).await?;
    // Others commit meanwhile, with greater ids.
    sleep(Duration::from_millis(world.chance.below(3_000))).await;
    outbox
        .push_many(&mut tx, "mails", (1..rows).map(body))
        .await?;
    if world.chance.below(4) == 0 {
        return Ok(());
    }
    let ledger = Arc::clone(world);
    tx.at_commit(move || {
        let mut ledger = ledger.ledger.lock().unwrap();
        ledger.committed.extend((0..rows).map(|row| (order, row)));
    });
    tx.commit().await
}

async fn relay(process: Process) -> Result<()> {
    let world = &process.world;
    let relay = Relay::new(&outbox(), process.database(), process.queues());
    let relay = relay.rows(u32::try_from(1 + world.chance.below(6)).unwrap());
    let relay = match world.bug {
        Bug::Relay(bug) => relay.plant(bug),
        Bug::EarlyNotifyAlone => relay.plant(PlantedBug::NoPoll),
        _ => relay,
    };
    relay.run_until(pending()).await.map(drop)
}

async fn work(process: Process) -> Result<()> {
    let queues = process.queues();
    let mails = queues.reliable("mails").max_attempts(10_000);
    let mails = mails.open::<String>().await?;
    loop {
        let received = mails
            .queue()
            .receive(1, LEASE, Duration::from_secs(1))
            .await?;
        for delivery in received {
            let text = String::from_utf8(delivery.body.to_vec()).unwrap();
            let (order, row) = text.split_once(' ').unwrap();
            let row: (u64, u64) = (order.parse().unwrap(), row.parse().unwrap());
            let id = delivery.id().get();
            {
                let mut ledger = process.world.ledger.lock().unwrap();
                ledger.messages.entry(row).or_default().insert(id);
            }
            handle(&process, InboxKey::of("mails", &delivery), row).await?;
            mails.queue().ack(delivery.receipt).await?;
        }
    }
}

async fn handle(process: &Process, key: InboxKey, row: (u64, u64)) -> Result<()> {
    let (inbox, database) = (Inbox::new(), process.database());
    let mut tx = database.begin();
    let world = Arc::clone(&process.world);
    let effect = move || {
        *world.ledger.lock().unwrap().effects.entry(row).or_default() += 1;
    };
    if inbox.first(&mut tx, key).await? {
        if process.world.bug == Bug::MarkApart {
            let mut other = database.begin();
            other.at_commit(effect);
            other.commit().await?;
        } else {
            tx.at_commit(effect);
        }
    }
    tx.commit().await
}

/// Runs a process, and again after a crash or an error.
async fn live<F: Future<Output = Result<()>>>(world: Arc<World>, main: impl Fn(Process) -> F) {
    loop {
        let crashed = Arc::new(Notify::new());
        let process = Process {
            world: Arc::clone(&world),
            crashed: Arc::clone(&crashed),
        };
        tokio::select! {
            biased;
            () = crashed.notified() => {}
            ended = main(process) => if ended.is_ok() { return },
        }
        sleep(Duration::from_millis(world.chance.below(1_000))).await;
    }
}

/// Plays a run. Returns the first promise that it breaks, and its crashes and lost replies.
fn play(seed: u64, bug: Bug) -> (Option<String>, u64, u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let chance = Chance(Mutex::new(seed));
        let (crashes, losses) = (10 * chance.below(3), 15 * chance.below(3));
        let relays = 1 + chance.below(3);
        let world = Arc::new(World {
            chance,
            ledger: Mutex::default(),
            database: MemoryDatabase::new(),
            backend: Arc::new(MemoryBackend::new()),
            start: tokio::time::Instant::now(),
            crashes,
            losses,
            bug,
        });
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..2 {
            tasks.spawn(live(Arc::clone(&world), produce));
            tasks.spawn(live(Arc::clone(&world), work));
        }
        for _ in 0..relays {
            tasks.spawn(live(Arc::clone(&world), relay));
        }
        sleep(END).await;
        tasks.shutdown().await;
        let ledger = world.ledger.lock().unwrap();
        (judge(&ledger), ledger.crashes, ledger.lost_replies)
    })
}

fn judge(ledger: &Ledger) -> Option<String> {
    for row in &ledger.committed {
        if !ledger.messages.contains_key(row) {
            return Some(format!("arrives: row {row:?} is committed, and never came"));
        }
    }
    for (row, ids) in &ledger.messages {
        if !ledger.committed.contains(row) {
            return Some(format!(
                "rolled back: row {row:?} is not committed, and came"
            ));
        }
        if ids.len() > 1 {
            return Some(format!("one message: row {row:?} came as {ids:?}"));
        }
        let next = (row.0, row.1 + 1);
        if ledger.messages.get(&next).is_some_and(|later| later < ids) {
            return Some(format!("order: row {next:?} is before row {row:?}"));
        }
    }
    let effects = ledger
        .messages
        .keys()
        .map(|row| (row, ledger.effects.get(row)));
    let mut wrong = effects.filter(|(_, count)| *count != Some(&1));
    let (row, count) = wrong.next()?;
    Some(format!("once: row {row:?} had {count:?} effects"))
}

fn seeds() -> std::ops::Range<u64> {
    let number = |name| {
        env::var(name)
            .ok()
            .map(|text: String| text.parse().unwrap())
    };
    match number("QUEUE_SQL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("QUEUE_SQL_SEEDS").unwrap_or(SEEDS),
    }
}

#[test]
fn outbox_and_inbox_keep_their_promises_through_crashes_and_lost_replies() {
    let (mut crashes, mut losses) = (0, 0);
    for seed in seeds() {
        let (broken, crashed, lost) = play(seed, Bug::None);
        assert_eq!(broken, None, "QUEUE_SQL_SEED={seed}");
        crashes += crashed;
        losses += lost;
    }
    println!("{crashes} crashes, {losses} lost replies");
    assert!(
        seeds().count() == 1 || (crashes > 50 && losses > 50),
        "{crashes} {losses}"
    );
}

#[test]
fn a_run_is_the_same_each_time() {
    for seed in 0..10 {
        assert_eq!(play(seed, Bug::None), play(seed, Bug::None), "{seed}");
    }
}

#[test]
fn a_wake_up_before_the_commit_costs_a_poll() {
    for seed in 0..50 {
        assert_eq!(play(seed, Bug::EarlyNotify).0, None, "{seed}");
    }
}

#[test]
fn each_planted_bug_is_found() {
    for (bug, promise) in [
        (Bug::Relay(PlantedBug::DeleteFirst), "arrives"),
        (Bug::Relay(PlantedBug::NoKey), "one message"),
        (Bug::Relay(PlantedBug::SkipsLateCommits), "arrives"),
        (Bug::EarlyNotifyAlone, "arrives"),
        (Bug::MarkApart, "once"),
    ] {
        let mut found = (0..SEEDS).filter_map(|seed| play(seed, bug).0);
        assert!(
            found.any(|found| found.starts_with(promise)),
            "{bug:?} never breaks {promise:?}"
        );
    }
}
