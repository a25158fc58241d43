//! A failure as a page of HTML: processes in lanes, time downwards, leases as bars. The page needs no other file, no
//! network and no script.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    layout::shortened,
    leases::{HeldLease, leases},
    rows::{RowKind, TimelineRow},
    shown::Shown,
};
use crate::{
    history::{CallId, History},
    model::PlaceView,
};

const STYLE: &str = include_str!("picture.css");

/// The most rows of a picture. A longer one loses its middle, except for rows with a note.
const LONGEST: usize = 1_000;

/// The width of a bar and of the space behind it, in pixels.
const BAR: usize = 9;

/// The content of a page.
pub(crate) struct Picture<'a> {
    /// The broken rule, and how it broke.
    pub(crate) title: &'a str,
    /// The rule in words.
    pub(crate) rule: Option<&'a str>,
    pub(crate) shown: &'a Shown,
    pub(crate) history: &'a History,
    /// The places of all messages in the model after each call; empty if they are not known.
    pub(crate) views: &'a BTreeMap<CallId, Vec<PlaceView>>,
    /// The line that plays the run again.
    pub(crate) replay: &'a str,
}

/// A lease on the page: its lane, its slot there, and its rows.
struct Bar {
    lane: usize,
    slot: usize,
    from: usize,
    to: usize,
    label: String,
    expired: bool,
}

