//! Plays the default queues and all published strategies under the simulator's conditions, and writes
//! the table of what each keeps and breaks.

mod arguments;

use std::{fs, num::NonZeroUsize, path::Path, process::ExitCode, thread};

use queue_sim::strategies::{StrategyRow, TrialCondition, all, judge_all, markdown};

use self::arguments::Arguments;

const BEGIN: &str = "<!-- strategies: begin -->\n";
const END: &str = "<!-- strategies: end -->";

fn main() -> ExitCode {
    let arguments = Arguments::read();
    let mut wanted = all();
    wanted.retain(|strategy| arguments.wants(strategy.guarantees.name));
    let wanted = wanted.into_iter();
    let under = |condition: &TrialCondition| arguments.plays(&condition.to_string());
    let wanted = wanted.map(|strategy| (strategy, TrialCondition::all().filter(under).collect()));
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let (seeds, keeps) = (arguments.range(), arguments.keep);
    let (rows, mut faults) = judge_all(wanted.collect(), threads, seeds, keeps, |report| {
        print!("{report}");
    });
    if arguments.writes()
        && let Err(error) = write(&rows, arguments.check, &mut faults)
    {
        faults.push(error);
    }
    for fault in &faults {
        println!("! {fault}");
    }
    match faults.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Writes the table into the page of the strategies, or checks that the page has it. How many runs broke
/// a rule changes with the seeds, so only the rules are compared.
fn write(rows: &[StrategyRow], checks: bool, faults: &mut Vec<String>) -> Result<(), String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/strategies.md");
    let described = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = fs::read_to_string(&page).map_err(described)?;
    let place = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (table, after) = rest.split_once(END)?;
        Some((before, table, after))
    });
    let (before, table, after) = place.ok_or("docs/strategies.md has no markers for the table")?;
    let made = markdown(rows);
    if checks {
        if shape(table) != shape(&made) {
            faults.push(format!(
                "the table of docs/strategies.md differs: run the program strategies without --check\n{made}"
            ));
        }
        return Ok(());
    }
    fs::write(&page, format!("{before}{BEGIN}{made}{END}{after}")).map_err(described)
}

/// A table without its figures.
fn shape(table: &str) -> String {
    let mut shape = String::new();
    let mut depth = 0;
    for c in table.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth > 0 => {}
            _ => shape.push(c),
        }
    }
    let lines = shape.lines().map(|line| {
        let columns = line.split('|').map(|column| match column.trim() {
            column if column.starts_with("kept,") => "kept".to_owned(),
            column => column.to_owned(),
        });
        columns.collect::<Vec<_>>().join("|")
    });
    lines.collect::<Vec<_>>().join("\n")
}
