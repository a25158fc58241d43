//! Every kind that leases, one message at a time and ten.

use queue_core::QueueKind;

use super::cycle::{FIGURES, raw_name, sides};
use crate::report::scenario::{Scenario, ScenarioCase};

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "kinds",
    about: "pushes, and calls that settle and lease, on each kind that leases; one client",
    axis: None,
    figures: FIGURES,
    pairs: 7,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case = |kind, batch: usize| {
        let name = format!("{kind} × {batch}");
        ScenarioCase::new(name, raw_name(kind), move |stage| sides(stage, kind, batch))
    };
    let both = |kind| [1, 10].map(|batch| case(kind, batch));
    QueueKind::LEASING.into_iter().flat_map(both).collect()
}
