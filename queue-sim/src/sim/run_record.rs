use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use queue_core::{
    Cancelled, Counters, DeathReason, Leased, MessageId, Pushed, QueueConfig, QueueName, Settled,
    Settlement,
    call::{Answer, Call},
};

use super::ledger::Effect;
use crate::{
    engine::End,
    history::{CallEnd, Event, History},
    plan::{Plan, Process},
};

/// A run of a simulation, as its checks see it.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// The queues, and their configurations.
    pub queues: BTreeMap<QueueName, QueueConfig>,
    /// The queues that have a handler.
    pub handled: BTreeSet<String>,
    /// All calls of all processes, and the faults.
    pub history: History,
    /// The effects outside of the queues, in order.
    pub effects: Vec<Effect>,
    /// The ledgers, and the processes that opened them.
    pub ledgers: BTreeMap<Arc<str>, BTreeSet<Process>>,
    /// The processes' names.
    pub processes: BTreeMap<Process, String>,
    /// The time from the last fault until every queue was empty, except for dead letters; `None` if a queue never was.
    pub drained: Option<Duration>,
    /// The dead letters at the end, and their reasons.
    pub dead: BTreeMap<(QueueName, MessageId), DeathReason>,
    /// The leasing queues' counters at the end. They include effects that no process knows of, such as an ack whose
    /// reply was lost. Empty if the run did not come to its end.
    pub counters: BTreeMap<QueueName, Counters>,
    /// Processes that ended with an error or a panic, and the message.
    pub failures: Vec<(String, String)>,
    /// How the run ended.
    pub end: End,
    /// The decisions of the run.
    pub plan: Plan,
}

/// The fates of one queue's messages, as far as the processes know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fates {
    /// Messages that the producer knows to be accepted.
    pub accepted: BTreeSet<MessageId>,
    /// Messages in pushes whose outcome the producer does not know.
    pub unknown: u64,
    /// Delivered messages, and the number of their deliveries.
    pub deliveries: BTreeMap<MessageId, u32>,
    /// Messages that a worker knows to be acked.
    pub acked: BTreeSet<MessageId>,
    /// Messages that were cancelled, evicted or replaced.
    pub withdrawn: BTreeSet<MessageId>,
}

impl RunRecord {
    /// The fates of this queue's messages.
    pub fn fates(&self, queue: &QueueName) -> Fates {
        let mut fates = Fates::default();
        for record in &self.history.records {
            if record.queue != *queue {
                continue;
            }
            match record.ended.as_ref().map(|ended| &ended.outcome) {
                Some(CallEnd::Ok(answer)) => fates.learn(&record.call, answer),
                Some(CallEnd::NotApplied(..)) => {}
                Some(CallEnd::Unknown(..) | CallEnd::Dropped) | None => {
                    if let Call::Push(messages) = &record.call {
                        fates.unknown += messages.len() as u64;
                    }
                }
            }
        }
        fates
    }

    /// The number of times that each fault struck.
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        let mut faults = BTreeMap::new();
        for fault in self.history.faults() {
            *faults.entry(fault).or_default() += 1;
        }
        faults
    }

    /// The handlers' failures, in order.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        let events = self.history.events.iter();
        events.filter_map(|(_, event)| match event {
            Event::Failed(_, how) => Some(&**how),
            _ => None,
        })
    }

    /// Whether the run shows anything, even if no process knows it. One queue is enough. A queue with a handler needs
    /// an accepted message, and a message that was acked or that died, through faults, from expired leases alone. A
    /// queue without a handler needs an accepted message. A ring needs an item. A run without queues needs a call or a
    /// command.
    pub fn shows_something(&self) -> bool {
        if self.queues.is_empty() {
            return self.size() > 0;
        }
        let shows_work = |(queue, config): (&QueueName, &QueueConfig)| {
            if matches!(config, QueueConfig::Rotating(_)) {
                return self.has_inserted(queue);
            }
            let Some(counted) = self.counters.get(queue) else {
                return false;
            };
            let settled = counted.acked > 0 || self.has_expired(queue);
            counted.accepted > 0 && (settled || !self.handled.contains(queue.as_str()))
        };
        self.queues.iter().any(shows_work)
    }

    /// Whether a message was acked, even if no process knows it. True if no queue has a handler.
    pub fn is_acked(&self) -> bool {
        let mut counters = self.counters.iter();
        let acked = counters
            .any(|(queue, counted)| counted.acked > 0 && self.handled.contains(queue.as_str()));
        acked || self.handled.is_empty()
    }

    /// Whether a message of this queue died when its last lease expired, and not by a handler's
    /// verdict.
    fn has_expired(&self, queue: &QueueName) -> bool {
        let mut dead = self.dead.iter();
        dead.any(|((name, _), reason)| name == queue && *reason == DeathReason::Expired)
    }

    /// Whether a process put an item into this ring.
    fn has_inserted(&self, ring: &QueueName) -> bool {
        let mut records = self.history.records.iter();
        records.any(|record| {
            let answered =
                matches!(record.answer(), Some(Answer::Inserted(items)) if !items.is_empty());
            let executed = matches!(&record.call, Call::Insert(items) if !items.is_empty())
                && !record.executed.is_empty();
            record.queue == *ring && (answered || executed)
        })
    }

    /// The size of the run: calls, and commands beside the queues.
    pub fn size(&self) -> usize {
        let processes = self.history.records.iter();
        let calls = processes.filter(|record| self.processes.contains_key(&record.process));
        let events = self.history.events.iter();
        let commands = events.filter(|(_, event)| matches!(event, Event::Command(..)));
        calls.count() + commands.count()
    }
}

impl Fates {
    fn learn(&mut self, call: &Call, answer: &Answer) {
        match (call, answer) {
            (_, Answer::Pushed(pushed)) => {
                let new = pushed.iter().filter(|pushed| !pushed.is_duplicate());
                self.accepted.extend(new.filter_map(|pushed| pushed.id()));
                self.withdrawn
                    .extend(pushed.iter().filter_map(|pushed| match pushed {
                        Pushed::Evicted { evicted, .. } => Some(*evicted),
                        Pushed::Replaced { replaced, .. } => Some(*replaced),
                        _ => None,
                    }));
            }
            (_, Answer::Leased(leased)) => self.delivered(leased),
            (Call::Settle(batch), Answer::Settled(settled)) => self.settled(batch, settled),
            (Call::SettleAndLease(batch, ..), Answer::SettledAndLeased(settled, leased)) => {
                self.settled(batch, settled);
                self.delivered(leased);
            }
            (Call::Cancel(ids), Answer::Cancelled(cancelled)) => {
                let outcomes = ids.iter().zip(cancelled);
                let gone = outcomes.filter(|(_, how)| **how == Cancelled::Cancelled);
                self.withdrawn.extend(gone.map(|(id, _)| *id));
            }
            (Call::Resize(_), Answer::Ids(ids)) => self.withdrawn.extend(ids),
            _ => {}
        }
    }

    fn delivered(&mut self, leased: &Leased) {
        for delivery in &leased.deliveries {
            *self.deliveries.entry(delivery.id()).or_default() += 1;
        }
    }

    fn settled(&mut self, batch: &[Settlement], settled: &[Settled]) {
        for (settlement, settled) in batch.iter().zip(settled) {
            let ack = settlement.disposition.is_ack();
            if ack && *settled == Settled::Done {
                self.acked.insert(settlement.receipt.id);
            }
        }
    }
}
