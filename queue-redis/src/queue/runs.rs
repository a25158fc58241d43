//! Leases that the server keeps as one each.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use queue_core::{Disposition, Receipt, Settlement};

use crate::frame;

/// As many messages make a run at least, as in `lua/leasing/usual_turn.lua`.
const SHORTEST: usize = 4;
/// As many runs are known at most: those of consumers that settle nothing are forgotten one day.
const KNOWN: usize = 1024;
/// As many turns do without runs after one that settled a part of a run.
const PAUSE: u32 = 16;

/// The runs that the calls of a queue's handle leased, see `lua/shared/runs.lua`.
///
/// Acks of a whole run in one call cost the server as much as a few. All else that is done with a message of a
/// run costs more than it would without, since the server then breaks the run up. So a handle whose callers
/// settle parts of runs asks for none for a while. Nothing but speed depends on what is known here.
#[derive(Debug, Default)]
pub(super) struct Runs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By the first token.
    known: BTreeMap<u64, Run>,
    /// Turns to come that ask for no run.
    pause: u32,
}

/// Messages with consecutive ids, leased with consecutive tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: Receipt,
    pub(super) count: usize,
}

/// Settlements in the order in which a call sends them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Acked as a whole; their settlements come first.
    pub(super) runs: Vec<Run>,
    /// The numbers of all settlements.
    pub(super) numbers: Vec<usize>,
}

impl Run {
    /// The place of this receipt in the run.
    fn place_of(&self, receipt: Receipt) -> Option<usize> {
        let place = receipt.token.get().checked_sub(self.first.token.get())?;
        let id = self.first.id.get().checked_add(place)?;
        let place = usize::try_from(place).ok()?;
        (place < self.count && id == receipt.id.get()).then_some(place)
    }

    /// As a settlement that acks all of it.
    pub(super) fn acked(&self) -> [u8; 16] {
        let mut argument = [b'A'; 16];
        argument[1..15].copy_from_slice(&frame::lease(self.first));
        // A call leases 128 messages at most.
        argument[15] = u8::try_from(self.count).unwrap_or(u8::MAX);
        argument
    }
}

impl Order {
    /// Those of the settlements that are not of runs.
    pub(super) fn singles<'a>(
        &'a self,
        settlements: &'a [Settlement],
    ) -> impl Iterator<Item = &'a Settlement> {
        let in_runs = self.runs.iter().map(|run| run.count).sum();
        let singles = self.numbers.iter().skip(in_runs);
        singles.map(|number| &settlements[*number])
    }

    /// These answers, which are in the order of the call, in that of the caller.
    pub(super) fn restore<T>(&self, answers: Vec<T>) -> Vec<T> {
        if self.runs.is_empty() {
            return answers;
        }
        let mut numbered: Vec<_> = self.numbers.iter().copied().zip(answers).collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered.into_iter().map(|(_, answer)| answer).collect()
    }
}

impl State {
    /// The run of this receipt, which is not known any more then.
    fn take(&mut self, receipt: Receipt) -> Option<Run> {
        let (token, run) = self.known.range(..=receipt.token.get()).next_back()?;
        let (token, run) = (*token, *run);
        run.place_of(receipt)?;
        self.known.remove(&token)
    }
}

impl Runs {
    // Nothing in here panics half-way.
    fn lock(&self) -> MutexGuard<'_, State> {
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

    /// Notes these, which the server has.
    pub(super) fn note(&self, runs: &[Run]) {
        if runs.is_empty() {
            return;
        }
        let mut state = self.lock();
        for run in runs {
            state.known.insert(run.first.token.get(), *run);
        }
        while state.known.len() > KNOWN {
            state.known.pop_first();
        }
    }

    /// Notes that something else than acks happens to these.
    pub(super) fn part(&self, receipts: impl Iterator<Item = Receipt>) {
        let mut state = self.lock();
        for receipt in receipts {
            if state.known.is_empty() {
                break;
            }
            if state.take(receipt).is_some() {
                state.pause = PAUSE;
            }
        }
    }

    /// How a call sends these settlements. The runs that they touch are not known any more.
    pub(super) fn order(&self, settlements: &[Settlement]) -> Order {
        let mut order = Order {
            runs: Vec::new(),
            numbers: (0..settlements.len()).collect(),
        };
        let mut state = self.lock();
        if state.known.is_empty() {
            return order;
        }
        // For each run that is touched, the places in it and the numbers of their settlements.
        let mut touched: Vec<(Run, Vec<(usize, usize)>)> = Vec::new();
        for (number, settlement) in settlements.iter().enumerate() {
            let receipt = settlement.receipt;
            let mut latest_first = touched.iter_mut().rev();
            let known =
                latest_first.find_map(|(run, entries)| Some((run.place_of(receipt)?, entries)));
            if let Some((place, entries)) = known {
                entries.push((place, number));
            } else if let Some(run) = state.take(receipt) {
                let place = run.place_of(receipt).unwrap_or(0);
                touched.push((run, vec![(place, number)]));
            }
        }
        let mut dispositions = settlements.iter().map(|each| &each.disposition);
        let only_acks = dispositions.all(|each| *each == Disposition::Ack);
        let (mut in_runs, mut is_single) = (Vec::new(), vec![true; settlements.len()]);
        for (run, mut entries) in touched {
            entries.sort_unstable();
            entries.dedup_by_key(|(place, _)| *place);
            if entries.len() == run.count && only_acks {
                order.runs.push(run);
                for (_, number) in entries {
                    in_runs.push(number);
                    is_single[number] = false;
                }
            } else {
                state.pause = PAUSE;
            }
        }
        order.numbers.retain(|number| is_single[*number]);
        order.numbers.splice(0..0, in_runs);
        order
    }
}

