//! The plots of a report: one for each figure of each scenario.

use super::{
    plot::chart::{Chart, Panel},
    row::Row,
    scenario::{Axis, Better, Case, Figure, Scenario},
};
use crate::redis::placement::Placement;

/// The plot of a figure, with the cases that these rows have.
pub fn plot(scenario: &Scenario, figure: &Figure, rows: &[Row]) -> Chart {
    let cases = (scenario.cases)();
    let of = |row: &&Row| row.scenario == scenario.name && row.figure == figure.name;
    let rows: Vec<&Row> = rows.iter().filter(of).collect();
    let panel = |placement: Placement, title: &str| {
        let on: Vec<&&Row> = rows
            .iter()
            .filter(|row| row.placement == placement)
            .collect();
        let row = |case: &Case| on.iter().find(|row| row.case == case.name).copied();
        let panel = Panel {
            title: title.to_owned(),
            ours: cases
                .iter()
                .map(|case| row(case).map(|row| row.ours))
                .collect(),
            raw: cases
                .iter()
                .map(|case| row(case).map(|row| row.theirs))
                .collect(),
        };
        (!on.is_empty()).then_some(panel)
    };
    let panels = [
        panel(Placement::Same, "client and server on one core"),
        panel(Placement::Split, "a core for each"),
    ];
    let better = match figure.better {
        Better::More => "more is better",
        Better::Less => "less is better",
    };
    Chart {
        title: format!("{}: {} ({better})", scenario.name, figure.name),
        x_label: scenario.axis.label().unwrap_or_default().to_owned(),
        y_label: figure.name.to_owned(),
        places: places(scenario.axis, &cases),
        is_line: scenario.axis != Axis::Names,
        panels: panels.into_iter().flatten().collect(),
    }
}

/// A figure's file name: letters, digits and hyphens.
pub fn file_name(scenario: &Scenario, figure: &Figure) -> String {
    let text = format!("{} {}", scenario.name, figure.name).to_lowercase();
    let text = text.replace('µ', "u");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("{}.svg", words.join("-"))
}

fn places(axis: Axis, cases: &[Case]) -> Vec<(f64, String)> {
    let along = |nth: usize, case: &Case| match (axis, case.x) {
        (Axis::Linear(_), Some(x)) => x,
        (Axis::Log(_), Some(x)) => x.ln(),
        _ => nth as f64,
    };
    let cases = cases.iter().enumerate();
    let along: Vec<(f64, &Case)> = cases.map(|(nth, case)| (along(nth, case), case)).collect();
    let values = || along.iter().map(|(value, _)| *value);
    let least = values().fold(f64::INFINITY, f64::min);
    let length = values().fold(f64::NEG_INFINITY, f64::max) - least;
    let place = |value: f64| match length > 0.0 {
        true => (value - least) / length,
        // A single case stands in the middle.
        false => 0.5,
    };
    let places = along.iter();
    places
        .map(|(value, case)| (place(*value), case.name.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::report::{row::sample, scenarios};

    #[test]
    fn every_figure_has_a_file_of_its_own() {
        let mut names = BTreeSet::new();
        for scenario in scenarios::ALL {
            for figure in scenario.figures {
                let name = file_name(scenario, figure);
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
                assert!(name.chars().all(plain), "{name}");
                assert!(names.insert(name.clone()), "{name}");
            }
        }
        assert!(names.contains("worker-jobs-s.svg"));
    }

    #[test]
    fn cases_stand_by_their_numbers() {
        for scenario in scenarios::ALL {
            let places = places(scenario.axis, &(scenario.cases)());
            let (first, last) = (places[0].0, places[places.len() - 1].0);
            let is_single = places.len() == 1;
            assert_eq!(
                (first, last),
                if is_single { (0.5, 0.5) } else { (0.0, 1.0) }
            );
        }
        let worker = scenarios::named("worker").unwrap();
        let slots = places(worker.axis, &(worker.cases)());
        // 1, 16, 64, 256: two steps of 4 are as long as one of 16.
        let step = slots[2].0 - slots[1].0;
        assert!((slots[1].0 - 2.0 * step).abs() < 1e-9);
    }

    #[test]
    fn a_plot_has_what_its_rows_have() {
        let worker = scenarios::named("worker").unwrap();
        let mut rows = [sample("16", Some(16.0)), sample("64", Some(64.0))];
        rows[1].figure = "another".to_owned();
        let chart = plot(worker, &worker.figures[0], &rows);
        assert_eq!(chart.panels.len(), 1);
        let marked: Vec<bool> = chart.panels[0].ours.iter().map(Option::is_some).collect();
        assert_eq!(marked, [false, true, false, false]);
        assert_eq!(chart.x_label, "slots of the worker");
    }
}
