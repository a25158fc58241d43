//! Held messages: a worker leased them once, and has extended the lease ever since.

use std::{collections::BTreeMap, fmt, time::Duration};

use queue_core::{
    Extended, MessageId, QueueName, Receipt, Settlement, Timestamp,
    call::{Answer, Call},
};

use super::RunRecord;
use crate::{history::Moment, plan::Process};

/// Of the unacked messages that a worker still held after the last fault, the one held the longest.
#[derive(Debug)]
pub(super) struct HeldJobs<'a> {
    queue: &'a QueueName,
    id: MessageId,
    process: &'a str,
    time: Duration,
}

#[derive(Debug, Clone, Copy)]
struct HeldLease {
    process: Process,
    since: Timestamp,
    /// The time of its last extension.
    until: Moment,
}

impl<'a> HeldJobs<'a> {
    pub(super) fn longest(run: &'a RunRecord) -> Option<Self> {
        let healed = run.history.healed()?;
        let mut leases: BTreeMap<(&QueueName, Receipt), HeldLease> = BTreeMap::new();
        for record in &run.history.records {
            let queue = &record.queue;
            let until = record.ended.as_ref().map_or(record.began, |ended| ended.at);
            if let (Call::Extend(receipts, _), Some(Answer::Extended(each))) =
                (&record.call, record.answer())
            {
                for (receipt, how) in receipts.iter().zip(each) {
                    let lease = leases.get_mut(&(queue, receipt.receipt));
                    if let Some(lease) = lease.filter(|_| *how == Extended::Extended) {
                        lease.until = until;
                    }
                }
            }
            let acked: &[Settlement] = match &record.call {
                Call::Settle(batch) | Call::SettleAndLease(batch, ..) => batch,
                _ => &[],
            };
            for settlement in acked {
                if settlement.disposition.is_ack() {
                    leases.remove(&(queue, settlement.receipt));
                }
            }
            let leased = match record.answer() {
                Some(Answer::Leased(leased) | Answer::SettledAndLeased(_, leased)) => leased,
                _ => continue,
            };
            for delivery in &leased.deliveries {
                let lease = HeldLease {
                    process: record.process,
                    since: until.at,
                    until,
                };
                leases.insert((queue, delivery.receipt), lease);
            }
        }
        let held = leases.into_iter();
        let held = held.filter(|(_, lease)| lease.until.order > healed);
        let held = held.map(|((queue, receipt), lease)| Self {
            queue,
            id: receipt.id,
            process: run
                .processes
                .get(&lease.process)
                .map_or("somebody", |process| process),
            time: lease.until.at.since(lease.since),
        });
        let held = held.filter(|held: &Self| !held.time.is_zero());
        held.max_by_key(|held| held.time)
    }
}

impl fmt::Display for HeldJobs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            queue,
            id,
            process,
            time,
        } = self;
        write!(
            f,
            "{process} held {queue} {id} for {time:?}, extending its lease"
        )
    }
}
