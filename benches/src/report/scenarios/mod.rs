//! What the report measures, a scenario a file, and what several of them do.

mod arrivals;
mod backlog;
mod batches;
mod bodies;
mod consumers;
mod cycle;
mod idle;
mod kinds;
mod load;
mod memory;
mod scattered;
mod slow;
mod waits;
mod work_off;
mod worker;

use super::scenario::Scenario;

/// All scenarios, in the order of the report. Who adds one adds its file and its lines here.
pub const ALL: &[Scenario] = &[
    worker::SCENARIO,
    load::SCENARIO,
    scattered::SCENARIO,
    bodies::SCENARIO,
    slow::SCENARIO,
    kinds::SCENARIO,
    batches::SCENARIO,
    backlog::SCENARIO,
    memory::SCENARIO,
    consumers::SCENARIO,
    idle::SCENARIO,
];

/// The scenario of this name.
///
/// # Errors
///
/// A sentence that lists the names that there are.
pub fn named(name: &str) -> Result<&'static Scenario, String> {
    let found = ALL.iter().find(|scenario| scenario.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|scenario| scenario.name).collect();
        let names = names.join(", ");
        format!("there is no scenario {name:?}: there are {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::scenario::Axis;

    #[test]
    fn names_differ_and_are_found() {
        for scenario in ALL {
            assert_eq!(named(scenario.name).unwrap().about, scenario.about);
        }
        let error = named("wroker").unwrap_err();
        assert!(error.contains("\"wroker\"") && error.contains("worker, load,"));
    }

    #[test]
    fn cases_stand_on_their_axis_and_differ() {
        for scenario in ALL {
            let cases = (scenario.cases)();
            assert!(!cases.is_empty() && !scenario.figures.is_empty());
            for (nth, case) in cases.iter().enumerate() {
                let place = format!("{}: {}", scenario.name, case.name);
                assert_eq!(case.x.is_some(), scenario.axis != Axis::Names, "{place}");
                assert!(
                    cases[..nth].iter().all(|other| other.name != case.name),
                    "{place}"
                );
                // The columns of the TSV end at a tab, and those of the README at a bar.
                let figures = scenario.figures.iter().map(|figure| figure.name);
                for text in figures.chain([&case.name, case.raw, scenario.name]) {
                    assert!(!text.contains(['\t', '\n', '|']), "{place}: {text}");
                }
            }
        }
    }
}
