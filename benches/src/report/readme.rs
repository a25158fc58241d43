//! The part of benches/README.md that the program writes: a table and its conditions.

use std::collections::BTreeSet;

use super::{
    effort::Effort,
    row::Row,
    scenario::{Figure, Scenario},
    scenarios,
    text::number,
};
use crate::redis::placement::Placement;

/// The line before the part.
pub const BEGIN: &str = "<!-- report: begin; `report --readme` writes this part -->";
/// The line after the part.
pub const END: &str = "<!-- report: end -->";
/// The columns of the table.
pub const COLUMNS: [&str; 5] = ["scenario: cases", "figure", "beside", "same", "split"];

/// The content of the part that depends on no figure: the table's head, and the first cells of each of its lines.
pub fn form() -> Vec<String> {
    let mut form = vec![cells(&COLUMNS.map(str::to_owned))];
    for scenario in scenarios::ALL {
        let lines = scenario.figures.iter().map(|figure| {
            let mut line = cells(&names(scenario, figure));
            line.push(' ');
            line
        });
        form.extend(lines);
    }
    form
}

/// The lines of a page's part that should have the [`form`]: all lines of its table except the rule.
///
/// # Errors
///
/// A sentence, if the page has no such part.
pub fn lines(page: &str) -> Result<Vec<&str>, String> {
    let lines = current(page)?.lines();
    let table = lines.filter(|line| line.starts_with('|') && !line.starts_with("| ---"));
    Ok(table.collect())
}

/// The page's part.
///
/// # Errors
///
/// A sentence, if the page has no such part.
pub fn current(page: &str) -> Result<&str, String> {
    let (start, end) = place(page)?;
    Ok(&page[start..end])
}

/// The part for these rows.
///
/// # Errors
///
/// A sentence, if a scenario is missing, or the rows are of several runs.
pub fn part(rows: &[Row]) -> Result<String, String> {
    let first = rows.first().ok_or("the report has no rows")?;
    let is_same = |row: &&Row| {
        let server = (&row.server, row.cores, row.effort);
        server == (&first.server, first.cores, first.effort)
    };
    if rows.iter().filter(is_same).count() != rows.len() {
        return Err("its rows are of several servers, machines or efforts".to_owned());
    }
    let mut text = conditions(first, rows);
    text.push_str(&cells(&COLUMNS.map(str::to_owned)));
    text.push_str("\n| --- | --- | --- | --- | --- |\n");
    for scenario in scenarios::ALL {
        for figure in scenario.figures {
            let mut line = names(scenario, figure).to_vec();
            for placement in [Placement::Same, Placement::Split] {
                line.push(values(scenario, figure, placement, rows)?);
            }
            text.push_str(&cells(&line));
            text.push('\n');
        }
    }
    Ok(text)
}

fn conditions(first: &Row, rows: &[Row]) -> String {
    let Row { server, cores, .. } = first;
    let pairs = rows.iter().map(|row| row.pairs);
    let (fewest, most) = (pairs.clone().min(), pairs.max());
    let n = match (fewest, most) {
        (Some(fewest), Some(most)) if fewest < most => format!("{fewest} to {most}"),
        (fewest, _) => fewest.unwrap_or(0).to_string(),
    };
    let floors: Vec<String> = [Placement::Same, Placement::Split]
        .into_iter()
        .filter_map(|placement| {
            let on = rows.iter().filter(|row| row.placement == placement);
            let floors: Vec<f64> = on.map(|row| row.floor).collect();
            let floor = crate::pairs::spread(&floors).median;
            (!floors.is_empty()).then(|| format!("{} {placement}", ratio(floor)))
        })
        .collect();
    let floors = floors.join(", ");
    let warning = match first.effort {
        Effort::Full => "",
        Effort::Quick => {
            "**The figures of this table are of a quick run, which only shows its form: they say \
             nothing.**\n\n"
        }
    };
    format!(
        "{warning}Redis {server}, {cores} cores, bodies of 100 bytes, medians of n = {n} pairs. A \
         script of one `RPUSH` has {floors} of the plain command's rate. Each cell has a value for \
         each case: our figure and, in brackets, how good that is beside the raw commands (above 1, \
         ours is better).\n\n"
    )
}

/// The cells of a line that depend on no figure.
fn names(scenario: &Scenario, figure: &Figure) -> [String; 3] {
    let cases = (scenario.cases)();
    let names: Vec<&str> = cases.iter().map(|case| &case.name[..]).collect();
    let mut seen = BTreeSet::new();
    let raws = cases.iter().map(|case| case.raw);
    let raws: Vec<&str> = raws.filter(|raw| seen.insert(*raw)).collect();
    let mut cases = format!("{}: {}", scenario.name, names.join(" / "));
    if let Some(label) = scenario.axis {
        cases.push_str(&format!(" ({label})"));
    }
    [cases, figure.name.to_owned(), raws.join(" / ")]
}

