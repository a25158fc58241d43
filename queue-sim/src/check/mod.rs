//! Checking a history against the contract.
//!
//! Two kinds of checks, independent of each other. The *rules* are looked at one by one, by what
//! the calls answered: they need no model, work on histories of any length and of any backend,
//! also of real threads in real time, and conclude an order only from calls that do not overlap.
//! Where it is known when the backend executed each call, the history is also compared with the
//! reference model: it must be *linearisable*, that is, there must be an order of its calls, each
//! between its beginning and its end, in which the model answers what the backend answered.
//!
//! A broken rule says more than a missing order, so it comes first in the verdict.

mod branch;
mod compare;
mod facts;
mod finding;
mod goals;
mod linear;
mod rules;
mod span;

use std::time::Duration;

use self::{branch::branches, facts::Facts, rules::Found};
pub use self::{
    finding::Finding,
    goals::{goals, reached},
};
use crate::{
    engine::End,
    history::{Event, History},
    run::Played,
    workload::Mode,
};
use queue_core::QueueConfig;

/// What the checks say of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every rule holds.
    Holds,
    /// These rules are broken; the one that explains it best comes first.
    Broken(Vec<Finding>),
    /// The search for an order ran out of its budget. Never a pass.
    Inconclusive,
}

impl Verdict {
    /// The rules that are broken.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Broken(findings) => findings,
            Self::Holds | Self::Inconclusive => &[],
        }
    }
}

/// How many steps the search for an order may take. A search that runs out of them is tried once
/// more with ten times as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(pub u64);

impl Default for Budget {
    fn default() -> Self {
        Self(20_000)
    }
}

/// What is checked: the history of one queue.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// How the queue was configured.
    pub config: &'a QueueConfig,
    /// What happened. All of its calls are of this one queue.
    pub history: &'a History,
    /// How the run ended.
    pub end: &'a End,
    /// How soon who waits must be told, if the run was one in which nothing else wakes them and
    /// nothing goes wrong.
    pub slack: Option<Duration>,
}

/// How soon who waits must be told (B4, D5).
const SLACK: Duration = Duration::from_millis(20);

/// Checks everything that is promised of a run.
pub fn check(played: &Played, budget: Budget) -> Verdict {
    Case::of(played).check(budget)
}

impl<'a> Case<'a> {
    /// What is to be checked of a run.
    pub fn of(played: &'a Played) -> Self {
        Self {
            config: &played.config,
            history: &played.history,
            end: &played.end,
            slack: (played.mode == Mode::Waiting).then_some(SLACK),
        }
    }

    /// Checks everything that is promised of the queue. Without the backend's own word on when it
    /// executed what, only the rules are looked at.
    pub fn check(&self, budget: Budget) -> Verdict {
        let mut found = Vec::new();
        rules::outcomes::check(self, &mut found);
        let mut conclusive = true;
        for branch in &branches(self.history) {
            let facts = Facts::of(self, branch);
            rules::check(&facts, &mut found);
            if self.history.has_truth {
                conclusive &= linear::check(&facts, budget, &mut found);
            }
        }
        verdict(self, found, conclusive)
    }
}

/// What was seen to be broken while the run went on, and what the checks found, the earliest
/// first: what comes later may only follow from it.
fn verdict(case: &Case<'_>, mut found: Vec<Found>, conclusive: bool) -> Verdict {
    for (moment, event) in &case.history.events {
        if let Event::Broken(rule, message) = event {
            found.push(Found {
                at: moment.order,
                finding: Finding::new(*rule, message),
            });
        }
    }
    found.sort_by_key(|found| found.at);
    let mut violations: Vec<Finding> = Vec::new();
    for Found { finding, .. } in found {
        if !violations.contains(&finding) {
            violations.push(finding);
        }
    }
    violations.extend(unfinished(case.end));
    match (violations.is_empty(), conclusive) {
        (false, _) => Verdict::Broken(violations),
        (true, true) => Verdict::Holds,
        (true, false) => Verdict::Inconclusive,
    }
}

fn unfinished(end: &End) -> Option<Finding> {
    let message = match end {
        End::Finished => return None,
        End::Hung(lanes) => format!("these lanes wait for what never comes: {lanes:?}"),
        End::Spinning(lanes) => format!(
            "these lanes go on and on without any time passing, and only the first calls of that \
             instant are kept: {lanes:?}"
        ),
        End::Panicked(lane, message) => format!("lane {lane} panicked: {message}"),
    };
    Some(Finding::new("progress", message))
}
