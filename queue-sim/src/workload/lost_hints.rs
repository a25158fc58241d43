//! Moments at which a lost hint shows. One process makes a change of which others must get a hint. Then no process does
//! anything for so long that a process without the hint sleeps too long.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{Disposition, Extension, Leasing, Settlement};
use tokio::time;

use super::{actor::Actor, goals};
use crate::{plan::Chance, workload::Mode};

/// The chance that a process works on a message that it waited for, instead of going on at once.
const WORKS: Chance = 30;
/// The same chance for a process that only waits.
const AUDIENCE_WORKS: Chance = 75;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Works on a message, perhaps beyond its lease. Then perhaps reads or settles without taking anything: that call
/// reclaims expired leases, including its own, and others must get a hint.
pub(super) async fn work(actor: &Actor, queue: &dyn Leasing) {
    if !works(actor) {
        return;
    }
    let lease_time = actor.workload.lease_time;
    match actor.choose(4) {
        // So long that other processes' changes meanwhile show.
        0 => return keep_still(actor).await,
        1 => time::sleep(lease_time).await,
        2 => time::sleep(lease_time + MILLISECOND).await,
        _ => time::sleep(lease_time * 2).await,
    }
    actor.reached(goals::LATE_WORKER);
    match actor.choose(4) {
        0 => {
            let _ = queue.depth().await;
        }
        1 => {
            let _ = queue.counters().await;
        }
        2 => {
            let _ = queue.extend(&Extension::all(&actor.held), lease_time).await;
        }
        _ => {
            let late = actor.held.iter().copied().map(Settlement::ack);
            let _ = queue.settle(&late.collect::<Vec<_>>()).await;
        }
    }
    keep_still(actor).await;
}

/// Whether the process works now. It does so only in a mode where a lost hint shows.
pub(super) fn works(actor: &Actor) -> bool {
    let chance = match actor.is_audience {
        true => AUDIENCE_WORKS,
        false => WORKS,
    };
    actor.workload.mode == Mode::Waiting && actor.flip(chance)
}

/// Does nothing while other processes sleep.
pub(super) async fn keep_still(actor: &Actor) {
    time::sleep(actor.workload.longest() / 2).await;
}

/// If a process only waits, perhaps leaves it time to take the new message.
pub(super) async fn after_putting(actor: &Actor) {
    if actor.workload.audience > 0 && actor.flip(60) {
        keep_still(actor).await;
    }
}

/// Leases messages for long. When others have come to wait, puts the messages off to moments close
/// to each other. A waiting process that gets the hint learns of the first, takes it, and leaves the
/// next for others.
pub(super) async fn put_off(actor: &mut Actor, queue: &dyn Leasing) {
    let most = NonZeroUsize::MIN.saturating_add(1 + actor.choose(2) as usize);
    let long = actor.workload.longest();
    let Ok(leased) = queue.lease(most, long).await else {
        return;
    };
    actor.take(&leased.deliveries);
    if leased.deliveries.len() < 2 {
        return;
    }
    actor.reached(goals::PUT_OFF);
    time::sleep(long / 4).await;
    let lease_time = actor.workload.lease_time;
    let mut delay = lease_time * (1 + actor.choose(2));
    let mut batch = Vec::new();
    for delivery in &leased.deliveries {
        let disposition = match actor.choose(2) {
            0 => Disposition::Defer { delay },
            _ => Disposition::Retry {
                delay,
                reason: None,
            },
        };
        batch.push(Settlement::new(delivery.receipt, disposition));
        delay += [MILLISECOND, lease_time][actor.choose(2) as usize];
    }
    if queue.settle(&batch).await.is_ok() {
        actor.forget(&batch);
    }
    keep_still(actor).await;
}
