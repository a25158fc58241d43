//! The processes' calls to every queue that leases.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    sync::LazyLock,
    time::Duration,
};

use bytes::Bytes;
use queue_core::{
    Disposition, Extension, Feature, Holder, KeptResult, Leasing, LeasingExt, MessageId, Page,
    Peeked, Place, Receipt, Settled, Settlement, Standing, Token,
    limits::{self, MAX_STATE},
};
use tokio::time;

use super::{abandon::abandon, actor::Actor, goals, lost_hints, operators, verbs::Verb};
use crate::plan::Chance;

/// The largest purge that a call allows.
static MOST: LazyLock<NonZeroUsize> =
    LazyLock::new(|| NonZeroUsize::new(1_000).unwrap_or(NonZeroUsize::MIN));

/// How many of the latest messages a process finds at once.
const FOUND: usize = 20;

/// The chance that an extension ends a lease almost at once.
const SHORTENS: Chance = 40;
const SHORT: Duration = Duration::from_millis(1);

/// Does this verb on the queue. Returns false if not every leasing queue has it.
pub(super) async fn act(actor: &mut Actor, queue: &dyn Leasing, verb: Verb) {
    match verb {
        Verb::Take => {
            take(actor, queue).await;
        }
        Verb::Receive => receive(actor, queue).await,
        Verb::Settle => settle(actor, queue).await,
        Verb::SettleStale => settle_stale(actor, queue).await,
        Verb::SettleAndLease => settle_and_lease(actor, queue).await,
        Verb::Extend => extend(actor, queue).await,
        Verb::Read => read(actor, queue).await,
        Verb::DeadLetters => operators::dead_letters(actor, queue).await,
        Verb::Revive => operators::revive(actor, queue).await,
        Verb::Discard => operators::discard(actor, queue).await,
        Verb::Purge => {
            let max = if actor.flip(50) {
                *MOST
            } else {
                NonZeroUsize::MIN
            };
            let _ = queue.purge(max).await;
        }
        Verb::Pause => operators::pause(actor, queue).await,
        Verb::Reconfigure => operators::reconfigure(actor).await,
        Verb::PutOff => lost_hints::put_off(actor, queue).await,
        Verb::Cancel => cancel(actor, queue).await,
        Verb::Peek => peek(actor, queue).await,
        Verb::Find => find(actor, queue).await,
        Verb::Abandon => {
            // A wait without a poll gets no hint of a message that was there all the time.
            let next = take(actor, queue).await;
            // A caller that knows the time of the next change waits no longer than until then.
            let longest = actor.timeout().min(next.unwrap_or(Duration::MAX));
            abandon(actor, queue.wait_for_arrival(longest)).await;
            if actor.flip(50) {
                take(actor, queue).await;
            }
        }
        _ => {}
    }
}

fn max(actor: &Actor) -> NonZeroUsize {
    let few = 1 + actor.weigh(&[60, 20, 10, 10]) as usize;
    NonZeroUsize::new(actor.or_a_handful(few)).unwrap_or(NonZeroUsize::MIN)
}

/// Leases. Returns the time until something changes without a call, if the answer has it.
async fn take(actor: &mut Actor, queue: &dyn Leasing) -> Option<Duration> {
    let (max, lease_time) = (max(actor), actor.lease_time());
    let leased = queue.lease(max, lease_time).await.ok()?;
    actor.take(&leased.deliveries);
    leased.next
}

async fn receive(actor: &mut Actor, queue: &dyn Leasing) {
    let (max, lease_time, timeout) = (max(actor), actor.lease_time(), actor.timeout());
    let began = actor.now();
    // Waits like a worker, which passes its name. Most recipes have no place for the name.
    let names_holder = has(actor, Feature::Stored);
    let received = match holder(actor).filter(|_| names_holder) {
        None => queue.receive(max.get(), lease_time, timeout).await,
        named => {
            async {
                let (_, leased) = queue
                    .settle_and_lease(&[], max, lease_time, named.clone())
                    .await?;
                if !leased.is_empty() {
                    return Ok(leased.deliveries);
                }
                let longest = leased.next.unwrap_or(timeout).min(timeout);
                let waited = queue
                    .wait_to_lease(lease_time, named.clone(), longest)
                    .await?;
                if !waited.is_empty() {
                    return Ok(waited.deliveries);
                }
                let (_, leased) = queue.settle_and_lease(&[], max, lease_time, named).await?;
                Ok(leased.deliveries)
            }
            .await
        }
    };
    if let Ok(deliveries) = received {
        if !deliveries.is_empty() && actor.now() > began {
            actor.reached(goals::WORTHWHILE_WAIT);
        }
        actor.take(&deliveries);
        if !deliveries.is_empty() {
            lost_hints::work(actor, queue).await;
        }
    }
}

