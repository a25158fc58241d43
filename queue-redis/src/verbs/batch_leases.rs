//! Batch leases: leases of several messages that the server stores as one.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use queue_core::{Disposition, MessageId, Receipt, Settlement, Token};

use crate::frame;

/// The letter of a settlement that acks messages of a batch lease.
const ACKED: u8 = b'A';
/// The same letter for a batch lease that has its ids behind it.
const ACKED_WITH_IDS: u8 = b'B';

/// The fewest messages in a batch lease, as in `lua/leasing/fast_lease.lua`.
const SHORTEST: usize = 4;
/// The most batch leases to remember: consumers that settle nothing must not fill the memory.
const KNOWN: usize = 1024;
/// Number of calls that ask for no batch lease after a call that settled part of one.
const PAUSE: u32 = 16;

/// The batch leases that the calls of a queue's handle took, see `lua/lib/batch_leases.lua`.
///
/// One call that acks many messages of a batch lease costs the server as much as one that acks a few. Each partial ack
/// reads and writes the indexes of all acked messages. Any other operation on one of its messages splits the batch
/// lease up. So a handle whose callers ack few messages at a time, or split batch leases, asks for none for a while.
/// This state affects only speed.
#[derive(Debug, Default)]
pub(super) struct BatchLeases(Mutex<KnownLeases>);

#[derive(Debug, Default)]
struct KnownLeases {
    /// By the first token.
    known: BTreeMap<u64, KnownLease>,
    /// The number of coming calls that ask for no batch lease.
    pause: u32,
}

#[derive(Debug)]
struct KnownLease {
    lease: BatchLease,
    acked: usize,
    /// The number of calls that acked the `acked` messages.
    calls: usize,
}

/// Messages that were leased with consecutive tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchLease {
    /// The least id, and the first token.
    first: Receipt,
    count: usize,
    /// The ids, in the order of the tokens, if they are not consecutive.
    listed: Option<Arc<[MessageId]>>,
}

/// The acks of one call for one batch lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    lease: BatchLease,
    /// The indexes of the acked messages in the batch lease, in order.
    places: Vec<usize>,
}

/// Settlements in the order in which a call sends them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SplitSettlements {
    /// Acks of batch leases, which come first.
    pub(super) parts: Vec<Part>,
    /// The indexes of all settlements, in the order of the call.
    pub(super) numbers: Vec<usize>,
}

impl BatchLease {
    /// These messages, leased with consecutive tokens from `token` on; `None` if there are none.
    pub(super) fn new(token: Token, ids: impl Iterator<Item = MessageId>) -> Option<Self> {
        let ids: Arc<[MessageId]> = ids.collect();
        let (least, count) = (ids.iter().copied().min()?, ids.len());
        let consecutive = (least.get()..)
            .take(count)
            .eq(ids.iter().map(|id| id.get()));
        Some(Self {
            first: Receipt::new(least, token),
            count,
            listed: (!consecutive).then_some(ids),
        })
    }

    /// The index of this receipt in the batch lease.
    fn place_of(&self, receipt: Receipt) -> Option<usize> {
        let place = receipt.token.get().checked_sub(self.first.token.get())?;
        let place = usize::try_from(place)
            .ok()
            .filter(|place| *place < self.count)?;
        let id = match &self.listed {
            Some(ids) => ids.get(place)?.get(),
            None => self.first.id.get().checked_add(place as u64)?,
        };
        (id == receipt.id.get()).then_some(place)
    }

    /// The name of the batch lease on the server. Its first letter says whether the name contains the ids.
    fn name(&self) -> Vec<u8> {
        let ids = self.listed.as_deref().unwrap_or_default();
        let mut name = vec![if ids.is_empty() {
            ACKED
        } else {
            ACKED_WITH_IDS
        }];
        name.extend_from_slice(&frame::lease(self.first));
        name.push(byte(self.count));
        name.extend(ids.iter().flat_map(|id| frame::wide(id.get())));
        name
    }
}

/// A call leases at most 128 messages, so a byte suffices.
fn byte(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

impl Part {
    /// As a settlement: the batch lease and the indexes of the acked messages, one byte each from 128 on; no indexes if
    /// all are acked.
    pub(super) fn argument(&self) -> Vec<u8> {
        let mut argument = self.lease.name();
        if self.places.len() < self.lease.count {
            argument.extend(self.places.iter().map(|place| byte(128 + place)));
        }
        argument
    }
}

impl SplitSettlements {
    /// The settlements outside of batch leases.
    pub(super) fn singles<'a>(
        &'a self,
        settlements: &'a [Settlement],
    ) -> impl Iterator<Item = &'a Settlement> {
        let in_runs = self.parts.iter().map(|part| part.places.len()).sum();
        let singles = self.numbers.iter().skip(in_runs);
        singles.map(|number| &settlements[*number])
    }

    /// Reorders answers from the order of the call to the order of the caller.
    pub(super) fn restore<T>(&self, answers: Vec<T>) -> Vec<T> {
        if self.parts.is_empty() {
            return answers;
        }
        let mut numbered: Vec<_> = self.numbers.iter().copied().zip(answers).collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered.into_iter().map(|(_, answer)| answer).collect()
    }
}

