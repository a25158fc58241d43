//! Leases that the server keeps as one each.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use queue_core::{Disposition, MessageId, Receipt, Settlement, Token};

use crate::frame;

/// As many messages make a run at least, as in `lua/leasing/usual_turn.lua`.
const SHORTEST: usize = 4;
/// As many runs are known at most: those of consumers that settle nothing are forgotten one day.
const KNOWN: usize = 1024;
/// As many turns do without runs after one that settled a part of a run.
const PAUSE: u32 = 16;

/// The runs that the calls of a queue's handle leased, see `lua/shared/runs.lua`.
///
/// Acks of many messages of a run in one call cost the server as much as a few. For each call that acks a part,
/// it reads and writes the places of all that are acked; and whatever else is done with a message of a run breaks
/// the run up. So a handle whose callers ack few at a time, or break runs up, asks for no runs for a while.
/// Nothing but speed depends on what is known here.
#[derive(Debug, Default)]
pub(super) struct BatchLeases(Mutex<RunsState>);

#[derive(Debug, Default)]
struct RunsState {
    /// By the first token.
    known: BTreeMap<u64, KnownRun>,
    /// Turns to come that ask for no run.
    pause: u32,
}

#[derive(Debug)]
struct KnownRun {
    run: BatchLease,
    acked: usize,
    /// So many calls acked these.
    calls: usize,
}

/// Messages that were leased with consecutive tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchLease {
    /// The least id, and the first token.
    first: Receipt,
    count: usize,
    /// The ids, in the order of the tokens, where they are not consecutive.
    listed: Option<Arc<[MessageId]>>,
}

/// What a call acks of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    run: BatchLease,
    /// The places of these messages in the run, in order.
    places: Vec<usize>,
}

/// Settlements in the order in which a call sends them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SplitSettlements {
    /// Acks of runs; they come first.
    pub(super) parts: Vec<Part>,
    /// The numbers of all settlements.
    pub(super) numbers: Vec<usize>,
}

impl BatchLease {
    /// These messages, leased with consecutive tokens from this one on; `None` if there are none.
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

    /// The place of this receipt in the run.
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

    /// The name by which the server knows it, behind a letter that tells whether its ids are in there.
    fn name(&self) -> Vec<u8> {
        let ids = self.listed.as_deref().unwrap_or_default();
        let mut name = vec![if ids.is_empty() { b'A' } else { b'B' }];
        name.extend_from_slice(&frame::lease(self.first));
        name.push(byte(self.count));
        name.extend(ids.iter().flat_map(|id| frame::wide(id.get())));
        name
    }
}

/// A call leases 128 messages at most.
fn byte(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

impl Part {
    /// As a settlement: the run, and the places, one byte each from 128 on; none if all are acked.
    pub(super) fn argument(&self) -> Vec<u8> {
        let mut argument = self.run.name();
        if self.places.len() < self.run.count {
            argument.extend(self.places.iter().map(|place| byte(128 + place)));
        }
        argument
    }
}

impl SplitSettlements {
    /// Those of the settlements that are not of runs.
    pub(super) fn singles<'a>(
        &'a self,
        settlements: &'a [Settlement],
    ) -> impl Iterator<Item = &'a Settlement> {
        let in_runs = self.parts.iter().map(|part| part.places.len()).sum();
        let singles = self.numbers.iter().skip(in_runs);
        singles.map(|number| &settlements[*number])
    }

    /// These answers, which are in the order of the call, in that of the caller.
    pub(super) fn restore<T>(&self, answers: Vec<T>) -> Vec<T> {
        if self.parts.is_empty() {
            return answers;
        }
        let mut numbered: Vec<_> = self.numbers.iter().copied().zip(answers).collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered.into_iter().map(|(_, answer)| answer).collect()
    }
}

impl RunsState {
    /// The run of this receipt.
    fn find(&self, receipt: Receipt) -> Option<BatchLease> {
        let (_, known) = self.known.range(..=receipt.token.get()).next_back()?;
        known.run.place_of(receipt)?;
        Some(known.run.clone())
    }

