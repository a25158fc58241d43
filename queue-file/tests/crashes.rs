//! Losses of power at any operation of a simulated disk, also while the journal is read back, while a state is stored and
//! while old records go: what was answered is there, and nothing else. Each planted bug is found.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use queue_core::{
    Backend, LeasingExt, MessageId, Outcome, Page, Place, Push, Receipt, ReliableConfig,
    ReliableQueue, Settled, Settlement, Timestamp,
};
use queue_file::{
    FileBackend, SyncMode,
    planted::{Bug, plant},
    simulated::SimulatedDisk,
};
use tokio::time::advance;

const SEGMENT: u64 = 16 * 1024;
const LEASE: Duration = Duration::from_secs(60);

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// What the callers know.
#[derive(Default)]
struct Ledger {
    /// The bodies of pushes, and the ids of those that were answered.
    pushed: BTreeMap<String, Option<MessageId>>,
    pushes: u64,
    /// The leases that were answered.
    leased: BTreeMap<MessageId, Receipt>,
    acked: BTreeSet<MessageId>,
    /// Acks of which nobody knows whether they took effect.
    perhaps_acked: BTreeSet<MessageId>,
    highest_token: u64,
    latest: Timestamp,
}

/// Checks an error of a disk that is off, or has failed.
fn check(error: &queue_core::Error) {
    let kind = error.kind();
    assert_eq!(kind, queue_core::ErrorKind::Unavailable, "{error:?}");
}

impl Ledger {
    /// Returns true if the push was answered.
    async fn push(&mut self, queue: &dyn ReliableQueue, random: &mut Random) -> bool {
        let body = format!("{}-{}", self.pushes, "x".repeat(random.below(300) as usize));
        self.pushes += 1;
        let entry = self.pushed.entry(body.clone()).or_default();
        match queue.push(&[Push::new(body.clone())]).await {
            Ok(pushed) => {
                *entry = pushed[0].id();
                true
            }
            Err(error) => {
                check(&error);
                if error.outcome() == Outcome::NotApplied {
                    self.pushed.remove(&body);
                }
                false
            }
        }
    }

    async fn lease(&mut self, queue: &dyn ReliableQueue, random: &mut Random) {
        let max = 1 + random.below(4) as usize;
        match queue.lease(max.try_into().unwrap(), LEASE).await {
            Ok(leased) => {
                for delivery in leased.deliveries {
                    let token = delivery.receipt.token.get();
                    assert!(token > self.highest_token, "a token of a lost history");
                    self.highest_token = token;
                    assert!(
                        !self.acked.contains(&delivery.id()),
                        "L3: {}",
                        delivery.id()
                    );
                    self.leased.insert(delivery.id(), delivery.receipt);
                }
            }
            Err(error) => check(&error),
        }
    }

    async fn ack(&mut self, queue: &dyn ReliableQueue) {
        let Some((id, receipt)) = self.leased.pop_first() else {
            return;
        };
        match queue.settle_one(Settlement::ack(receipt)).await {
            Ok(Settled::Done) => {
                self.acked.insert(id);
            }
            Ok(other) => panic!("the lease on {id} was answered, and is not over: {other:?}"),
            Err(error) => {
                check(&error);
                match error.outcome() {
                    Outcome::NotApplied => drop(self.leased.insert(id, receipt)),
                    Outcome::Unknown => drop(self.perhaps_acked.insert(id)),
                }
            }
        }
    }

    /// Compares the queue with what the callers know.
    async fn compare(&mut self, backend: &FileBackend, queue: &dyn ReliableQueue) {
        let now = backend.now().await.unwrap();
        assert!(
            now >= self.latest,
            "the time went back: {now:?} after {:?}",
            self.latest
        );
        let mut present = BTreeMap::new();
        for place in [Place::Ready, Place::Delayed, Place::Leased] {
            let mut page = Page::first(1_000);
            loop {
                let shown = queue.peek(place, page).await.unwrap();
                for peeked in shown.entries {
                    let body = String::from_utf8(peeked.message.body.to_vec()).unwrap();
                    present.insert(peeked.message.id, body);
                }
                match shown.next {
                    Some(next) => page = Page::after(next, 1_000),
                    None => break,
                }
            }
        }
        for (body, id) in &self.pushed {
            let Some(id) = id else { continue };
            if self.acked.contains(id) {
                assert!(!present.contains_key(id), "L3: {id} was acked and is back");
            } else if !self.perhaps_acked.contains(id) {
                assert_eq!(present.get(id), Some(body), "{id} was answered and is lost");
            }
        }
        for (id, body) in &present {
            let known = self.pushed.get(body);
            let id_agrees = known.is_some_and(|known| known.is_none_or(|known| known == *id));
            assert!(id_agrees, "nobody pushed {id}: {body}");
        }
        let counters = queue.counters().await.unwrap();
        let occupied = counters.depth.occupied();
        assert_eq!(counters.accepted, occupied + counters.acked, "L5");
        assert_eq!(occupied, present.len() as u64);
        // From now on it is known of these.
        self.perhaps_acked.clear();
        let pushed = std::mem::take(&mut self.pushed);
        let here: BTreeMap<&String, MessageId> =
            present.iter().map(|(id, body)| (body, *id)).collect();
        self.pushed = pushed
            .into_keys()
            .filter_map(|body| here.get(&body).map(|id| (body, Some(*id))))
            .collect();
        self.leased.retain(|id, _| present.contains_key(id));
    }
}