impl KnownLeases {
    /// The batch lease of this receipt.
    fn find(&self, receipt: Receipt) -> Option<BatchLease> {
        let (_, known) = self.known.range(..=receipt.token.get()).next_back()?;
        known.lease.place_of(receipt)?;
        Some(known.lease.clone())
    }

    /// Forgets a batch lease that an operation other than a large ack touches.
    fn break_up(&mut self, lease: &BatchLease) {
        self.known.remove(&lease.first.token.get());
        self.pause = PAUSE;
    }

    /// Notes that a call acks `count` messages of a batch lease.
    fn ack(&mut self, lease: &BatchLease, count: usize) {
        let token = lease.first.token.get();
        let Some(known) = self.known.get_mut(&token) else {
            return;
        };
        known.acked += count;
        known.calls += 1;
        if known.calls * SHORTEST > lease.count {
            self.pause = PAUSE;
        }
        if known.acked >= lease.count {
            self.known.remove(&token);
        }
    }
}

impl BatchLeases {
    // No code panics half-way while it holds this lock.
    fn lock(&self) -> MutexGuard<'_, KnownLeases> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call for `max` messages should ask for a batch lease.
    pub(super) fn may_lease(&self, max: usize) -> bool {
        if max < SHORTEST {
            return false;
        }
        let mut state = self.lock();
        let may = state.pause == 0;
        state.pause = state.pause.saturating_sub(1);
        may
    }

    /// Notes a batch lease that the server has.
    pub(super) fn note(&self, lease: BatchLease) {
        let mut state = self.lock();
        let token = lease.first.token.get();
        let known = KnownLease {
            lease,
            acked: 0,
            calls: 0,
        };
        state.known.insert(token, known);
        if state.known.len() > KNOWN {
            state.known.pop_first();
        }
    }

    /// Notes that the server may still have the batch leases that a call acked.
    pub(super) fn note_again(&self, split: &SplitSettlements) {
        for part in &split.parts {
            self.note(part.lease.clone());
        }
    }

    /// Notes that these leases are used other than by acks.
    pub(super) fn break_up(&self, receipts: impl Iterator<Item = Receipt>) {
        let mut state = self.lock();
        for receipt in receipts {
            if let Some(lease) = state.find(receipt) {
                state.break_up(&lease);
            }
        }
    }

    /// The order in which a call sends these settlements.
    pub(super) fn split(&self, settlements: &[Settlement]) -> SplitSettlements {
        let mut split = SplitSettlements {
            parts: Vec::new(),
            numbers: (0..settlements.len()).collect(),
        };
        let mut state = self.lock();
        if state.known.is_empty() {
            return split;
        }
        // For each batch lease, pairs of an index in it and the number of the settlement.
        let mut touched: Vec<(BatchLease, Vec<(usize, usize)>)> = Vec::new();
        for (number, settlement) in settlements.iter().enumerate() {
            let receipt = settlement.receipt;
            let mut latest_first = touched.iter_mut().rev();
            let known =
                latest_first.find_map(|(lease, entries)| Some((lease.place_of(receipt)?, entries)));
            if let Some((place, entries)) = known {
                entries.push((place, number));
            } else if let Some(lease) = state.find(receipt) {
                let place = lease.place_of(receipt).unwrap_or(0);
                touched.push((lease, vec![(place, number)]));
            }
        }
        let mut dispositions = settlements.iter().map(|each| &each.disposition);
        if !dispositions.all(|each| *each == Disposition::Ack) {
            touched
                .drain(..)
                .for_each(|(lease, _)| state.break_up(&lease));
        }
        let (mut numbers, mut is_single) = (Vec::new(), vec![true; settlements.len()]);
        for (lease, mut entries) in touched {
            entries.sort_unstable();
            // Of two acks of the same message, the first counts, and the second is sent as a single settlement.
            entries.dedup_by_key(|(place, _)| *place);
            state.ack(&lease, entries.len());
            for (_, number) in &entries {
                numbers.push(*number);
                is_single[*number] = false;
            }
            let places = entries.into_iter().map(|(place, _)| place).collect();
            split.parts.push(Part { lease, places });
        }
        numbers.extend((0..settlements.len()).filter(|number| is_single[*number]));
        split.numbers = numbers;
        split
    }
}
