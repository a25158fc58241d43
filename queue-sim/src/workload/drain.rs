//! The end of every run: the faults are over, and the queue is emptied.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    AnyQueue, GroupedQueueExt, Leasing, LeasingExt, OnDeath, Page, QueueConfig, Result,
    RotatingQueue, RotatingQueueExt, Settlement,
};
use tokio::time::Instant;

use super::Driver;
use crate::{history::Event, plan::Process};

/// The most polls of a drain: enough for every message many times over.
const MOST_POLLS: usize = 2_000;

/// The extra time to become empty for a queue that is polled, or whose leases a checker ends.
const POLLS: Duration = Duration::from_secs(1);

/// Ends the faults. Then leases and acks until no message is ready, delayed or leased, which must happen in time (L7).
/// On a ring, it visits every item once. At the end it reads what the checks need.
pub(crate) async fn drain(driver: Driver) {
    driver.world.heal().await;
    let journal = &driver.context.journal;
    journal.note(Event::Healed);
    let polls = driver.fit.as_ref().map_or(Duration::ZERO, |_| POLLS);
    let limit = Instant::now() + driver.workload.drains_within() + driver.world.behind() + polls;
    driver.context.decisions.enter(driver.process, 1);
    // Only a process of the same name finds the messages that a process left under its name.
    if driver.fit.as_ref().is_some_and(|fit| fit.has("lease")) {
        for process in 1..driver.process.0 {
            let again = Driver {
                process: Process(process),
                ..driver.clone()
            };
            let (queue, _) = again.connect().await;
            if let Some(leasing) = queue.leasing() {
                let broken = empty(&again, &queue, &*leasing, limit).await;
                if let Some((rule, message)) = broken {
                    journal.note(Event::Broken(rule, message));
                }
            }
        }
    }
    let (queue, _) = driver.connect().await;
    let broken = match (&queue, queue.leasing()) {
        (AnyQueue::Rotating(ring), _) => rotate_once(&**ring, limit).await,
        (_, Some(leasing)) if driver.fit.as_ref().is_some_and(|fit| !fit.has("lease")) => {
            let _ = leasing.depth().await;
            None
        }
        (_, Some(leasing)) => empty(&driver, &queue, &*leasing, limit).await,
        _ => None,
    };
    if let Some((rule, message)) = broken {
        journal.note(Event::Broken(rule, message));
    }
    if let AnyQueue::Bounded(queue) = &queue {
        let _ = queue.capacity().await;
    }
}

type Broken = Option<(&'static str, String)>;

/// Ends what keeps messages: a pause of the queue, those of groups, and rates by rules.
async fn resume(any: &AnyQueue, leasing: &dyn Leasing) -> Result<()> {
    leasing.resume().await?;
    let AnyQueue::Grouped(queue) = any else {
        return Ok(());
    };
    let mut page = Page::first(1_000);
    loop {
        let groups = queue.groups(page).await?;
        for group in groups.entries {
            if group.is_paused() {
                queue.resume_group(group.key.clone()).await?;
            }
            if group.rate.is_some() && group.rule_ends.is_some() {
                queue.end_rule(group.key).await?;
            }
        }
        match groups.next {
            Some(next) => page = Page::after(next, 1_000),
            None => return Ok(()),
        }
    }
}

async fn empty(driver: &Driver, any: &AnyQueue, queue: &dyn Leasing, limit: Instant) -> Broken {
    let lease_time = driver.workload.lease_time;
    let mut broken = None;
    let parks = matches!(
        &driver.workload.config,
        QueueConfig::Grouped(config)
            if config.on_death == OnDeath::Park || driver.workload.reconfigures()
    );
    let mut failure = resume(any, queue).await.err();
    for _ in 0..MOST_POLLS {
        let depth = match queue.depth().await {
            Ok(depth) if depth.occupied() == 0 => break,
            Ok(depth) => depth,
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        let left = limit.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let message = format!("without faults, this is not done in time: {depth:?}");
            broken = Some(("L7", message));
            break;
        }
        let patience = if parks { left.min(lease_time) } else { left };
        let deliveries = match queue.receive(16, lease_time, patience).await {
            Ok(deliveries) => deliveries,
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        if deliveries.is_empty() {
            // A lease that was left behind has expired, say, and its message died.
            if parks {
                failure = resume(any, queue).await.err().or(failure);
            }
            continue;
        }
        let acks: Vec<_> = deliveries
            .iter()
            .map(|delivery| Settlement::ack(delivery.receipt))
            .collect();
        if let Err(error) = queue.settle(&acks).await {
            failure = Some(error);
            break;
        }
    }
    if let Some(error) = failure {
        let message = format!("a call failed without any fault: {error}");
        broken = Some(("progress", message));
    }
    // The checks read these counters as the queue's end.
    let _ = queue.counters().await;
    let _ = queue.depth().await;
    let _ = queue.dead_letters(Page::first(1_000)).await;
    broken
}

async fn rotate_once(ring: &dyn RotatingQueue, limit: Instant) -> Broken {
    let listed = match ring.list(Page::first(1_000)).await {
        Ok(page) => page.entries,
        Err(error) => return Some(("progress", format!("a list without faults: {error}"))),
    };
    let mut left: Vec<_> = listed.iter().map(|item| item.id).collect();
    for _ in 0..MOST_POLLS {
        if left.is_empty() {
            break;
        }
        let wait = limit.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return Some(("T3", format!("not visited in a whole rotation: {left:?}")));
        }
        let max = NonZeroUsize::new(left.len().min(128)).map_or(1, NonZeroUsize::get);
        match ring.visit(max, wait.max(Duration::from_millis(1))).await {
            Ok(items) => left.retain(|id| items.iter().all(|item| item.id != *id)),
            Err(error) => return Some(("progress", format!("a visit without faults: {error}"))),
        }
    }
    let _ = ring.list(Page::first(1_000)).await;
    let _ = ring.len().await;
    None
}
