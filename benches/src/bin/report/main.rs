//! Measures what users of a queue ask for, each figure beside raw commands: `report --help`.

mod arguments;
mod files;

use std::{io, path::Path, process::ExitCode};

use clap::Parser;
use queue_benches::report::{readme, row::Row, run, summary, text};

use self::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.readme {
        true => write_readme(&arguments.out),
        false => measure(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("report: {wrong}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<(), String> {
    // Tried first, since the measurements take long.
    files::make(&arguments.out)?;
    let mut rows = Vec::new();
    run::all(&arguments.scenarios(), arguments.effort(), &mut |row| {
        let (ours, raw) = (
            text::number(row.ours.median),
            text::number(row.theirs.median),
        );
        let (scenario, case) = (&row.scenario, &row.case);
        let (placement, figure) = (row.placement, &row.figure);
        eprintln!("{placement} / {scenario}, {case}: {figure} {ours}, raw {raw}");
        rows.push(row);
    });
    let table = text::table(&rows);
    files::write(&arguments.out, &rows, &table)?;
    println!("{table}");
    println!("{}", files::written(&arguments.out));
    Ok(())
}

/// Writes the parts of benches/README.md and of README.md from the last report.
fn write_readme(folder: &Path) -> Result<(), String> {
    let source = folder.join(files::JSON);
    let tried = |error: io::Error| {
        let source = source.display();
        format!("{source}: {error}; run the program without --readme first")
    };
    let rows = std::fs::read_to_string(&source).map_err(tried)?;
    let wrong = |wrong: String| format!("{}: {wrong}", source.display());
    let rows: Vec<Row> = serde_json::from_str(&rows).map_err(|error| wrong(error.to_string()))?;
    let part = readme::part(&rows).map_err(wrong)?;
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let summary = summary::part(&put(&own, &part)?)?;
    put(&own.with_file_name("../README.md"), &summary)?;
    Ok(())
}

/// Puts the part in its place in the page, and returns the page.
fn put(page: &Path, part: &str) -> Result<String, String> {
    let wrong = |wrong: String| format!("{}: {wrong}", page.display());
    let text = std::fs::read_to_string(page).map_err(|error| wrong(error.to_string()))?;
    let text = readme::replace(&text, part).map_err(wrong)?;
    std::fs::write(page, &text).map_err(|error| wrong(error.to_string()))?;
    Ok(text)
}
