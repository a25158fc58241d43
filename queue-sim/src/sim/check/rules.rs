use std::collections::BTreeSet;

use super::{Check, Finding};
use crate::{
    check::{self, Budget, Verdict},
    history::{Event, History},
    run::{Mode, Played},
    sim::Story,
};

/// The search for an order of calls gives up after so many steps.
const BUDGET: u64 = 200_000;

/// The rules of `CONTRACT.md`, of every queue of the run: the backend kept its promises. Where it
/// did and an effect still happened twice, the handler is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules(());

impl Rules {
    /// All of them.
    pub const fn all() -> Self {
        Self(())
    }
}

impl Check for Rules {
    fn check(&self, story: &Story) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (queue, config) in &story.queues {
            let of_queue = |event: &Event| match event {
                Event::Length(name, _) => name == queue,
                _ => true,
            };
            let history = History {
                records: story
                    .history
                    .records
                    .iter()
                    .filter(|record| record.queue == *queue)
                    .cloned()
                    .collect(),
                events: story
                    .history
                    .events
                    .iter()
                    .filter(|(_, event)| of_queue(event))
                    .cloned()
                    .collect(),
                has_truth: story.history.has_truth,
            };
            let played = Played {
                config: config.clone(),
                mode: Mode::Faults,
                history,
                end: story.end.clone(),
                plan: story.plan.clone(),
                goals: BTreeSet::new(),
            };
            match check::check(&played, Budget(BUDGET)) {
                Verdict::Holds => {}
                Verdict::Broken(violations) => {
                    findings.extend(violations.into_iter().map(|violation| Finding {
                        calls: violation.calls,
                        ..Finding::new(violation.rule, format!("{queue}: {}", violation.message))
                    }));
                }
                Verdict::Inconclusive => findings.push(Finding::new(
                    "inconclusive",
                    format!("{queue}: no order of the calls was found in {BUDGET} steps"),
                )),
            }
        }
        findings
    }
}
