//! A reliable queue in batches of several sizes.

use queue_core::QueueKind;

use super::cycle::{FIGURES, raw_name, sides};
use crate::report::scenario::{Scenario, ScenarioCase};

const KIND: QueueKind = QueueKind::Reliable;

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "batches",
    about: "pushes, and calls that settle and lease, on a reliable queue; one client",
    axis: Some("messages in a batch"),
    figures: FIGURES,
    pairs: 7,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case = |batch: usize| {
        ScenarioCase::new(batch.to_string(), raw_name(KIND), move |stage| {
            sides(stage, KIND, batch)
        })
    };
    [1, 4, 10, 64, 100].map(case).into()
}
