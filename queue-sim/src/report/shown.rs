//! A history as it is shown, as text or as a picture.

use queue_core::Timestamp;

use super::{
    layout::{LayoutLine, columns},
    rows::{TimelineRow, processes},
    wording::Words,
};
use crate::plan::Process;

/// The rows of a history that matter, and the notes beside them.
pub(crate) struct Shown {
    pub(super) words: Words,
    pub(super) rows: Vec<TimelineRow>,
    /// The number of further rows, which do not matter.
    pub(super) left_out: usize,
    /// The processes with a row, and their names.
    pub(super) headings: Vec<(Process, String)>,
    /// The note beside each row.
    pub(super) beside: Vec<Option<String>>,
}

impl Shown {
    pub(super) fn new(
        words: Words,
        rows: Vec<TimelineRow>,
        left_out: usize,
        heading: impl Fn(Process) -> String,
        beside: impl Fn(&TimelineRow) -> Option<String>,
    ) -> Self {
        let processes = processes(&rows).into_iter();
        Self {
            headings: processes
                .map(|process| (process, heading(process)))
                .collect(),
            beside: rows.iter().map(beside).collect(),
            words,
            rows,
            left_out,
        }
    }

    /// The column of a row; `None` for all of them.
    pub(super) fn column(&self, row: &TimelineRow) -> Option<usize> {
        let process = row.process?;
        self.headings
            .iter()
            .position(|(other, _)| *other == process)
    }

    pub(super) fn time(&self, at: Timestamp) -> String {
        self.words.time(at).to_string()
    }

    /// Lays the rows out as text. Ends with a line break.
    pub(crate) fn text(&self) -> String {
        let headings: Vec<String> = self.headings.iter().map(|(_, name)| name.clone()).collect();
        let lines = self.rows.iter().zip(&self.beside);
        let lines = lines.map(|(row, beside)| LayoutLine {
            time: self.time(row.at),
            column: self.column(row),
            text: row.text.clone(),
            beside: beside.clone(),
        });
        let rest = (self.left_out > 0).then(|| LayoutLine {
            text: format!("== and {} more rows, which do not matter", self.left_out),
            ..LayoutLine::default()
        });
        columns(&headings, lines.chain(rest).collect())
    }
}