/// The disposition that ends a lease.
fn disposition(actor: &Actor) -> Disposition {
    match actor.weigh(&[46, 16, 14, 14, 10]) {
        1 => {
            let delay = actor.span();
            actor.expects(delay);
            Disposition::Retry {
                delay,
                reason: reason(actor),
            }
        }
        2 => {
            let delay = actor.span();
            actor.expects(delay);
            Disposition::Defer { delay }
        }
        3 => Disposition::Release,
        4 => Disposition::Bury {
            reason: "hopeless".to_owned(),
        },
        _ => ack(actor),
    }
}

/// An ack, perhaps with a result. That is not drawn, so that plans from before there were results still play the same
/// run.
fn ack(actor: &Actor) -> Disposition {
    let now = actor.now().as_millis();
    let kept = (now % 2 == 1).then(|| {
        KeptResult::new(
            format!("ready at {now}"),
            match now % 3 {
                0 => Duration::from_millis(1 + now % 40),
                _ => Duration::from_secs(60),
            },
        )
        .with_at_most(NonZeroU32::MIN.saturating_add((now % 5 / 2) as u32))
    });
    match kept.filter(|_| has(actor, Feature::Results)) {
        Some(kept) => Disposition::AckWith(Box::new(kept)),
        None => Disposition::Ack,
    }
}

fn has(actor: &Actor, feature: Feature) -> bool {
    let guarantees = actor.backend.guarantees(actor.workload.kind);
    guarantees.has(feature)
}

/// A state to store with a message (L21): none, a text that differs with time, the longest one, or none in place of the
/// last one; see [`ack`].
fn state(actor: &Actor) -> Option<Bytes> {
    let now = actor.now().as_millis();
    let stored = match now % 8 {
        0 | 3 | 6 => Some(Bytes::from(format!("step {now}"))),
        5 if now.is_multiple_of(31) => Some(Bytes::from(vec![b's'; MAX_STATE])),
        5 => Some(Bytes::new()),
        _ => None,
    };
    stored.filter(|_| has(actor, Feature::State))
}

/// A settlement of this lease, perhaps with a state.
fn settlement(actor: &Actor, receipt: Receipt, disposition: Disposition) -> Settlement {
    let state = state(actor).filter(|_| !disposition.is_ack());
    let mut settlement = Settlement::new(receipt, disposition);
    settlement.state = state.map(Box::new);
    settlement
}

/// Extensions of these leases, perhaps with progress and states; see [`ack`].
fn extensions(actor: &Actor, receipts: &[Receipt]) -> Vec<Extension> {
    let now = actor.now().as_millis();
    let reports = !now.is_multiple_of(3) && has(actor, Feature::Progress);
    let progress = reports.then(|| Bytes::from(format!("page {now}")));
    let with_progress = |receipt: &Receipt| {
        let mut extension = Extension::from(*receipt);
        extension.progress = progress.clone();
        extension.state = state(actor);
        extension
    };
    receipts.iter().map(with_progress).collect()
}

/// The reason of a retry: none, or a text that differs with time. It is not drawn, so that plans from before there were
/// reasons still play the same run.
fn reason(actor: &Actor) -> Option<String> {
    let now = actor.now().as_millis();
    (!now.is_multiple_of(3)).then(|| format!("no paper at {now}"))
}

