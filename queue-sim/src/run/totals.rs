use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    hash::{Hash, Hasher},
};

use rustc_hash::FxHasher;

use super::{Played, Replayed};
use crate::{check::Verdict, world::Fault};

/// The most inconclusive runs in a hundred.
const MOST_INCONCLUSIVE: u64 = 1;

/// The totals of many runs.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// The number of runs.
    pub runs: u64,
    /// The number of runs that broke a rule.
    pub violations: u64,
    /// The number of runs in which the checks ran out of their budget.
    pub inconclusive: u64,
    /// The goals that the runs reached.
    pub goals: BTreeSet<&'static str>,
    /// The names of the calls that the runs made.
    pub calls: BTreeSet<&'static str>,
    /// The number of runs in which each fault struck.
    pub faults: BTreeMap<&'static str, u64>,
    /// The number of inconclusive runs with each mix of faults.
    pub inconclusive_mixes: BTreeMap<BTreeSet<&'static str>, u64>,
    histories: HashSet<u64>,
    digest: u64,
}

impl Totals {
    /// The totals of one run.
    pub fn of(replayed: &Replayed<Played>) -> Self {
        let mut totals = Self::default();
        totals.count(0, &replayed.run);
        match replayed.verdict {
            Verdict::Holds => {}
            Verdict::Broken(_) => totals.violations += 1,
            Verdict::Inconclusive => totals.count_inconclusive(&replayed.run),
        }
        totals
    }

    /// The number of different histories.
    pub fn distinct(&self) -> u64 {
        self.histories.len() as u64
    }

    /// A number made of all histories and their seeds. Another run of the program that plays the same seeds,
    /// in any order, must get the same number.
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// Whether no run broke a rule, and few enough were inconclusive.
    pub const fn passes(&self) -> bool {
        self.violations == 0 && self.inconclusive * 100 <= self.runs * MOST_INCONCLUSIVE
    }

    /// The faults among `faults` that struck in no run.
    pub fn unstruck(&self, faults: &[Fault]) -> Vec<Fault> {
        let faults = faults.iter().copied();
        let struck = |fault: &Fault| self.faults.contains_key(fault.as_str());
        faults.filter(|fault| !struck(fault)).collect()
    }

    /// Adds another's totals.
    pub(super) fn absorb(&mut self, other: Self) {
        self.runs += other.runs;
        self.violations += other.violations;
        self.inconclusive += other.inconclusive;
        self.goals.extend(other.goals);
        self.calls.extend(other.calls);
        for (fault, runs) in other.faults {
            *self.faults.entry(fault).or_default() += runs;
        }
        for (mix, runs) in other.inconclusive_mixes {
            *self.inconclusive_mixes.entry(mix).or_default() += runs;
        }
        self.histories.extend(other.histories);
        self.digest = self.digest.wrapping_add(other.digest);
    }

    pub(super) fn count(&mut self, seed: u64, played: &Played) {
        self.runs += 1;
        let history = hash(&played.history);
        self.histories.insert(history);
        self.digest = self.digest.wrapping_add(hash(&(seed, history)));
        for fault in played.history.faults().collect::<BTreeSet<_>>() {
            *self.faults.entry(fault).or_default() += 1;
        }
        self.goals.extend(&played.goals);
        let records = played.history.records.iter();
        self.calls.extend(records.map(|record| record.call.name()));
    }

    pub(super) fn count_inconclusive(&mut self, played: &Played) {
        self.inconclusive += 1;
        let mix = played.history.faults().collect();
        *self.inconclusive_mixes.entry(mix).or_default() += 1;
    }
}

/// Equal in every process, since this hasher has no keys.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
