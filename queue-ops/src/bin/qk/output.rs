//! Tables for people, JSON for scripts.

use indicatif::{ProgressBar, ProgressStyle};
use queue_core::Error;
use serde::Serialize;

/// Characters of a body that a table shows.
const SHOWN: usize = 60;

/// How to write.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
}

impl Output {
    /// Writes a value as JSON if that was asked for, or else as `text` says.
    pub(crate) fn show(&self, value: &impl Serialize, text: impl FnOnce() -> String) {
        let shown = match self.json {
            true => serde_json::to_string(value).unwrap_or_else(|error| error.to_string()),
            false => text(),
        };
        write_line(&shown);
    }

    pub(crate) fn error(&self, error: &Error) {
        match self.json {
            true => write_line(&serde_json::json!({ "error": error.to_string() }).to_string()),
            false => eprintln!("qk: {}", clean(&error.to_string())),
        }
    }
}

/// Writes lines to standard output. No control character of others' texts reaches the terminal. A reader that has closed
/// the output, such as `head`, has seen enough.
pub(crate) fn write_line(text: &str) {
    use std::io::Write;
    let visible = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    let text: String = text.trim_end().chars().map(visible).collect();
    let _ = writeln!(std::io::stdout(), "{text}");
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

/// Text of others: no control character reaches the terminal.
pub(crate) fn clean(text: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(visible).collect()
}

/// The beginning of a text of others, on one line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line: String = clean(text).chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

/// The beginning of a body: text as it is, other bytes in hexadecimal.
pub(crate) fn body(bytes: &[u8]) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes
            .iter()
            .take(SHOWN)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    };
    one_line(&text)
}
