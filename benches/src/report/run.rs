//! Runs scenarios: each case alternates between both sides, because the speed of a machine changes within minutes.

use super::{
    effort::Effort,
    floor,
    meter::Stage,
    row::Row,
    scenario::{Scenario, ScenarioCase},
};
use crate::{
    pairs::spread,
    redis::placement::{self, Placement},
};

/// Pairs of a quick run.
const QUICK_PAIRS: usize = 2;

/// Runs these scenarios on all placements that the machine has cores for, and hands out each row as soon as it is
/// there.
///
/// It pins the process to one core until the process ends.
///
/// # Panics
///
/// If a server cannot be started, or a measurement fails.
pub fn all(scenarios: &[&Scenario], effort: Effort, report: &mut dyn FnMut(Row)) {
    // Read before this process is pinned.
    let cores = placement::cores();
    for placement in Placement::pinned() {
        let stage = Stage::start(placement, effort);
        let server = stage.fixture.version();
        for scenario in scenarios {
            let conditions = Conditions {
                placement,
                floor: floor::measure(&stage),
                effort,
                server: server.clone(),
                cores,
            };
            for case in (scenario.cases)() {
                for row in rows(&stage, scenario, &case, &conditions) {
                    report(row);
                }
            }
        }
    }
}

#[derive(Debug)]
struct Conditions {
    placement: Placement,
    floor: f64,
    effort: Effort,
    server: String,
    cores: usize,
}

fn rows(
    stage: &Stage,
    scenario: &Scenario,
    case: &ScenarioCase,
    conditions: &Conditions,
) -> Vec<Row> {
    let (ours, raw) = alternately(stage, scenario, case);
    let each = scenario.figures.iter().enumerate().map(|(nth, figure)| {
        let values = |side: &[Vec<f64>]| side.iter().map(|all| all[nth]).collect::<Vec<f64>>();
        let (ours, raw) = (values(&ours), values(&raw));
        let pairs = ours.iter().zip(&raw);
        let ratios: Vec<f64> = pairs
            .map(|(ours, raw)| figure.better.ratio(*ours, *raw))
            .collect();
        Row {
            scenario: scenario.name.to_owned(),
            case: case.name.clone(),
            placement: conditions.placement,
            figure: figure.name.to_owned(),
            better: figure.better,
            raw: case.raw.to_owned(),
            pairs: ratios.len(),
            ours: spread(&ours),
            theirs: spread(&raw),
            ratio: spread(&ratios),
            floor: conditions.floor,
            effort: conditions.effort,
            server: conditions.server.clone(),
            cores: conditions.cores,
        }
    });
    each.collect()
}

/// The values of all figures, pair by pair, ours and the raw ones.
fn alternately(
    stage: &Stage,
    scenario: &Scenario,
    case: &ScenarioCase,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut sides = (case.open)(stage);
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for pair in 0..stage.effort.pick(QUICK_PAIRS, scenario.pairs) {
        // Every other pair begins with the raw side, so that neither side always runs on the caches of the other.
        if pair % 2 == 0 {
            ours.push((sides.ours)());
            raw.push((sides.raw)());
        } else {
            raw.push((sides.raw)());
            ours.push((sides.ours)());
        }
    }
    for values in ours.iter().chain(&raw) {
        assert_eq!(
            values.len(),
            scenario.figures.len(),
            "{}: a value for each figure",
            scenario.name
        );
    }
    (ours, raw)
}
