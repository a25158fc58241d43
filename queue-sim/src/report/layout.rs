//! Columns of text.

use std::fmt::Write;

/// The widest column; longer texts go on in the next line.
const WIDEST: usize = 44;

/// The most rows of a history view. A longer one loses its middle, such as a day of vain attempts.
const LONGEST: usize = 200;

/// The longest text, such as a call with many messages, or large ones.
const TEXT: usize = 600;

/// A row: its time, its column, the text in it, and the note beside it.
#[derive(Debug, Default)]
pub(super) struct LayoutLine {
    pub(super) time: String,
    /// `None`: across all columns.
    pub(super) column: Option<usize>,
    pub(super) text: String,
    pub(super) beside: Option<String>,
}

/// The beginning of a text, and the length of the rest.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text.len() - end;
            format!("{} … ({left} bytes are left out)", &text[..end])
        }
    }
}

/// Takes the middle out of a long history view, except lines with a note.
fn without_middle(lines: Vec<LayoutLine>) -> Vec<LayoutLine> {
    let count = lines.len();
    let mut kept: Vec<LayoutLine> = Vec::with_capacity(count.min(2 * LONGEST));
    let mut left_out = 0;
    for (index, line) in lines.into_iter().enumerate() {
        let near_an_end = index < LONGEST / 2 || index + LONGEST / 2 >= count;
        if !near_an_end && line.beside.is_none() {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            kept.push(LayoutLine {
                text: format!("== {left_out} rows are left out"),
                ..LayoutLine::default()
            });
            left_out = 0;
        }
        kept.push(line);
    }
    kept
}

/// Lays lines out under these headings, and takes the middle out of a long history view.
pub(super) fn columns(headings: &[String], lines: Vec<LayoutLine>) -> String {
    let mut lines = without_middle(lines);
    for line in &mut lines {
        line.text = shortened(&line.text);
        line.beside = line.beside.as_deref().map(shortened);
    }
    let mut widths: Vec<usize> = headings.iter().map(|heading| width(heading)).collect();
    let mut wrapped = Vec::new();
    for line in &lines {
        let parts = match line.column {
            Some(_) => wrap(&line.text, "    ", WIDEST),
            None => vec![line.text.clone()],
        };
        if let Some(column) = line.column {
            let widest = parts.iter().map(|part| width(part)).max();
            widths[column] = widths[column].max(widest.unwrap_or(0));
        }
        wrapped.push(parts);
    }
    let times = lines.iter().map(|line| width(&line.time)).max();
    let time = times.unwrap_or(0).max(5);

    let mut page = String::new();
    let mut heading = format!("{:>time$} ", "t(ms)");
    for (name, width) in headings.iter().zip(&widths) {
        let _ = write!(heading, " {name:<width$} ");
    }
    end(&mut page, &heading);
    for (line, parts) in lines.iter().zip(&wrapped) {
        for (index, part) in parts.iter().enumerate() {
            let at = if index == 0 { &line.time } else { "" };
            let mut shown = format!("{at:>time$} ");
            for (column, width) in widths.iter().enumerate() {
                let text = if line.column == Some(column) {
                    part
                } else {
                    ""
                };
                let across = line.column.is_none() && column == 0;
                let text = if across { part } else { text };
                let _ = write!(shown, " {text:<width$} ");
                if across {
                    break;
                }
            }
            if let Some(beside) = line.beside.as_ref().filter(|_| index + 1 == parts.len()) {
                // The note comes right after its text, if no other column follows.
                let short = shown.trim_end().to_owned();
                shown = format!("{short}   <- {beside}");
            }
            end(&mut page, &shown);
        }
    }
    page
}

fn end(page: &mut String, line: &str) {
    page.push_str(line.trim_end());
    page.push('\n');
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text at its spaces into lines of about `widest` columns. All lines after the first begin with `indent`.
pub(super) fn wrap(text: &str, indent: &str, widest: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let full = lines.last().map_or(0, |line| width(line)) + width(word.trim_end()) > widest;
        if full && lines.last().is_some_and(|line| !line.trim().is_empty()) {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}
