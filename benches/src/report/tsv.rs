//! Rows as tab-separated values, and back. Every row has its conditions with it, so that rows of
//! several runs can stand in one table.

use std::str::FromStr;

use super::{effort::Effort, row::Row, scenario::Better};
use crate::{pairs::Spread, redis::placement::Placement};

/// A column: its name, and its cell of a row.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: [Column; 22] = [
    ("scenario", |row| row.scenario.clone()),
    ("case", |row| row.case.clone()),
    ("x", |row| row.x.map(|x| x.to_string()).unwrap_or_default()),
    ("placement", |row| row.placement.to_string()),
    ("figure", |row| row.figure.clone()),
    ("better", |row| better(row.better).to_owned()),
    ("pairs", |row| row.pairs.to_string()),
    ("median", |row| row.ours.median.to_string()),
    ("min", |row| row.ours.min.to_string()),
    ("max", |row| row.ours.max.to_string()),
    ("raw", |row| row.raw.clone()),
    ("raw median", |row| row.theirs.median.to_string()),
    ("raw min", |row| row.theirs.min.to_string()),
    ("raw max", |row| row.theirs.max.to_string()),
    ("ratio", |row| row.ratio.median.to_string()),
    ("ratio min", |row| row.ratio.min.to_string()),
    ("ratio max", |row| row.ratio.max.to_string()),
    ("F", |row| row.floor.to_string()),
    ("effort", |row| row.effort.to_string()),
    ("server", |row| row.server.clone()),
    ("cores", |row| row.cores.to_string()),
    ("version", |_| VERSION.to_owned()),
];

/// The crate's version, which all rows carry.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes rows under a line of the columns' names.
pub fn write(rows: &[Row]) -> String {
    let mut text = head() + "\n";
    for row in rows {
        text.push_str(&COLUMNS.map(|(_, cell)| cell(row)).join("\t"));
        text.push('\n');
    }
    text
}

fn head() -> String {
    COLUMNS.map(|(name, _)| name).join("\t")
}

const fn better(better: Better) -> &'static str {
    match better {
        Better::More => "more",
        Better::Less => "less",
    }
}

/// Reads what [`write()`] wrote.
///
/// # Errors
///
/// A sentence that names the line and what is wrong there.
pub fn read(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if first != head() {
        return Err(format!(
            "line 1 names other columns than this program writes: {first:?}"
        ));
    }
    let rows = lines.enumerate().map(|(nth, line)| {
        let fields: Vec<&str> = line.split('\t').collect();
        let fields = <[&str; COLUMNS.len()]>::try_from(fields)
            .map_err(|fields| format!("{} fields in place of {}", fields.len(), COLUMNS.len()));
        fields
            .and_then(|fields| row(&fields))
            .map_err(|wrong| format!("line {}: {wrong}", nth + 2))
    });
    rows.collect()
}

fn row(fields: &[&str; COLUMNS.len()]) -> Result<Row, String> {
    let spread = |median: usize| {
        Ok::<_, String>(Spread {
            median: parse(fields, median)?,
            min: parse(fields, median + 1)?,
            max: parse(fields, median + 2)?,
        })
    };
    Ok(Row {
        scenario: fields[0].to_owned(),
        case: fields[1].to_owned(),
        x: match fields[2] {
            "" => None,
            _ => Some(parse(fields, 2)?),
        },
        placement: Placement::named(fields[3]).ok_or_else(|| wrong(fields, 3))?,
        figure: fields[4].to_owned(),
        better: match fields[5] {
            "more" => Better::More,
            "less" => Better::Less,
            _ => return Err(wrong(fields, 5)),
        },
        pairs: parse(fields, 6)?,
        ours: spread(7)?,
        raw: fields[10].to_owned(),
        theirs: spread(11)?,
        ratio: spread(14)?,
        floor: parse(fields, 17)?,
        effort: Effort::named(fields[18]).ok_or_else(|| wrong(fields, 18))?,
        server: fields[19].to_owned(),
        cores: parse(fields, 20)?,
    })
}

fn parse<T: FromStr>(fields: &[&str; COLUMNS.len()], nth: usize) -> Result<T, String> {
    fields[nth].parse().map_err(|_| wrong(fields, nth))
}

fn wrong(fields: &[&str; COLUMNS.len()], nth: usize) -> String {
    format!("{:?} is no {}", fields[nth], COLUMNS[nth].0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::row::sample;

    #[test]
    fn what_is_written_is_read() {
        let rows = [sample("16", Some(16.0)), sample("reliable", None)];
        let text = write(&rows);
        let read = read(&text).unwrap();
        assert_eq!(write(&read), text);
        assert_eq!(read[0].x, Some(16.0));
        assert_eq!((read[1].x, &read[1].case[..]), (None, "reliable"));
        assert_eq!(read[1].ratio.max, rows[1].ratio.max);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let text = write(&[sample("16", None)]);
        for (good, bad, expected) in [
            ("scenario\t", "story\t", "line 1 names other columns"),
            ("\tsame\t", "\taside\t", "line 2: \"aside\" is no placement"),
            ("\tquick\t", "\tslow\t", "\"slow\" is no effort"),
            ("\t7.0.15", "", "21 fields in place of 22"),
        ] {
            assert!(text.contains(good), "{good:?}");
            let error = read(&text.replace(good, bad)).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
