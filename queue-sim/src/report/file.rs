//! Files of pictures.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// Names a folder for pictures; `off` for none.
const VARIABLE: &str = "QUEUE_SIM_PICTURES";

/// Writes a page into the folder of pictures, over an earlier one of this name. Returns the line that names it; `None`
/// if pictures are turned off. A folder that cannot be written is named in the line, because the failure that the
/// picture shows matters more.
pub(crate) fn keep_picture(name: &str, html: &str) -> Option<String> {
    let folder = folder()?;
    let letter = |letter: char| match letter.is_ascii_alphanumeric() || letter == '-' {
        true => letter,
        false => '_',
    };
    let file: String = name.chars().map(letter).take(120).collect();
    let path = folder.join(format!("{file}.html"));
    Some(match written(&path, html) {
        Ok(()) => format!("picture: file://{}", path.display()),
        Err(error) => format!(
            "no picture: {}: {error}; name another folder in {VARIABLE}",
            path.display()
        ),
    })
}

/// In one step, so that no reader sees half a page.
fn written(path: &Path, html: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&unfinished, html)?;
    fs::rename(&unfinished, path)
}

/// The folder that the variable names. Otherwise one in cargo's `target`, if the program runs below it or its
/// workspace, or else in the folder for temporary files.
fn folder() -> Option<PathBuf> {
    match env::var_os(VARIABLE) {
        Some(value) if value == "off" => return None,
        Some(value) if !value.is_empty() => return Some(PathBuf::from(value)),
        _ => {}
    }
    let here = env::current_dir().ok();
    let above = here.iter().flat_map(|here| here.ancestors());
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.filter(|target| target.is_absolute());
    let mut targets = target
        .into_iter()
        .chain(above.map(|folder| folder.join("target")));
    let target = targets.find(|target| target.is_dir());
    let pictures = target.unwrap_or_else(env::temp_dir).join("queue-sim");
    // Crates of one workspace have one `target`, and may have tests of one name.
    Some(match env::var_os("CARGO_PKG_NAME") {
        Some(package) => pictures.join(package),
        None => pictures,
    })
}
