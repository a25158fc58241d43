//! Measures what users of a queue ask for, each figure beside raw commands: `report --help`.

mod arguments;
mod files;

use std::{env, io, path::Path, process::ExitCode};

use queue_benches::report::{readme, run, scenario::Scenario, scenarios, text, tsv};

use self::arguments::{Arguments, Task, help};

fn main() -> ExitCode {
    let arguments = match Arguments::parse(env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{}", help());
            return ExitCode::SUCCESS;
        }
        Err(wrong) => {
            eprintln!("report: {wrong}\n\nreport --help says what there is");
            return ExitCode::from(2);
        }
    };
    let done = match arguments.task {
        Task::Measure { .. } => measure(&arguments),
        Task::Readme => write_readme(&arguments.folder),
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
    let Task::Measure { effort, only } = &arguments.task else {
        return Ok(());
    };
    // Tried first, since the measurements take long.
    files::make(&arguments.folder)?;
    let mut rows = Vec::new();
    run::all(only, *effort, &mut |row| {
        let (ours, raw) = (
            text::number(row.ours.median),
            text::number(row.theirs.median),
        );
        let (scenario, case) = (&row.scenario, &row.case);
        let (placement, figure) = (row.placement, &row.figure);
        eprintln!("{placement} / {scenario}, {case}: {figure} {ours}, raw {raw}");
        rows.push(row);
    });
    let about = |name: &str| scenarios::named(name).map_or_else(|wrong| wrong, Scenario::sentence);
    let table = text::table(&rows, &about);
    files::write(&arguments.folder, only, &rows, &table)?;
    println!("{table}");
    println!("{}", files::written(&arguments.folder));
    Ok(())
}

/// Writes the page's part from the last report.
fn write_readme(folder: &Path) -> Result<(), String> {
    let source = folder.join(files::TSV);
    let tried = |error: io::Error| {
        let source = source.display();
        format!("{source}: {error}; run the program without --readme first")
    };
    let rows = std::fs::read_to_string(&source).map_err(tried)?;
    let wrong = |wrong| format!("{}: {wrong}", source.display());
    let rows = tsv::read(&rows).map_err(wrong)?;
    let (part, plot) = readme::part(&rows).map_err(wrong)?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = here.join("README.md");
    let told = |error: io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(&page).map_err(told)?;
    let text =
        readme::replace(&text, &part).map_err(|wrong| format!("{}: {wrong}", page.display()))?;
    std::fs::write(&page, text).map_err(told)?;
    std::fs::write(here.join(readme::PLOT), plot).map_err(told)
}