async fn open(disk: &SimulatedDisk) -> queue_core::Result<(FileBackend, Arc<dyn ReliableQueue>)> {
    let backend = FileBackend::with_segments(Arc::new(disk.clone()), SyncMode::Always, SEGMENT)?;
    let queue = backend
        .open_reliable(&"jobs".parse()?, &ReliableConfig::default())
        .await?;
    Ok((backend, queue))
}

/// What goes wrong in a life of the disk.
#[derive(Clone, Copy)]
enum Fault {
    Crash,
    FailedSync,
}

/// Lives of a queue, one after another, each ended by a fault at a random place.
async fn lives(seed: u64, fault: Fault) {
    let mut random = Random(seed);
    let mut ledger = Ledger::default();
    let mut disk = SimulatedDisk::new(seed);
    for _ in 0..6 {
        match fault {
            Fault::Crash => disk.crash_at(disk.operations() + 1 + random.below(600)),
            Fault::FailedSync => disk.fail_sync_after(5 + random.below(200)),
        }
        // A crash may come while it opens: then it opens again.
        let opened = loop {
            match open(&disk).await {
                Ok(opened) => break opened,
                Err(error) => {
                    check(&error);
                    disk = disk.restart();
                    if random.below(2) == 0 {
                        disk.crash_at(disk.operations() + 1 + random.below(8));
                    }
                }
            }
        };
        let (backend, queue) = opened;
        if !disk.is_off() {
            ledger.compare(&backend, &*queue).await;
        }
        for _ in 0..300 {
            advance(Duration::from_millis(random.below(3))).await;
            match random.below(10) {
                0..=3 => {
                    let now = backend.now().await.unwrap();
                    if ledger.push(&*queue, &mut random).await {
                        ledger.latest = now;
                    }
                }
                4 | 5 => ledger.lease(&*queue, &mut random).await,
                _ => ledger.ack(&*queue).await,
            }
            if disk.is_off()
                || backend
                    .facts(&"jobs".parse().unwrap())
                    .await
                    .unwrap()
                    .server
                    .unwrap()
                    .refuses_writes
                    .is_some()
            {
                break;
            }
        }
        disk = disk.restart();
    }
    let (backend, queue) = open(&disk).await.unwrap();
    ledger.compare(&backend, &*queue).await;
}

fn play(seed: u64, fault: Fault) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(lives(seed, fault));
}

/// Whether a seed finds the planted bug.
fn is_found(bug: Bug, fault: Fault) -> bool {
    plant(Some(bug));
    let found = (0..200).any(|seed| catch_unwind(AssertUnwindSafe(|| play(seed, fault))).is_err());
    plant(None);
    found
}

#[test]
fn a_loss_of_power_at_any_operation_loses_nothing_that_was_answered() {
    (0..250).for_each(|seed| play(seed, Fault::Crash));
}

#[test]
fn a_failed_sync_ends_the_handle_and_nothing_that_was_answered_is_lost() {
    (0..100).for_each(|seed| play(seed, Fault::FailedSync));
}

#[test]
fn an_answer_before_the_sync_is_found() {
    assert!(is_found(Bug::AnswersBeforeTheSync, Fault::Crash));
}

#[test]
fn a_stored_state_without_its_last_record_is_found() {
    assert!(is_found(Bug::StateDropsARecord, Fault::Crash));
}

#[test]
fn a_trim_too_far_is_found() {
    assert!(is_found(Bug::TrimsTooFar, Fault::Crash));
}

#[test]
fn a_clock_that_goes_back_at_a_restart_is_found() {
    assert!(is_found(Bug::TimeGoesBack, Fault::Crash));
}

#[test]
fn a_failed_sync_that_is_retried_is_found() {
    assert!(is_found(Bug::FailedSyncIsRetried, Fault::FailedSync));
}
