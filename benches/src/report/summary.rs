//! The few figures in the README.md of the workspace: lines of the table in benches/README.md.

use super::{readme, scenarios};

/// The text of a line, and the scenario, the figure and the case that it shows.
const LINES: [[&str; 4]; 4] = [
    [
        "jobs a second, a worker of 64 slots",
        "worker",
        "jobs/s",
        "64",
    ],
    [
        "server's CPU for a job, µs",
        "worker",
        "server CPU µs a job",
        "64",
    ],
    [
        "push to handler at 60 % load, p50, µs",
        "load",
        "push to start p50, µs",
        "60 %",
    ],
    [
        "bytes of a waiting message of 100",
        "memory",
        "bytes a message",
        "reliable",
    ],
];

/// The part of the README for the part of benches/README.md.
///
/// # Errors
///
/// A sentence, if the page lacks its part, or the part lacks a figure.
pub fn part(page: &str) -> Result<String, String> {
    let conditions = readme::current(page)?.trim_start();
    let (conditions, _) = conditions.split_once(" A script").unwrap_or_default();
    let mut text =
        format!("{conditions}\n\n| | beside | same | split |\n| --- | --- | --- | --- |\n");
    let table = readme::lines(page)?;
    for [label, scenario, figure, case] in LINES {
        let missing = || format!("the page lacks {figure} of {scenario}, {case}");
        let found = scenarios::ALL.iter().find(|all| all.name == scenario);
        let cases = (found.ok_or_else(missing)?.cases)();
        let place = cases.iter().position(|all| all.name == case);
        let place = place.ok_or_else(missing)?;
        let start = format!("| {scenario}: ");
        let cells = table.iter().filter(|line| line.starts_with(&start));
        let mut cells = cells.map(|line| line.trim_matches(['|', ' ']).split(" | ").skip(1));
        let mut values = cells
            .find_map(|mut cells| (cells.next() == Some(figure)).then_some(cells))
            .ok_or_else(missing)?
            .skip(1)
            .map(|cell| cell.split(" / ").nth(place).unwrap_or("–"));
        let (same, split) = (values.next(), values.next());
        let (same, split) = same.zip(split).ok_or_else(missing)?;
        let raw = cases[place].raw;
        text.push_str(&format!("| {label} | {raw} | {same} | {split} |\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_figure_is_refused() {
        let (begin, end) = (readme::BEGIN, readme::END);
        let page = format!("{begin}\nMeasured. A script\n\n| worker: 1 |\n{end}\n");
        let missing = part(&page).unwrap_err();
        assert!(missing.contains("lacks jobs/s of worker, 64"), "{missing}");
        assert!(part("a page").unwrap_err().contains("report: begin"));
    }
}
