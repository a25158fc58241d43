//! Plays the default queues and all published strategies under the simulator's conditions, and writes
//! the table of what each keeps and breaks.

mod arguments;

use std::{
    collections::BTreeMap,
    fs,
    num::NonZeroUsize,
    path::Path,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
};

use queue_sim::strategies::{Condition, Kept, Row, Strategy, all, json, markdown, play};

use self::arguments::{Arguments, HELP};

const BEGIN: &str = "<!-- guarantees: begin -->\n";
const END: &str = "<!-- guarantees: end -->";

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let (rows, mut faults) = play_all(&arguments);
    if arguments.writes()
        && let Err(error) = write(&rows, arguments.checks, &mut faults)
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

/// Plays the strategies on as many threads as there are cores. Answers the rows in the order of the
/// table, and the faults.
fn play_all(arguments: &Arguments) -> (Vec<Row>, Vec<String>) {
    let wanted = all()
        .into_iter()
        .filter(|strategy| arguments.wants(strategy.guarantees.name));
    let left = Mutex::new(wanted.enumerate());
    let played = Mutex::new((BTreeMap::new(), Vec::new()));
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((place, strategy)) = next(&left) {
                    let (row, report, faults) = play_row(strategy, arguments);
                    print!("{report}");
                    let mut played = played.lock().unwrap_or_else(PoisonError::into_inner);
                    played.0.insert(place, row);
                    played.1.extend(faults);
                }
            });
        }
    });
    let (rows, faults) = played.into_inner().unwrap_or_else(PoisonError::into_inner);
    (rows.into_values().collect(), faults)
}

fn next<T>(left: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    left.next()
}

/// Plays a strategy under all its conditions. What is not declared is a fault, and so is what is
/// declared and has no counterexample.
fn play_row(strategy: Strategy, arguments: &Arguments) -> (Row, String, Vec<String>) {
    let guarantees = &strategy.guarantees;
    let mut report = format!("{} ({})\n", guarantees.name, guarantees.kind);
    let mut cells = Vec::new();
    let mut faults = Vec::new();
    for condition in Condition::all().filter(|condition| strategy.plays(*condition)) {
        let place = format!("{} ({}), {condition}", guarantees.name, guarantees.kind);
        let mut environment = match strategy.environment(condition) {
            Ok(environment) => environment,
            Err(error) => {
                faults.push(format!("{place}: {error}"));
                continue;
            }
        };
        let cell = play(&strategy, &mut *environment, condition, 0..arguments.seeds);
        if cell.exercised == 0 {
            faults.push(format!("{place}: it never struck in {} runs", cell.runs));
        }
        for (rule, found) in &cell.found {
            let runs = cell.runs;
            report += &format!("  {condition}: {rule} in {} of {runs}\n", found.runs);
        }
        let undeclared = cell.undeclared(&strategy, &mut *environment, condition);
        faults.extend(undeclared.iter().map(|rule| format!("{place}: {rule}")));
        for kept in Kept::all(&strategy, condition) {
            let weaker = kept.weaker();
            let shown = match arguments.keeps {
                true => kept.keep(&mut *environment, cell.of(weaker)),
                false => kept.replay(&mut *environment),
            };
            if let Err(missing) = shown {
                faults.push(format!("{place}: {} {missing}", weaker.rule));
            }
        }
        cells.push((condition, cell));
    }
    (Row { strategy, cells }, report, faults)
}

/// Writes the table into README and as JSON, or checks that README has it. How many runs broke a rule
/// changes with the seeds, so only the rules are compared.
fn write(rows: &[Row], checks: bool, faults: &mut Vec<String>) -> Result<(), String> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = crate_folder.join("../README.md");
    let told = |error: std::io::Error| format!("{}: {error}", readme.display());
    let text = fs::read_to_string(&readme).map_err(told)?;
    let place = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (table, after) = rest.split_once(END)?;
        Some((before, table, after))
    });
    let (before, table, after) = place.ok_or("README.md has no markers for the table")?;
    let made = markdown(rows);
    if checks {
        if shape(table) != shape(&made) {
            faults.push(format!(
                "README's table differs: run the program guarantees without --check\n{made}"
            ));
        }
        return Ok(());
    }
    fs::write(&readme, format!("{before}{BEGIN}{made}{END}{after}")).map_err(told)?;
    let file = crate_folder.join("guarantees.json");
    fs::write(file, json(rows)).map_err(told)
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
