//! Tables for people, JSON for scripts.

use std::{
    error::Error as _,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use indicatif::{ProgressBar, ProgressStyle};
use queue_core::{Bytes, Error, ErrorKind, is_unprintable, sanitized, with_sources};
use queue_ops::{Diagnosis, ShellCommand};
use serde::Serialize;
use serde_json::{Value, json};

/// Characters of a text of others that a table shows.
const SHOWN: usize = 60;

/// How to write.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) json: bool,
    /// The options that lead to the same queues, for commands that are pasted: `--url …`, with a blank before them.
    pub(crate) globals: String,
}

impl Output {
    /// Writes a value as JSON if that was asked for, or else as `text` says.
    ///
    /// # Errors
    ///
    /// Errors of the output.
    pub(crate) fn show(
        &self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        match self.json {
            true => write_json(value),
            false => write_line(&text()),
        }
    }

    /// Writes an error. If nobody reads that, its status says that there was one.
    pub(crate) fn error(&self, error: &Error) {
        match self.json {
            true => drop(write_json(&json!({ "error": with_sources(error) }))),
            false => note(&format!("qk: {}", with_sources(error))),
        }
    }

    /// A command to paste, in quotes, for the same queues.
    pub(crate) fn command(&self, command: &ShellCommand) -> String {
        match command.text() {
            Some(text) => format!("`{}`", self.completed(&text)),
            None => "a program: no shell passes this name".to_owned(),
        }
    }

    /// Completes the commands of a diagnosis.
    pub(crate) fn complete(&self, mut diagnosis: Diagnosis) -> Diagnosis {
        let remedies = diagnosis.findings.iter_mut();
        for remedy in remedies.filter_map(|finding| finding.remedy.as_mut()) {
            remedy.command = remedy.command.as_deref().map(|text| self.completed(text));
        }
        diagnosis
    }

    /// Puts the options between `qk` and the rest of a command.
    fn completed(&self, command: &str) -> String {
        match command.strip_prefix("qk ") {
            Some(rest) => format!("qk{} {rest}", self.globals),
            None => command.to_owned(),
        }
    }
}

/// Writes lines to standard output. Nothing unprintable of others' texts reaches the terminal.
///
/// # Errors
///
/// Errors of the output. None if its reader has closed it, such as `head`: it has seen enough.
pub(crate) fn write_line(text: &str) -> Result<(), Error> {
    let visible = |c: char| {
        if is_unprintable(c) && c != '\n' {
            ' '
        } else {
            c
        }
    };
    let text: String = text.trim_end().chars().map(visible).collect();
    write_text(&format!("{text}\n"))
}

/// Writes a line of many. Returns false if nobody reads more.
///
/// # Errors
///
/// As [`write_line`].
pub(crate) fn write_next(text: &str) -> Result<bool, Error> {
    write_line(text)?;
    Ok(!IS_CLOSED.load(Ordering::Relaxed))
}

/// Whether the reader of the output has closed it.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes a text to standard output as it is.
///
/// # Errors
///
/// As [`write_line`].
pub(crate) fn write_text(text: &str) -> Result<(), Error> {
    let mut output = io::stdout().lock();
    written(
        output
            .write_all(text.as_bytes())
            .and_then(|()| output.flush()),
    )
}

/// Writes JSON on one line: unprintable characters are escaped, and stay what they are.
fn write_json(value: &impl Serialize) -> Result<(), Error> {
    let json = serde_json::to_string(value);
    let json = json.map_err(|error| Error::invalid(format!("no JSON: {error}")))?;
    write_text(&format!("{}\n", escaped(&json)))
}

/// JSON without unprintable characters: outside of strings it has none.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match is_unprintable(c) {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => out.push(c),
        }
    }
    out
}

/// The error of a write, unless its reader has closed the output.
pub(crate) fn written(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            IS_CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(error) => Err(Error::new(
            ErrorKind::Configuration,
            format!("the standard output: {error}"),
        )),
    }
}

/// Whether this is the error of an output whose reader has closed it.
pub(crate) fn is_closed(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref());
    source.is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes a line to the error output, if anybody reads that.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", sanitized(text));
}

/// A bar for long work, on the error output if that is a terminal.
pub(crate) fn progress(of: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {percent} %, {eta} left");
    ProgressBar::new(of).with_style(style.expect("a template"))
}

/// A table with aligned columns.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(head[column].len())
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        let line: Vec<String> = padded.collect();
        format!("{}\n", line.join("  ").trim_end())
    };
    let mut out = String::new();
    if head.iter().any(|heading| !heading.is_empty()) {
        out = line(&mut head.iter().copied());
    }
    for row in rows {
        out.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    out
}

/// The line under a table that does not show all.
pub(crate) const MORE: &str = "… and more: -n shows more of them\n";

/// The beginning of a text of others, on one line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line: String = sanitized(text).chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

/// The beginning of a body: text as it is, other bytes in hexadecimal.
pub(crate) fn body(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => one_line(text),
        Err(_) => one_line(&hex(&bytes[..bytes.len().min(SHOWN)])),
    }
}

/// Adds bytes of others to a JSON object, whole: text as `name`, other bytes in hexadecimal as `name_hex`.
pub(crate) fn add_bytes(object: &mut Value, name: &str, bytes: &Bytes) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object[name] = text.into(),
        Err(_) => object[format!("{name}_hex")] = hex(bytes).into(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Foreign text in JSON is data: whatever reads it gets each character.
    #[test]
    fn json_has_no_unprintable_character_and_loses_none() {
        let all: String = ('\0'..=char::MAX)
            .filter(|c| is_unprintable(*c))
            .chain("\"\\ü🦀".chars())
            .collect();
        let json = escaped(&serde_json::to_string(&all).unwrap());
        assert!(!json.contains(is_unprintable));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), all);
    }

    #[test]
    fn a_long_text_is_cut_with_a_mark_and_a_shorter_one_is_whole() {
        let (whole, long) = ("ü".repeat(SHOWN), "ü".repeat(SHOWN + 1));
        assert_eq!(one_line(&whole), whole);
        assert_eq!(one_line(&long), format!("{whole}…"));
        assert_eq!(body(b"\xff\x00"), "ff00");
        assert_eq!(body(&[0xff; 31]).chars().count(), SHOWN + 1);
    }
}