/// Settlements of held messages, now and then one of them twice.
fn settlements(actor: &Actor) -> Vec<Settlement> {
    if actor.held.is_empty() {
        return Vec::new();
    }
    let first = actor.choose(actor.held.len() as u32) as usize;
    let few = 1 + actor.draw(3, 40) as usize;
    let count = actor.or_a_handful(few);
    if count > few {
        // All get the same disposition, so that as many messages fall due again, or die, as one call reclaims.
        let all = disposition(actor);
        let held = actor.held.iter().take(count);
        return held
            .map(|receipt| settlement(actor, *receipt, all.clone()))
            .collect();
    }
    let mut batch = Vec::with_capacity(count + 1);
    for receipt in actor.held.iter().skip(first).take(count) {
        batch.push(settlement(actor, *receipt, disposition(actor)));
    }
    if actor.flip(10) {
        batch.push(settlement(actor, batch[0].receipt, disposition(actor)));
    }
    batch
}

async fn settle(actor: &mut Actor, queue: &dyn Leasing) {
    if actor.held.is_empty() {
        take(actor, queue).await;
        if actor.held.is_empty() {
            return;
        }
    }
    if actor.flip(35) {
        actor.sleep().await;
    }
    let batch = settlements(actor);
    end(actor, queue, &batch).await;
}

/// Settles, and perhaps settles again if the outcome is unknown.
async fn end(actor: &mut Actor, queue: &dyn Leasing, batch: &[Settlement]) {
    if actor.insist(|| queue.settle(batch)).await.is_some() {
        actor.forget(batch);
    }
}

/// A receipt that may be another process's, stale, or made up.
pub(super) fn stale(actor: &Actor) -> Option<Receipt> {
    let receipt = actor.pool.receipt(actor.choose(actor.pool.receipts()))?;
    let Receipt { id, token } = receipt;
    Some(match actor.weigh(&[70, 8, 8, 14]) {
        1 => Receipt::new(id, Token::new(token.get() + 1)),
        2 => Receipt::new(id, Token::new(token.get() - 1)),
        3 => {
            let other = actor.pool.receipt(actor.choose(actor.pool.receipts()))?;
            Receipt::new(other.id, token)
        }
        _ => receipt,
    })
}

async fn settle_stale(actor: &mut Actor, queue: &dyn Leasing) {
    if let Some(receipt) = stale(actor) {
        let batch = [settlement(actor, receipt, disposition(actor))];
        end(actor, queue, &batch).await;
    }
}

async fn settle_and_lease(actor: &mut Actor, queue: &dyn Leasing) {
    let batch = settlements(actor);
    let (max, lease_time) = (max(actor), actor.lease_time());
    if let Ok((_, leased)) = queue
        .settle_and_lease(&batch, max, lease_time, holder(actor))
        .await
    {
        actor.forget(&batch);
        actor.take(&leased.deliveries);
    }
}

/// The name that a process passes when it leases: none, or its number. It is not drawn, so that plans from before there
/// were names still play the same run.
pub(super) fn holder(actor: &Actor) -> Option<Holder> {
    let names = !actor.now().as_millis().is_multiple_of(3);
    let name = format!("process {}", actor.process);
    Holder::new(name).ok().filter(|_| names)
}

async fn extend(actor: &mut Actor, queue: &dyn Leasing) {
    let receipts: Vec<Receipt> = if actor.held.is_empty() || actor.flip(30) {
        stale(actor).into_iter().collect()
    } else {
        let first = actor.choose(actor.held.len() as u32) as usize;
        let few = 1 + actor.draw(2, 30) as usize;
        let count = actor.or_a_handful(few);
        actor.held.iter().skip(first).take(count).copied().collect()
    };
    if receipts.is_empty() {
        return;
    }
    if actor.flip(30) {
        actor.sleep().await;
    }
    let shortens = actor.flip(SHORTENS);
    let lease_time = if shortens { SHORT } else { actor.lease_time() };
    actor.expects(lease_time);
    let extended = queue
        .extend(&extensions(actor, &receipts), lease_time)
        .await;
    if shortens && extended.is_ok() && actor.flip(75) {
        // Between the new deadline and the old one.
        time::sleep(lease_time).await;
        let batch: Vec<_> = receipts
            .iter()
            .map(|receipt| settlement(actor, *receipt, disposition(actor)))
            .collect();
        end(actor, queue, &batch).await;
    }
}

async fn read(actor: &Actor, queue: &dyn Leasing) {
    if actor.flip(50) {
        let _ = queue.counters().await;
    } else {
        let _ = queue.depth().await;
    }
}