#[cfg(test)]
mod tests {
    use queue_core::{MessageId, Token};

    use super::*;

    fn receipt(id: u64, token: u64) -> Receipt {
        Receipt::new(MessageId::new(id), Token::new(token))
    }

    fn run(id: u64, token: u64, count: usize) -> Run {
        Run {
            first: receipt(id, token),
            count,
        }
    }

    fn acks(receipts: impl IntoIterator<Item = (u64, u64)>) -> Vec<Settlement> {
        let acks = receipts.into_iter();
        acks.map(|(id, token)| Settlement::ack(receipt(id, token)))
            .collect()
    }

    fn runs(known: &[Run]) -> Runs {
        let runs = Runs::default();
        runs.note(known);
        runs
    }

    #[test]
    fn a_whole_run_goes_first_whatever_its_order_and_the_answers_come_back_in_the_callers() {
        let runs = runs(&[run(5, 100, 4), run(20, 104, 4)]);
        let settlements = acks([(9, 50), (7, 102), (5, 100), (8, 103), (9, 51), (6, 101)]);
        let order = runs.order(&settlements);
        assert_eq!(order.runs, [run(5, 100, 4)]);
        assert_eq!(order.numbers, [2, 5, 1, 3, 0, 4]);
        assert_eq!(
            order.restore(vec!["5", "6", "7", "8", "a", "b"]),
            ["a", "7", "5", "8", "b", "6"]
        );
        assert!(runs.may_lease(4), "nothing was settled in part");
        assert_eq!(
            runs.order(&settlements).runs,
            [],
            "it is not known any more"
        );
    }

    #[test]
    fn a_part_of_a_run_is_settled_one_by_one_and_pauses_runs() {
        for settlements in [
            acks([(5, 100), (6, 101), (7, 102)]),
            // The same twice is not two.
            acks([(5, 100), (6, 101), (7, 102), (7, 102)]),
            // Another id, another token.
            acks([(5, 100), (6, 101), (7, 102), (9, 103)]),
            acks([(5, 100), (6, 101), (7, 102), (8, 104)]),
            [
                acks([(5, 100), (6, 101), (7, 102)]),
                vec![Settlement::release(receipt(8, 103))],
            ]
            .concat(),
        ] {
            let runs = runs(&[run(5, 100, 4)]);
            let order = runs.order(&settlements);
            assert_eq!(order.runs, [], "{settlements:?}");
            let paused = (0..PAUSE).map(|_| runs.may_lease(4));
            assert!(paused.into_iter().all(|may| !may), "{settlements:?}");
            assert!(runs.may_lease(4));
        }
    }

    #[test]
    fn a_receipt_twice_beside_its_whole_run_is_sent_by_itself() {
        let runs = runs(&[run(5, 100, 4)]);
        let settlements = acks([(5, 100), (6, 101), (6, 101), (7, 102), (8, 103)]);
        let order = runs.order(&settlements);
        assert_eq!(order.runs, [run(5, 100, 4)]);
        assert_eq!(
            order.numbers,
            [0, 1, 3, 4, 2],
            "the first of the two counts"
        );
    }

    #[test]
    fn what_else_happens_to_a_run_forgets_it() {
        let runs = runs(&[run(5, 100, 4), run(9, 104, 4)]);
        runs.part([receipt(6, 101), receipt(1, 1)].into_iter());
        let settlements = acks((0..8).map(|k| (5 + k, 100 + k)));
        assert_eq!(runs.order(&settlements).runs, [run(9, 104, 4)]);
    }

    #[test]
    fn no_more_runs_are_known_than_the_limit() {
        let many: Vec<Run> = (0..1025).map(|k| run(4 * k + 1, 4 * k + 1, 4)).collect();
        let runs = runs(&many);
        assert_eq!(runs.order(&acks((1..5).map(|k| (k, k)))).runs, []);
        assert_eq!(runs.order(&acks((5..9).map(|k| (k, k)))).runs, [many[1]]);
    }

    #[test]
    fn few_messages_make_no_run() {
        assert!(!Runs::default().may_lease(3));
        assert!(Runs::default().may_lease(4));
    }
}