    /// Forgets a run, to which something else happens than acks of many.
    fn break_up(&mut self, run: &BatchLease) {
        self.known.remove(&run.first.token.get());
        self.pause = PAUSE;
    }

    /// Notes that a call acks so many messages of a run.
    fn ack(&mut self, run: &BatchLease, count: usize) {
        let token = run.first.token.get();
        let Some(known) = self.known.get_mut(&token) else {
            return;
        };
        known.acked += count;
        known.calls += 1;
        if known.calls * SHORTEST > run.count {
            self.pause = PAUSE;
        }
        if known.acked >= run.count {
            self.known.remove(&token);
        }
    }
}

impl BatchLeases {
    // Nothing in here panics half-way.
    fn lock(&self) -> MutexGuard<'_, RunsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a turn for so many shall ask for a run.
    pub(super) fn may_lease(&self, max: usize) -> bool {
        if max < SHORTEST {
            return false;
        }
        let mut state = self.lock();
        let may = state.pause == 0;
        state.pause = state.pause.saturating_sub(1);
        may
    }

    /// Notes this one, which the server has.
    pub(super) fn note(&self, run: BatchLease) {
        let mut state = self.lock();
        let token = run.first.token.get();
        let known = KnownRun {
            run,
            acked: 0,
            calls: 0,
        };
        state.known.insert(token, known);
        if state.known.len() > KNOWN {
            state.known.pop_first();
        }
    }

    /// Notes that the server may still have the runs that a call acked.
    pub(super) fn note_again(&self, order: &SplitSettlements) {
        for part in &order.parts {
            self.note(part.run.clone());
        }
    }

    /// Notes that something else than acks happens to these.
    pub(super) fn part(&self, receipts: impl Iterator<Item = Receipt>) {
        let mut state = self.lock();
        for receipt in receipts {
            if let Some(run) = state.find(receipt) {
                state.break_up(&run);
            }
        }
    }

    /// How a call sends these settlements.
    pub(super) fn order(&self, settlements: &[Settlement]) -> SplitSettlements {
        let mut order = SplitSettlements {
            parts: Vec::new(),
            numbers: (0..settlements.len()).collect(),
        };
        let mut state = self.lock();
        if state.known.is_empty() {
            return order;
        }
        // For each run that is touched, the places in it and the numbers of their settlements.
        let mut touched: Vec<(BatchLease, Vec<(usize, usize)>)> = Vec::new();
        for (number, settlement) in settlements.iter().enumerate() {
            let receipt = settlement.receipt;
            let mut latest_first = touched.iter_mut().rev();
            let known =
                latest_first.find_map(|(run, entries)| Some((run.place_of(receipt)?, entries)));
            if let Some((place, entries)) = known {
                entries.push((place, number));
            } else if let Some(run) = state.find(receipt) {
                let place = run.place_of(receipt).unwrap_or(0);
                touched.push((run, vec![(place, number)]));
            }
        }
        let mut dispositions = settlements.iter().map(|each| &each.disposition);
        if !dispositions.all(|each| *each == Disposition::Ack) {
            touched.drain(..).for_each(|(run, _)| state.break_up(&run));
        }
        let (mut numbers, mut is_single) = (Vec::new(), vec![true; settlements.len()]);
        for (run, mut entries) in touched {
            entries.sort_unstable();
            // Of two acks of the same message, the first counts, and the other goes by itself.
            entries.dedup_by_key(|(place, _)| *place);
            state.ack(&run, entries.len());
            for (_, number) in &entries {
                numbers.push(*number);
                is_single[*number] = false;
            }
            let places = entries.into_iter().map(|(place, _)| place).collect();
            order.parts.push(Part { run, places });
        }
        numbers.extend((0..settlements.len()).filter(|number| is_single[*number]));
        order.numbers = numbers;
        order
    }
}
