use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use queue_core::call::Answer;

use super::RunRecord;
use crate::history::CallEnd;

/// The totals of a simulation's runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    name: String,
    /// The number of runs.
    pub runs: u64,
    /// The number of runs that [showed something](RunRecord::shows_something).
    pub showing: u64,
    /// The number of runs in which [a message was acked](RunRecord::is_acked), or no queue had a
    /// handler.
    pub acked: u64,
    /// Deliveries.
    pub deliveries: u64,
    /// Deliveries of messages that had been delivered before.
    pub redeliveries: u64,
    /// Effects outside of the queues.
    pub effects: u64,
    /// Calls whose caller does not know the outcome.
    pub unknown: u64,
    /// Failures and panics of handlers.
    pub failed: u64,
    /// The number of times that each fault struck.
    pub faults: BTreeMap<&'static str, u64>,
    last_failure: Option<String>,
}

impl Tally {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, run: &RunRecord) {
        self.runs += 1;
        self.showing += u64::from(run.shows_something());
        self.acked += u64::from(run.is_acked());
        self.effects += run.effects.len() as u64;
        for record in &run.history.records {
            match record.answer() {
                Some(Answer::Leased(leased) | Answer::SettledAndLeased(_, leased)) => {
                    let again = leased
                        .deliveries
                        .iter()
                        .filter(|delivery| delivery.attempt > 1);
                    self.deliveries += leased.deliveries.len() as u64;
                    self.redeliveries += again.count() as u64;
                }
                Some(Answer::Rotated(rotated)) => self.deliveries += rotated.items.len() as u64,
                _ => {}
            }
            let outcome = record.ended.as_ref().map(|ended| &ended.outcome);
            self.unknown += u64::from(matches!(outcome, Some(CallEnd::Unknown(..))));
        }
        for failure in run.failed() {
            self.failed += 1;
            self.last_failure = Some(failure.to_owned());
        }
        for (fault, times) in run.faults() {
            *self.faults.entry(fault).or_default() += times;
        }
    }

    /// Errors if the runs prove too little.
    pub(super) fn worth(&self, asked: &BTreeSet<&'static str>) -> Result<(), String> {
        if self.runs == 0 {
            return Err(format!(
                "{}: no run was played, so nothing is shown: ask for more than 0 seeds, by \
                 Sim::seeds or QUEUE_SIM_SEEDS",
                self.name
            ));
        }
        // Faults alone use up the attempts of some messages, but never of most.
        if self.showing * 10 < self.runs * 9 || self.acked * 2 < self.runs {
            let why = match &self.last_failure {
                Some(failure) => format!(
                    "The handlers failed {} times; the last one {failure}",
                    self.failed
                ),
                None => "Is there a producer, a handler, enough patience?".to_owned(),
            };
            return Err(format!(
                "{}: only in {} of {} runs was a message accepted and settled, and in {} of them was \
                 one acked, so the simulation shows little. {why}\n{self}",
                self.name, self.showing, self.runs, self.acked
            ));
        }
        let never: Vec<&str> = asked
            .iter()
            .filter(|fault| !self.faults.contains_key(**fault))
            .copied()
            .collect();
        // A fault that strikes in a tenth of the runs almost surely strikes once in a hundred.
        if never.is_empty() || self.runs < 100 {
            return Ok(());
        }
        Err(format!(
            "{}: never met in {} runs: {}. Play more seeds, or leave them out with FaultSet::without\n\
             {self}",
            self.name,
            self.runs,
            never.join(", ")
        ))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            runs,
            deliveries,
            redeliveries,
            effects,
            unknown,
            failed,
            faults,
            ..
        } = self;
        write!(
            f,
            "{name}: runs={runs} deliveries={deliveries} redeliveries={redeliveries} \
             effects={effects} unknown={unknown}"
        )?;
        if *failed > 0 {
            write!(f, " failed={failed}")?;
        }
        for (fault, times) in faults {
            write!(f, " {}={times}", fault.replace(' ', "-"))?;
        }
        Ok(())
    }
}
