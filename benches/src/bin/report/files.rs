//! The files of a report.

use std::{fs, path::Path};

use queue_benches::report::row::Row;

/// The figures, for programs.
pub(crate) const JSON: &str = "report.json";
/// The figures, for people.
const TEXT: &str = "report.txt";

/// Makes the folder.
pub(crate) fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        format!("cannot make the folder {folder}: {error}; --out names another")
    })
}

/// Writes the figures.
pub(crate) fn write(folder: &Path, rows: &[Row], table: &str) -> Result<(), String> {
    let json = serde_json::to_string_pretty(rows).map_err(|error| error.to_string())?;
    put(folder, JSON, &json)?;
    put(folder, TEXT, table)
}

/// Where they are, in a sentence.
pub(crate) fn written(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    format!("{JSON} and {TEXT} are in {}", folder.display())
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