async fn cancel(actor: &Actor, queue: &dyn Leasing) {
    if actor.flip(25) {
        actor.sleep().await;
    }
    let mut ids = actor.ids();
    if actor.flip(25) {
        // An id that no message has had, as far as this process knows.
        let latest = actor.pool.latest(1).pop().map_or(0, MessageId::get);
        let made_up = [latest + 1, 0, latest + 1_000][actor.choose(3) as usize];
        ids[0] = MessageId::new(made_up);
    }
    let _ = queue.cancel(&ids).await;
}

/// Gives messages another due time: messages that a peek at the delayed shows, or any.
pub(super) async fn reschedule(actor: &Actor, queue: &dyn Leasing) {
    if actor.flip(25) {
        actor.sleep().await;
    }
    let mut ids = actor.ids();
    if actor.flip(60) {
        let page = Page::first(actor.or_a_handful(10));
        let delayed = queue.peek(Place::Delayed, page).await;
        let delayed = delayed.map(|page| page.entries).unwrap_or_default();
        let shown: Vec<_> = delayed.iter().map(|peeked| peeked.message.id).collect();
        if !shown.is_empty() {
            ids.truncate(1);
            ids.extend(shown.into_iter().skip(actor.choose(2) as usize));
            ids.truncate(limits::MAX_BATCH);
        }
    }
    let due = actor.due();
    actor.insist(|| queue.reschedule(&ids, due)).await;
}

/// Finds out what became of messages; now and then waits for the end of one.
async fn find(actor: &mut Actor, queue: &dyn Leasing) {
    let mut ids = actor.ids();
    if actor.flip(60) {
        ids.extend(actor.pool.latest(FOUND));
    }
    if actor.flip(10) {
        let latest = actor.pool.latest(1).pop().map_or(0, MessageId::get);
        let made_up = [latest + 1, 0, latest + 1_000][actor.choose(3) as usize];
        ids.push(MessageId::new(made_up));
    }
    if actor.flip(30) {
        let (id, timeout) = (ids[0], actor.timeout());
        abandon(actor, queue.wait_for_end(id, timeout)).await;
    }
    let _ = queue.find(&ids).await;
}

/// Looks at the messages of one place, page by page, perhaps from the end of an earlier page.
/// Meanwhile other processes take and settle them, and so does this process.
async fn peek(actor: &mut Actor, queue: &dyn Leasing) {
    let place = [Place::Ready, Place::Delayed, Place::Leased][actor.choose(3) as usize];
    if place == Place::Leased && actor.flip(50) {
        settle_and_lease(actor, queue).await;
    }
    let limit = actor.page_limit();
    let mut page = match actor.peek_end {
        Some((of, cursor)) if of == place && actor.flip(50) => Page::after(cursor, limit),
        _ => Page::first(limit),
    };
    for _ in 0..operators::PAGES_AT_ONCE {
        let Ok(seen) = queue.peek(place, page).await else {
            return;
        };
        if page.after.is_some() {
            actor.reached(goals::SECOND_PAGE_OF_PEEK);
        }
        stop(actor, queue, &seen.entries).await;
        actor.peek_end = seen.next.map(|cursor| (place, cursor));
        let Some(cursor) = seen.next else {
            return;
        };
        match actor.draw(4, 40) {
            1 => return,
            2 => drop(take(actor, queue).await),
            3 => settle(actor, queue).await,
            _ => {}
        }
        page = Page::after(cursor, limit);
    }
}

/// Perhaps ends the first lease that a peek showed, like an operator that stops a job.
async fn stop(actor: &Actor, queue: &dyn Leasing, seen: &[Peeked]) {
    let leased = seen.iter().find_map(|peeked| match &peeked.standing {
        Standing::Leased { receipt, .. } => Some(*receipt),
        _ => None,
    });
    let Some(receipt) = leased.filter(|_| actor.flip(35)) else {
        return;
    };
    let stop = match actor.choose(2) {
        0 => Settlement::bury(receipt, "stopped"),
        _ => Settlement::ack(receipt),
    };
    if let Ok(answers) = queue.settle(&[stop]).await
        && answers != [Settled::LeaseLost]
    {
        actor.reached(goals::STOPPED);
    }
}
