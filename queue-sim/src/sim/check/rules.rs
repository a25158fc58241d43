use queue_core::QueueName;

use super::{Check, Finding};
use crate::{
    check::{Budget, CheckInput, Verdict},
    history::{Event, History},
    sim::RunRecord,
};

/// The rules of `CONTRACT.md` for every queue of the run: the backend kept its promises. If this
/// check passes and an effect still happened twice, the handler is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules(());

impl Rules {
    /// All rules.
    pub const fn all() -> Self {
        Self(())
    }
}

impl Check for Rules {
    fn check(&self, run: &RunRecord) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (queue, config) in &run.queues {
            let history = of_queue(&run.history, queue);
            let case = CheckInput {
                config,
                history: &history,
                end: &run.end,
                slack: None,
            };
            match case.check(Budget::default()) {
                Verdict::Holds => {}
                Verdict::Broken(broken) => {
                    for mut finding in broken {
                        finding.message = format!("{queue}: {}", finding.message);
                        findings.push(finding);
                    }
                }
                Verdict::Inconclusive => findings.push(Finding::new(
                    "inconclusive",
                    format!("{queue}: the search for an order of the calls was given up"),
                )),
            }
        }
        findings
    }
}

/// The part of the history that concerns this queue.
pub(in crate::sim) fn of_queue(history: &History, queue: &QueueName) -> History {
    let records = history.records.iter();
    let events = history.events.iter();
    let concerns = |event: &Event| match event {
        Event::Length(name, _) => name == queue,
        _ => true,
    };
    History {
        records: records
            .filter(|record| record.queue == *queue)
            .cloned()
            .collect(),
        events: events
            .filter(|(_, event)| concerns(event))
            .cloned()
            .collect(),
        has_truth: history.has_truth,
        tokens_tell_order: history.tokens_tell_order,
    }
}
