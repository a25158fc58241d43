//! The leases that no settlement ended.

use std::collections::BTreeMap;

use queue_core::{
    Extended, QueueName, Receipt, Settled, Settlement, Timestamp,
    call::{Answer, Call},
    millis_ceil,
};

use super::wording::deliveries;
use crate::{
    history::{History, Moment, Outcome, Record},
    plan::Lane,
};

/// A lease that no settlement ended: its holder, and its deadline.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) lane: Lane,
    pub(crate) queue: QueueName,
    pub(crate) receipt: Receipt,
    pub(crate) began: Moment,
    /// The time of its last extension, or its beginning.
    pub(crate) extended: Moment,
    pub(crate) deadline: Timestamp,
}

/// The key has the queue, since two queues may give out the same receipt.
type Held = BTreeMap<(QueueName, Receipt), Lease>;

/// The leases that expired before the history ended.
pub(super) fn expired(history: &History) -> Vec<Lease> {
    let began = history.records.iter().map(|record| record.began.at);
    let last = began.max().unwrap_or_default();
    let mut leases = unsettled(history);
    leases.retain(|lease| lease.deadline <= last);
    leases
}

/// The leases that no settlement ended, expired or not.
pub(crate) fn unsettled(history: &History) -> Vec<Lease> {
    let mut held: Held = BTreeMap::new();
    let mut records: Vec<&Record> = history.records.iter().collect();
    records.sort_by_key(|record| effect(record).order);
    for record in &records {
        let at = effect(record);
        match &record.call {
            Call::Settle(batch) => settle(&mut held, record, batch),
            Call::Turn(batch, ..) => settle(&mut held, record, batch),
            Call::Extend(receipts, ttl) => {
                for (index, receipt) in receipts.iter().enumerate() {
                    let extended = match record.answer() {
                        Some(Answer::Extended(each)) => {
                            each.get(index) == Some(&Extended::Extended)
                        }
                        _ => may_have_acted(record),
                    };
                    let named = (record.queue.clone(), *receipt);
                    if let Some(lease) = held.get_mut(&named)
                        && extended
                        && at.at < lease.deadline
                    {
                        lease.deadline = at.at.plus_millis(millis_ceil(*ttl));
                        lease.extended = at;
                    }
                }
            }
            _ => {}
        }
        for delivery in deliveries(record) {
            let lease = Lease {
                lane: record.lane,
                queue: record.queue.clone(),
                receipt: delivery.receipt,
                began: at,
                extended: at,
                deadline: at.at.plus_millis(millis_ceil(delivery.time_left)),
            };
            held.insert((record.queue.clone(), delivery.receipt), lease);
        }
    }
    held.into_values().collect()
}

fn settle(held: &mut Held, record: &Record, batch: &[Settlement]) {
    let at = effect(record).at;
    for (index, settlement) in batch.iter().enumerate() {
        let ended = match record.answer() {
            Some(Answer::Settled(each) | Answer::Turned(each, _)) => each
                .get(index)
                .is_some_and(|one| *one != Settled::LeaseLost),
            _ => may_have_acted(record),
        };
        let live = |lease: &Lease| at < lease.deadline;
        let named = (record.queue.clone(), settlement.receipt);
        if ended && held.get(&named).is_some_and(live) {
            held.remove(&named);
        }
    }
}

/// The time at which a call took effect, as well as it is known.
pub(super) fn effect(record: &Record) -> Moment {
    let ended = record.ended.as_ref().map(|ended| ended.at);
    let executed = record.executed.first().copied();
    executed.or(ended).unwrap_or(record.began)
}

fn may_have_acted(record: &Record) -> bool {
    let refused = matches!(
        record.ended.as_ref().map(|ended| &ended.outcome),
        Some(Outcome::NotApplied(..))
    );
    !refused && !record.executed.is_empty()
}
