//! The leases of a history, and their ends.

use std::collections::BTreeMap;

use queue_core::{
    Extended, QueueName, Receipt, Settled, Settlement, Timestamp,
    call::{Answer, Call},
    millis_ceil,
};

use super::wording::deliveries;
use crate::{
    history::{CallEnd, CallId, History, Moment, Record},
    plan::Process,
};

/// A lease: its holder, and its deadline.
#[derive(Debug)]
pub(super) struct HeldLease {
    pub(super) process: Process,
    pub(super) queue: QueueName,
    pub(super) receipt: Receipt,
    pub(super) deadline: Timestamp,
    /// The call that leased it, and the place in the order at which it did.
    pub(super) began: (CallId, u64),
    /// The place in the order after which its deadline is known.
    pub(super) since: u64,
    /// The call that settled it, and the place in the order at which it did.
    pub(super) settled: Option<(CallId, u64)>,
}

/// The key has the queue, since two queues may give out the same receipt.
type HeldLeases = BTreeMap<(QueueName, Receipt), HeldLease>;

/// The leases that expired before the history ended.
pub(super) fn expired(history: &History) -> Vec<HeldLease> {
    let last = history.records.iter().map(|record| record.began.at).max();
    let last = last.unwrap_or_default();
    let mut leases = leases(history);
    leases.retain(|lease| lease.settled.is_none() && lease.deadline <= last);
    leases
}

/// All leases.
pub(super) fn leases(history: &History) -> Vec<HeldLease> {
    let mut held: HeldLeases = BTreeMap::new();
    let mut records: Vec<&Record> = history.records.iter().collect();
    records.sort_by_key(|record| effect(record).order);
    for record in &records {
        let at = effect(record);
        match &record.call {
            Call::Settle(batch) => settle(&mut held, record, batch),
            Call::SettleAndLease(batch, ..) => settle(&mut held, record, batch),
            Call::Extend(receipts, lease_time) => {
                for (index, receipt) in receipts.iter().enumerate() {
                    let extended = match record.answer() {
                        Some(Answer::Extended(each)) => {
                            each.get(index) == Some(&Extended::Extended)
                        }
                        _ => may_have_acted(record),
                    };
                    let named = (record.queue.clone(), receipt.receipt);
                    if let Some(lease) = held.get_mut(&named)
                        && extended
                        && at.at < lease.deadline
                        && lease.settled.is_none()
                    {
                        lease.deadline = at.at.plus_millis(millis_ceil(*lease_time));
                        lease.since = at.order;
                    }
                }
            }
            _ => {}
        }
        for delivery in deliveries(record) {
            let lease = HeldLease {
                process: record.process,
                queue: record.queue.clone(),
                receipt: delivery.receipt,
                deadline: at.at.plus_millis(millis_ceil(delivery.time_left)),
                began: (record.id, at.order),
                since: at.order,
                settled: None,
            };
            held.insert((record.queue.clone(), delivery.receipt), lease);
        }
    }
    held.into_values().collect()
}

fn settle(held: &mut HeldLeases, record: &Record, batch: &[Settlement]) {
    let Moment { at, order } = effect(record);
    for (index, settlement) in batch.iter().enumerate() {
        let ended = match record.answer() {
            Some(Answer::Settled(each) | Answer::SettledAndLeased(each, _)) => each
                .get(index)
                .is_some_and(|one| *one != Settled::LeaseLost),
            _ => may_have_acted(record),
        };
        let named = (record.queue.clone(), settlement.receipt);
        if let Some(lease) = held.get_mut(&named)
            && ended
            && at < lease.deadline
            && lease.settled.is_none()
        {
            lease.settled = Some((record.id, order));
        }
    }
}

/// The time at which a call took effect, as far as it is known.
pub(super) fn effect(record: &Record) -> Moment {
    let ended = record.ended.as_ref().map(|ended| ended.at);
    let executed = record.executed.first().copied();
    executed.or(ended).unwrap_or(record.began)
}

fn may_have_acted(record: &Record) -> bool {
    let refused = matches!(
        record.ended.as_ref().map(|ended| &ended.outcome),
        Some(CallEnd::NotApplied(..))
    );
    !refused && !record.executed.is_empty()
}
