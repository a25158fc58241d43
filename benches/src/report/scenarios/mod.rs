//! The scenarios that the report measures, one in each file, and the steps that several of them share.

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
mod threads;
mod waits;
mod worker;

use super::scenario::Scenario;

/// All scenarios, in the order of the report. To add one, add its file, and its lines here.
pub const ALL: &[Scenario] = &[
    worker::SCENARIO,
    threads::SCENARIO,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_differ() {
        let names = ALL.iter().map(|scenario| scenario.name);
        assert_eq!(names.collect::<BTreeSet<_>>().len(), ALL.len());
    }

    #[test]
    fn cases_differ_and_fit_into_a_table() {
        for scenario in ALL {
            let cases = (scenario.cases)();
            assert!(!cases.is_empty() && !scenario.figures.is_empty());
            for (nth, case) in cases.iter().enumerate() {
                let place = format!("{}: {}", scenario.name, case.name);
                assert!(
                    cases[..nth].iter().all(|other| other.name != case.name),
                    "{place}"
                );
                // The README's columns end at a bar.
                let figures = scenario.figures.iter().map(|figure| figure.name);
                for text in figures.chain([&case.name, case.raw, scenario.name]) {
                    assert!(!text.contains(['\n', '|']), "{place}: {text}");
                }
            }
        }
    }
}
