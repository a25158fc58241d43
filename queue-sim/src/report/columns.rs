use std::collections::{BTreeMap, BTreeSet};

use queue_core::call::{Answer, Call};

use super::{
    held::extended_once,
    rows::{TimelineRow, rows},
    shown::Shown,
    wording::Words,
};
use crate::{
    history::{CallEnd, CallId, History, Record},
    plan::Process,
};

/// The history view of several queues, up to the last mark. It shows only processes with a name in `names`, and
/// leaves out calls that led to nothing, such as waits. `marked` has the notes beside the ends of calls, and `effects`
/// the notes beside events, by their order.
pub(crate) fn named_columns(
    history: &History,
    names: &BTreeMap<Process, String>,
    marked: &BTreeMap<CallId, String>,
    effects: &BTreeMap<u64, String>,
) -> Shown {
    let words = Words::of(history);
    let mut rows = shown(history, &words, names, marked);
    let shows = |row: &TimelineRow| {
        row.ends.is_some_and(|id| marked.contains_key(&id)) || effects.contains_key(&row.order)
    };
    if let Some(last) = rows.iter().rposition(shows) {
        rows.truncate(last + 1);
    }
    let beside = |row: &TimelineRow| match row.ends {
        Some(id) => marked.get(&id).cloned(),
        None => effects.get(&row.order).cloned(),
    };
    Shown::new(words, rows, 0, |process| names[&process].clone(), beside)
}

/// Two histories that should be equal, each up to the first row that differs; `None` if no row that
/// they show differs.
pub(crate) fn parting_rows(
    first: &History,
    second: &History,
    names: &BTreeMap<Process, String>,
) -> Option<(String, String)> {
    let histories = [first, second];
    let words = histories.map(Words::of);
    let mut rows = [
        shown(first, &words[0], names, &BTreeMap::new()),
        shown(second, &words[1], names, &BTreeMap::new()),
    ];
    let shown_row =
        |words: &Words, row: &TimelineRow| (words.time(row.at), row.process, row.text.clone());
    let mut both = rows[0].iter().zip(&rows[1]);
    let alike =
        both.position(|(one, other)| shown_row(&words[0], one) != shown_row(&words[1], other));
    let alike = alike.unwrap_or_else(|| rows[0].len().min(rows[1].len()));
    if rows.iter().all(|rows| rows.len() == alike) {
        return None;
    }
    for rows in &mut rows {
        rows.truncate(alike + 1);
    }
    let [first, second] = [0, 1].map(|run| {
        let parts = rows[run].get(alike).map(|row| row.order);
        let named = |process| names[&process].clone();
        let rows = std::mem::take(&mut rows[run]);
        let shown = Shown::new(Words::of(histories[run]), rows, 0, named, |row| {
            (Some(row.order) == parts).then(|| "here they part".to_owned())
        });
        let mut shown_row = shown.text();
        if parts.is_none() {
            shown_row.push_str("      == nothing more   <- here they part\n");
        }
        shown_row
    });
    Some((first, second))
}

/// The rows of a named process, or of all processes, without calls that led to nothing.
fn shown(
    history: &History,
    words: &Words,
    names: &BTreeMap<Process, String>,
    marked: &BTreeMap<CallId, String>,
) -> Vec<TimelineRow> {
    let idle: BTreeSet<CallId> = history
        .records
        .iter()
        .filter(|record| is_idle(record) && !marked.contains_key(&record.id))
        .map(|record| record.id)
        .collect();
    let mut rows = rows(history, words, false);
    rows.retain(|row| {
        row.process
            .is_none_or(|process| names.contains_key(&process))
            && row.call.is_none_or(|call| !idle.contains(&call))
    });
    extended_once(history, words, rows, |call| marked.contains_key(&call))
}

/// Whether a call led to nothing worth showing.
fn is_idle(record: &Record) -> bool {
    if record.only_waited() || matches!(record.call, Call::Depth | Call::Counters) {
        return true;
    }
    let Some(ended) = &record.ended else {
        return false;
    };
    match &ended.outcome {
        CallEnd::Ok(Answer::Leased(leased)) => leased.is_empty(),
        CallEnd::Ok(Answer::SettledAndLeased(settled, leased)) => {
            settled.is_empty() && leased.is_empty()
        }
        // A worker polls again; any other caller needs the answer.
        CallEnd::NotApplied(..) => match &record.call {
            Call::Lease(..) => true,
            Call::SettleAndLease(batch, ..) => batch.is_empty(),
            _ => false,
        },
        _ => false,
    }
}
