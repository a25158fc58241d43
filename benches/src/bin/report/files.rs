//! The files of a report.

use std::{fs, path::Path};

use queue_benches::report::{plots, row::Row, scenario::Scenario, tsv};

/// The figures, for programs.
pub(crate) const TSV: &str = "report.tsv";
/// The figures, for people.
const TEXT: &str = "report.txt";

/// Makes the folder.
pub(crate) fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        format!("cannot make the folder {folder}: {error}; --out names another")
    })
}

/// Writes the figures, and a plot of each.
pub(crate) fn write(
    folder: &Path,
    scenarios: &[&Scenario],
    rows: &[Row],
    table: &str,
) -> Result<(), String> {
    put(folder, TSV, &tsv::write(rows))?;
    put(folder, TEXT, table)?;
    for scenario in scenarios {
        for figure in scenario.figures {
            let plot = plots::plot(scenario, figure, rows).svg();
            put(folder, &plots::file_name(scenario, figure), &plot)?;
        }
    }
    Ok(())
}

/// Where they are, in a sentence.
pub(crate) fn written(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    format!("{TSV}, {TEXT} and the plots are in {}", folder.display())
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