/// The values of all cases, or a dash if the machine has no such placement.
fn values(
    scenario: &Scenario,
    figure: &Figure,
    placement: Placement,
    rows: &[Row],
) -> Result<String, String> {
    if !rows.iter().any(|row| row.placement == placement) {
        return Ok("–".to_owned());
    }
    let cases = (scenario.cases)();
    let values = cases.iter().map(|case| {
        let found = rows.iter().find(|row| {
            row.scenario == scenario.name
                && row.case == case.name
                && row.figure == figure.name
                && row.placement == placement
        });
        let row = found.ok_or_else(|| {
            let Scenario { name, .. } = scenario;
            format!(
                "it lacks {name}, {} on {placement}: run all scenarios, without --only",
                case.name
            )
        })?;
        let ratio = ratio(row.ratio.median);
        Ok(format!("{} ({ratio})", short(row.ours.median)))
    });
    let values: Vec<String> = values.collect::<Result<_, String>>()?;
    Ok(values.join(" / "))
}

/// Thousands with a `k` from ten thousand on.
fn short(value: f64) -> String {
    match value {
        value if value >= 10_000.0 => format!("{}k", number(value / 1_000.0)),
        value => number(value),
    }
}

/// As the page's other tables have ratios: `.41`.
fn ratio(value: f64) -> String {
    let text = number(value);
    match text.strip_prefix("0.") {
        Some(digits) => format!(".{digits}"),
        None => text,
    }
}

fn cells(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// The page with this part in place of its own.
///
/// # Errors
///
/// A sentence, if the page has no such part.
pub fn replace(page: &str, part: &str) -> Result<String, String> {
    let (start, end) = place(page)?;
    Ok(format!("{}\n{}{}", &page[..start], part, &page[end..]))
}

/// From the end of the marker before the part to the marker after it.
fn place(page: &str) -> Result<(usize, usize), String> {
    let missing = |marker: &str| format!("the page lacks the line {marker:?}");
    let start = page.find(BEGIN).ok_or_else(|| missing(BEGIN))? + BEGIN.len();
    let length = page[start..].find(END).ok_or_else(|| missing(END))?;
    Ok((start, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::row::sample;

    /// A row of each case and figure, on one core.
    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for scenario in scenarios::ALL {
            for case in (scenario.cases)() {
                rows.extend(scenario.figures.iter().map(|figure| Row {
                    scenario: scenario.name.to_owned(),
                    figure: figure.name.to_owned(),
                    ..sample(&case.name)
                }));
            }
        }
        rows
    }

    #[test]
    fn the_part_has_its_form_and_stays_in_its_place() {
        let part = part(&rows()).unwrap();
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let page = replace(&page, &part).unwrap();
        assert!(page.starts_with("before\n") && page.ends_with("\nafter\n"));
        assert!(!page.contains("\nold\n"));
        assert_eq!(replace(&page, &part).unwrap(), page);
        let (lines, form) = (lines(&page).unwrap(), form());
        assert_eq!(lines.len(), form.len());
        for (line, form) in lines.iter().zip(&form) {
            assert!(line.starts_with(form.as_str()), "{line}");
        }
        assert!(page.contains("of a quick run"));
        assert!(page.contains(" | 30.0k (.25) / 30.0k (.25) / 30.0k (.25) / 30.0k (.25) | – |\n"));
    }

    #[test]
    fn figures_of_a_full_run_have_no_warning() {
        let full = rows().into_iter().map(|row| Row {
            effort: Effort::Full,
            ..row
        });
        let part = part(&full.collect::<Vec<_>>()).unwrap();
        assert!(part.starts_with("Redis 7.0.15, 2 cores"), "{part}");
        assert!(part.contains("n = 7 pairs") && part.contains("has .71 same of"));
    }

    #[test]
    fn unusable_rows_and_pages_are_refused_with_the_reason() {
        let mut rows = rows();
        rows[3].cores = 8;
        assert!(part(&rows).unwrap_err().contains("several servers"));
        rows.remove(3);
        let missing = part(&rows).unwrap_err();
        assert!(missing.contains("it lacks worker, 16"), "{missing}");
        assert!(part(&[]).unwrap_err().contains("no rows"));
        assert!(replace("a page", "").unwrap_err().contains("report: begin"));
        assert!(replace(BEGIN, "").unwrap_err().contains("report: end"));
    }
}
