//! Bytes that a message takes on the server while it is ready, beside the bare structure.

use queue_core::QueueKind;

use crate::{
    redis::{
        footprint::weigh,
        ours::{fill, open},
        plain::{LATER, List, Zset},
    },
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
};

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "memory",
    about: "the server's growth by 100,000 ready messages, for each of them",
    axis: None,
    figures: &[Figure::less("bytes a message")],
    pairs: 3,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case = |kind: QueueKind| {
        let raw = match kind {
            QueueKind::Reliable | QueueKind::Bounded => "a list of bodies",
            _ => "a zset of ids + a hash of bodies",
        };
        ScenarioCase::new(kind.as_str(), raw, move |stage| sides(stage, kind))
    };
    let measured = |kind: &QueueKind| *kind != QueueKind::Grouped;
    QueueKind::LEASING
        .into_iter()
        .filter(measured)
        .map(case)
        .collect()
}

fn sides(stage: &Stage, kind: QueueKind) -> Sides<'_> {
    let messages = stage.effort.pick(2_000, 100_000);
    let (fixture, runtime) = (&stage.fixture, &stage.fixture.runtime);
    let ours = move |name: &str| {
        runtime.block_on(async {
            fill(&open(&fixture.backend, name, kind).await, messages).await;
        });
    };
    let raw = move |name: &str| {
        runtime.block_on(async {
            let link = fixture.raw.clone();
            match kind {
                QueueKind::Reliable | QueueKind::Bounded => {
                    List::open(link, name).await.fill(messages).await;
                }
                _ => {
                    let mut zset = Zset::open(link, name).await;
                    zset.fill_at(LATER, messages).await;
                }
            }
        });
    };
    Sides::new(
        move || vec![weigh(fixture, messages, ours)],
        move || vec![weigh(fixture, messages, raw)],
    )
}
