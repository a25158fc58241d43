//! Rows as an aligned table.

use super::{row::Row, scenario::Scenario, scenarios};

/// A column: its name, whether it holds numbers, and its cell of a row.
type Column = (&'static str, bool, fn(&Row) -> String);

const COLUMNS: [Column; 16] = [
    ("scenario", false, |row| row.scenario.clone()),
    ("case", false, |row| row.case.clone()),
    ("cores", false, |row| row.placement.to_string()),
    ("figure", false, |row| row.figure.clone()),
    ("n", true, |row| row.pairs.to_string()),
    ("median", true, |row| number(row.ours.median)),
    ("min", true, |row| number(row.ours.min)),
    ("max", true, |row| number(row.ours.max)),
    ("raw", true, |row| number(row.theirs.median)),
    ("raw min", true, |row| number(row.theirs.min)),
    ("raw max", true, |row| number(row.theirs.max)),
    ("ratio", true, |row| number(row.ratio.median)),
    ("min", true, |row| number(row.ratio.min)),
    ("max", true, |row| number(row.ratio.max)),
    ("F", true, |row| format!("{:.2}", row.floor)),
    ("raw commands", false, |row| row.raw.clone()),
];

/// The text above the table.
const LEGEND: &str = "\
ratio: how good ours is beside the raw commands of the same run, pair by pair; above 1, ours is better
F: EVALSHA of one RPUSH over RPUSH, one call in flight: what a script costs on this machine
cores: client and server on the same core, or split over two";

/// The rows as a table, with what its columns mean, and each scenario's sentence.
pub fn table(rows: &[Row]) -> String {
    let line = |row: &Row| COLUMNS.map(|(.., cell)| cell(row));
    let lines: Vec<[String; COLUMNS.len()]> = rows.iter().map(line).collect();
    let width = |nth: usize| {
        let cells = lines.iter().map(|line| line[nth].chars().count());
        cells.max().unwrap_or(0).max(COLUMNS[nth].0.len())
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let aligned = |cells: &[String]| {
        let cells = cells.iter().enumerate().map(|(nth, cell)| {
            let width = widths[nth];
            match COLUMNS[nth].1 {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let head = COLUMNS.map(|(name, ..)| name.to_owned());
    let mut text = format!("{LEGEND}\n\n{}\n", aligned(&head));
    let mut last = "";
    for (row, cells) in rows.iter().zip(&lines) {
        if row.scenario != last {
            last = &row.scenario;
            let scenario = scenarios::ALL.iter().find(|one| one.name == last);
            let about = scenario.map(Scenario::sentence).unwrap_or_default();
            text.push_str(&format!("\n{last}: {about}\n"));
        }
        text.push_str(&aligned(cells));
        text.push('\n');
    }
    text
}

/// Three digits, or all digits before the point if they are more.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::row::sample;

    #[test]
    fn columns_are_aligned() {
        let rows = [sample("16"), sample("a standing line")];
        let text = table(&rows);
        let lines: Vec<&str> = text.lines().collect();
        let head = lines.iter().find(|line| line.starts_with("scenario"));
        let head = head.unwrap();
        let figures: Vec<_> = lines
            .iter()
            .filter(|line| line.ends_with("0.71  LMOVE"))
            .collect();
        assert_eq!(figures.len(), 2);
        for line in figures {
            assert_eq!(line.find("jobs/s"), head.find("figure"));
            assert_eq!(line.find("LMOVE"), head.find("raw commands"));
        }
        assert!(text.contains("\nworker: a worker on a reliable queue"));
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.254, 9.99, 9.996, 42.25, 99.96, 118_000.4].map(number);
        assert_eq!(numbers, ["0.25", "9.99", "10.0", "42.2", "100", "118000"]);
    }
}
