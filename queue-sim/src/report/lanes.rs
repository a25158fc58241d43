use std::collections::{BTreeMap, BTreeSet};

use super::{
    layout::{Line, columns},
    rows::{Row, lanes, rows},
    wording::Words,
};
use crate::{
    call::{Answer, Call},
    history::{CallId, History, Outcome, Record},
    plan::Lane,
};

/// A story with more rows is told without its middle: what goes on for a day in vain.
const LONGEST: usize = 200;

/// A history of several queues as lanes in time, up to what is marked last: only the lanes that
/// have a name here, and without what led to nothing, such as waiting. `marked` is what stands
/// beside the ends of some calls, `effects` beside the events of that order.
pub(crate) fn named_lanes(
    history: &History,
    names: &BTreeMap<Lane, String>,
    marked: &BTreeMap<CallId, String>,
    effects: &BTreeMap<u64, String>,
) -> String {
    let words = Words::of(history);
    let mut rows = rows(history, &words, false);
    let idle: BTreeSet<CallId> = history
        .records
        .iter()
        .filter(|record| is_idle(record) && !marked.contains_key(&record.id))
        .map(|record| record.id)
        .collect();
    rows.retain(|row| {
        row.lane.is_none_or(|lane| names.contains_key(&lane))
            && row.call.is_none_or(|call| !idle.contains(&call))
    });
    let shows = |row: &Row| {
        row.ends.is_some_and(|id| marked.contains_key(&id)) || effects.contains_key(&row.order)
    };
    if let Some(last) = rows.iter().rposition(shows) {
        rows.truncate(last + 1);
    }
    let busy: Vec<Lane> = lanes(&rows).into_iter().collect();
    let headings: Vec<String> = busy.iter().map(|lane| names[lane].clone()).collect();
    let beside = |row: &Row| match row.ends {
        Some(id) => marked.get(&id).cloned(),
        None => effects.get(&row.order).cloned(),
    };
    let mut lines: Vec<Line> = Vec::new();
    let mut left_out = 0;
    for (index, row) in rows.iter().enumerate() {
        let near_an_end = index < LONGEST / 2 || index + LONGEST / 2 >= rows.len();
        if !near_an_end && !shows(row) {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            lines.push(Line {
                text: format!("== {left_out} rows are left out"),
                ..Line::default()
            });
            left_out = 0;
        }
        lines.push(Line {
            time: words.time(row.at).to_string(),
            column: row
                .lane
                .and_then(|lane| busy.iter().position(|other| *other == lane)),
            text: row.text.clone(),
            beside: beside(row),
        });
    }
    columns(&headings, &lines)
}

/// Whether a call led to nothing that anybody has to know of.
fn is_idle(record: &Record) -> bool {
    if record.call.is_wait() || matches!(record.call, Call::Depth | Call::Counters) {
        return true;
    }
    let Some(ended) = &record.ended else {
        return false;
    };
    match &ended.outcome {
        Outcome::Ok(Answer::Leased(leased)) => leased.is_empty(),
        // A worker asks again; whoever sends something has to be told.
        Outcome::NotApplied(..) => matches!(record.call, Call::Lease(..)),
        _ => false,
    }
}
