//! Checks a history against the contract.
//!
//! There are two kinds of checks, independent of each other. The *rules* check the calls' answers, one rule at a time.
//! They need no model. They work on histories of any length and of any backend, also of real threads in real time. They
//! conclude an order only from calls that do not overlap. Where the history also says when the backend executed each
//! call, a second check compares it with the reference model. The history must be *linearisable*: there must be an
//! order of its calls, each between its beginning and its end, in which the model gives the backend's answers.
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

use std::{collections::BTreeMap, time::Duration};

pub(crate) use self::goals::of_calls;
use self::{
    branch::{Branch, branches},
    facts::Facts,
    rules::Found,
};
pub use self::{
    finding::Finding,
    goals::{goals, reached},
};
use crate::{
    engine::End,
    history::{CallId, Event, History},
    model,
    workload::{Mode, Played},
};
use queue_core::{QueueConfig, call::Answer};

/// The checks' verdict on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The run breaks no rule.
    Holds,
    /// The run breaks these rules. The rule that explains the failure best comes first.
    Broken(Vec<Finding>),
    /// The search for an order ran out of its budget. Never a pass.
    Inconclusive,
}

impl Verdict {
    /// The broken rules.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Broken(findings) => findings,
            Self::Holds | Self::Inconclusive => &[],
        }
    }
}

/// The number of steps that the search for an order may take. If the search spends them all, it
/// tries once more with ten times as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(pub u64);

impl Default for Budget {
    fn default() -> Self {
        Self(20_000)
    }
}

/// The input of the checks: the history of one queue.
#[derive(Debug, Clone, Copy)]
pub struct CheckInput<'a> {
    /// The queue's configuration.
    pub config: &'a QueueConfig,
    /// The history. All of its calls are on this one queue.
    pub history: &'a History,
    /// How the run ended.
    pub end: &'a End,
    /// The time within which a waiter must get its hint. `None` if anything else may wake waiters in this run, or if
    /// hints may get lost.
    pub slack: Option<Duration>,
}

/// The time within which a waiter must get its hint (B4, D5).
const SLACK: Duration = Duration::from_millis(20);

/// Checks every promise of the contract in a run.
pub fn check(played: &Played, budget: Budget) -> Verdict {
    CheckInput::of(played).check(budget)
}

impl<'a> CheckInput<'a> {
    /// The case that a run makes.
    pub fn of(played: &'a Played) -> Self {
        Self {
            config: &played.config,
            history: &played.history,
            end: &played.end,
            slack: (played.mode == Mode::Waiting).then_some(SLACK),
        }
    }

    /// Checks every promise of the contract on the queue. If the backend does not say when it executed calls, this
    /// checks only the rules.
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

/// The first call whose answer differs from the reference model's, in the order in which the backend
/// executed the calls, with the model's answer. `None` if the truth is unknown, if history was lost,
/// or if all answers are right.
pub(crate) fn first_wrong(
    config: &QueueConfig,
    history: &History,
) -> Option<(CallId, model::ModelResult<Answer>)> {
    linear::first_wrong(config, &only_branch(history)?)
}

/// The places of all messages in the reference model after each call, if the truth is known and no history was lost.
pub(crate) fn model_views(
    config: &QueueConfig,
    history: &History,
) -> BTreeMap<CallId, Vec<model::PlaceView>> {
    let branch = only_branch(history);
    branch.map_or_else(BTreeMap::new, |branch| linear::views(config, &branch))
}

/// The calls of the history, if the truth is known and no history was lost.
fn only_branch(history: &History) -> Option<Branch<'_>> {
    let is_whole = history.has_truth && !history.has_roll_back();
    is_whole.then(|| branches(history).pop()).flatten()
}

/// Joins the failures noted during the run with the checks' findings. The earliest comes first, because a later one may
/// only follow from it.
fn verdict(case: &CheckInput<'_>, mut found: Vec<Found>, conclusive: bool) -> Verdict {
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
        End::Hung(processes) => format!("these processes wait for what never comes: {processes:?}"),
        End::Spinning(processes) => format!(
            "these processes go on and on without any time passing, and only the first calls of that \
             instant are kept: {processes:?}"
        ),
        End::Panicked(process, message) => format!("process {process} panicked: {message}"),
    };
    Some(Finding::new("progress", message))
}