impl Picture<'_> {
    pub(crate) fn html(&self) -> String {
        let rows = self.kept_rows();
        let bars = self.bars(&rows);
        let lanes = self.shown.headings.len();
        let slots: Vec<usize> = (0..lanes)
            .map(|lane| {
                let own = bars.iter().filter(|bar| bar.lane == lane);
                own.map(|bar| bar.slot + 1).max().unwrap_or(0)
            })
            .collect();
        let mut page = String::new();
        let title = escaped(&shortened(self.title));
        let _ = write!(
            page,
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n<h1>{title}</h1>\n"
        );
        if let Some(rule) = self.rule {
            let _ = writeln!(page, "<blockquote>{}</blockquote>", escaped(rule));
        }
        page.push_str(
            "<p class=\"key\"><span><b class=\"mark\">▮</b> a lease, from its delivery to its end; striped if it expired</span>\
             <span class=\"fault\">a fault</span><span class=\"effect\">an effect outside of the queue</span>",
        );
        if !self.views.is_empty() {
            page.push_str("<span>a call opens the model's state after it</span>");
        }
        let _ = write!(
            page,
            "</p>\n<div class=\"lanes\" style=\"grid-template-columns: max-content repeat({lanes}, minmax(12rem, 1fr))\">\n\
             <div class=\"head time\" style=\"grid-area: 1 / 1\">ms</div>\n"
        );
        for (lane, (_, name)) in self.shown.headings.iter().enumerate() {
            let column = lane + 2;
            let name = escaped(name);
            let _ = writeln!(
                page,
                "<div class=\"head lane\" style=\"grid-area: 1 / {column}\">{name}</div>"
            );
        }
        for lane in 0..lanes {
            let (column, last) = (lane + 2, rows.len() + 2);
            let _ = writeln!(
                page,
                "<div class=\"lane\" style=\"grid-area: 2 / {column} / {last} / {column}\"></div>"
            );
        }
        for (line, row) in rows.iter().enumerate() {
            self.row(&mut page, line + 2, *row, &slots);
        }
        for bar in &bars {
            let _ = writeln!(
                page,
                "<div class=\"bar{}\" title=\"{}\" style=\"grid-area: {} / {} / {} / {}; margin-left: {}px\"></div>",
                if bar.expired { " expired" } else { "" },
                escaped(&bar.label),
                bar.from + 2,
                bar.lane + 2,
                bar.to.max(bar.from + 1) + 2,
                bar.lane + 3,
                4 + bar.slot * BAR,
            );
        }
        page.push_str("</div>\n");
        if self.shown.left_out > 0 {
            let _ = writeln!(
                page,
                "<p>{} more rows follow, which do not matter.</p>",
                self.shown.left_out
            );
        }
        let _ = writeln!(page, "<pre>{}</pre>\n</html>", escaped(self.replay));
        page
    }

    /// The places of the rows that are shown; `None` for the middle that is left out.
    fn kept_rows(&self) -> Vec<Option<usize>> {
        let count = self.shown.rows.len();
        let mut kept = Vec::new();
        for row in 0..count {
            let near_an_end = row < LONGEST / 2 || row + LONGEST / 2 >= count;
            if near_an_end || self.shown.beside[row].is_some() {
                kept.push(Some(row));
            } else if kept.last() != Some(&None) {
                kept.push(None);
            }
        }
        kept
    }

    fn row(&self, page: &mut String, line: usize, row: Option<usize>, slots: &[usize]) {
        let Some(at) = row else {
            let _ = writeln!(
                page,
                "<div class=\"world\" style=\"grid-row: {line}; grid-column: 1 / -1\">some rows are left out</div>"
            );
            return;
        };
        let (row, note) = (&self.shown.rows[at], &self.shown.beside[at]);
        let _ = write!(
            page,
            "<div class=\"time\" style=\"grid-area: {line} / 1\">{}</div>",
            self.shown.time(row.at)
        );
        let lane = self.shown.column(row);
        let place = match lane {
            Some(lane) => {
                let padding = 8 + slots[lane] * BAR;
                format!(
                    "grid-area: {line} / {}; padding-left: {padding}px",
                    lane + 2
                )
            }
            None => format!("grid-row: {line}; grid-column: 2 / -1"),
        };
        let class = match (lane, note) {
            (_, Some(_)) => "bad",
            (None, None) => "world",
            (Some(_), None) => "row",
        };
        let text = shortened(&row.text);
        let text = text.trim_start_matches([' ', '.', '*', '=']);
        let _ = write!(page, "<div class=\"{class}\" style=\"{place}\">");
        let text = format!(
            "<span class=\"{}\">{}</span>",
            row.kind.class(),
            escaped(text)
        );
        let view = row.call.and_then(|call| self.views.get(&call));
        match view {
            Some(view) => {
                let _ = write!(page, "<details><summary>{text}</summary>");
                self.view(page, view);
                page.push_str("</details>");
            }
            None => page.push_str(&text),
        }
        if let Some(note) = note {
            let note = match note.is_empty() {
                true => "this call shows it",
                false => note,
            };
            let _ = write!(
                page,
                "<span class=\"note\">{}</span>",
                escaped(&shortened(note))
            );
        }
        page.push_str("</div>\n");
    }

    /// The model's state.
    fn view(&self, page: &mut String, view: &[PlaceView]) {
        if view.is_empty() {
            page.push_str("<table><tr><td>empty</td></tr></table>");
            return;
        }
        page.push_str("<table>");
        for (place, messages) in view {
            let words: Vec<String> = messages
                .iter()
                .map(|(id, until)| match until {
                    Some(until) => format!("{id} ({})", self.shown.time(*until)),
                    None => id.to_string(),
                })
                .collect();
            let words = shortened(&words.join(", "));
            let _ = write!(page, "<tr><td>{place}</td><td>{words}</td></tr>");
        }
        page.push_str("</table>");
    }

    fn bars(&self, rows: &[Option<usize>]) -> Vec<Bar> {
        let mut bars: Vec<Bar> = leases(self.history)
            .iter()
            .filter_map(|lease| self.bar(rows, lease))
            .collect();
        bars.sort_by_key(|bar| (bar.lane, bar.from, bar.to));
        // The first slot that is free at its first row.
        for nth in 0..bars.len() {
            let (before, rest) = bars.split_at_mut(nth);
            let bar = &mut rest[0];
            let overlaps = |other: &&Bar| other.lane == bar.lane && other.to > bar.from;
            let taken: Vec<usize> = before
                .iter()
                .filter(overlaps)
                .map(|other| other.slot)
                .collect();
            bar.slot = (0..).find(|slot| !taken.contains(slot)).unwrap_or(0);
        }
        bars
    }

    fn bar(&self, rows: &[Option<usize>], lease: &HeldLease) -> Option<Bar> {
        let shown = self.shown;
        let find = |is: &dyn Fn(&TimelineRow) -> bool| {
            rows.iter()
                .position(|row| row.is_some_and(|row| is(&shown.rows[row])))
        };
        // A call has several rows if something happened meanwhile: this is the one of its effect.
        let effect = |(call, order): (CallId, u64)| {
            rows.iter().rposition(|row| {
                row.is_some_and(|row| {
                    let row = &shown.rows[row];
                    row.call == Some(call) && row.order <= order
                })
            })
        };
        let from = effect(lease.began)?;
        let expiry = find(&|row| {
            row.kind == RowKind::Expiry && row.order == lease.since && row.at == lease.deadline
        });
        let (to, how) = match lease.settled {
            Some(settled) => (effect(settled), "settled".to_owned()),
            None => (expiry, format!("until {}", shown.time(lease.deadline))),
        };
        let receipt = shown.words.receipt(&lease.queue, lease.receipt);
        let queue = shown.words.queue(&lease.queue);
        Some(Bar {
            lane: shown
                .headings
                .iter()
                .position(|(process, _)| *process == lease.process)?,
            slot: 0,
            from,
            to: to.map_or(rows.len(), |to| to + 1),
            label: format!("{queue}lease {receipt}, {how}"),
            expired: lease.settled.is_none() && expiry.is_some(),
        })
    }
}

impl RowKind {
    const fn class(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Expiry => "expiry",
            Self::Fault => "fault",
            Self::Effect => "effect",
            Self::Other => "other",
        }
    }
}

/// A text within HTML, also within an attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}
