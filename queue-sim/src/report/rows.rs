//! The rows of a timeline: the events in order, each in its process's column.

use std::collections::BTreeSet;

use queue_core::Timestamp;

use super::{leases, wording::Words};
use crate::{
    history::{CallEnd, CallId, Event, History, Moment, Record},
    plan::Process,
    world::Fault,
};

const CRASHED: &str = Fault::Crashed.as_str();
const STALLED: &str = Fault::Stalled.as_str();

/// One event.
#[derive(Debug)]
pub(super) struct TimelineRow {
    pub(super) at: Timestamp,
    /// `None`: all processes.
    pub(super) process: Option<Process>,
    pub(super) text: String,
    /// The call whose end this is.
    pub(super) ends: Option<CallId>,
    /// The call to which this belongs.
    pub(super) call: Option<CallId>,
    pub(super) order: u64,
    pub(super) kind: RowKind,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Call,
    /// The end of a lease at its deadline.
    Expiry,
    Fault,
    /// An effect outside of the queues.
    Effect,
    Other,
}

/// A moment of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallPhase {
    Began,
    Executed(usize),
    Ended,
}

/// All events, by order. With `lengths`, also the lengths that the environment asked for.
pub(super) fn rows(history: &History, words: &Words, lengths: bool) -> Vec<TimelineRow> {
    let mut moments: Vec<(Moment, Option<(&Record, CallPhase)>)> = Vec::new();
    for record in &history.records {
        moments.push((record.began, Some((record, CallPhase::Began))));
        for (nth, moment) in record.executed.iter().enumerate() {
            moments.push((*moment, Some((record, CallPhase::Executed(nth)))));
        }
        if let Some(ended) = &record.ended {
            moments.push((ended.at, Some((record, CallPhase::Ended))));
        }
    }
    let events: Vec<TimelineRow> = history
        .events
        .iter()
        .filter_map(|(moment, event)| event_row(*moment, event, words, lengths))
        .collect();
    // These rows are shown only if another event interrupts a call.
    moments.extend(events.iter().map(|row| {
        let moment = Moment {
            order: row.order,
            at: row.at,
        };
        (moment, None)
    }));
    moments.sort_by_key(|(moment, _)| moment.order);

    let mut rows = events;
    let mut rest = moments.as_slice();
    while let Some(((moment, what), after)) = rest.split_first() {
        let Some((record, _)) = what else {
            rest = after;
            continue;
        };
        let same = |(at, what): &(Moment, Option<(&Record, CallPhase)>)| {
            at.at == moment.at && what.is_some_and(|(other, _)| other.id == record.id)
        };
        let many = rest.iter().take_while(|each| same(each)).count();
        let parts = rest[..many].iter();
        let parts: Vec<CallPhase> = parts
            .filter_map(|(_, what)| Some(what.as_ref()?.1))
            .collect();
        rest = &rest[many..];
        if let Some(text) = text(history, record, &parts, words) {
            rows.push(TimelineRow {
                at: moment.at,
                process: Some(record.process),
                text,
                ends: parts.contains(&CallPhase::Ended).then_some(record.id),
                call: Some(record.id),
                order: moment.order,
                kind: RowKind::Call,
            });
        }
    }
    rows.sort_by_key(|row| row.order);
    for lease in leases::expired(history) {
        let before = |row: &TimelineRow| row.order <= lease.since || row.at < lease.deadline;
        let place = rows.iter().position(|row| !before(row));
        let row = TimelineRow {
            at: lease.deadline,
            process: Some(lease.process),
            text: format!(
                "  . {}lease {} expires",
                words.queue(&lease.queue),
                words.receipt(&lease.queue, lease.receipt)
            ),
            ends: None,
            call: None,
            order: lease.since,
            kind: RowKind::Expiry,
        };
        rows.insert(place.unwrap_or(rows.len()), row);
    }
    rows
}

fn text(history: &History, record: &Record, parts: &[CallPhase], words: &Words) -> Option<String> {
    let began = parts.contains(&CallPhase::Began);
    let executed = parts.iter().find_map(|part| match part {
        CallPhase::Executed(nth) => Some(*nth),
        _ => None,
    });
    let asked = words.call(&record.queue, &record.call);
    let queue = words.queue(&record.queue);
    let ended = parts.contains(&CallPhase::Ended);
    let ended = ended.then(|| outcome(history, record, words));
    Some(match (began, executed, ended) {
        (true, _, Some(ended)) => format!("{queue}{asked} -> {ended}"),
        // The moment of an expected execution is no news.
        (true, Some(_), None) => format!("{queue}{asked} (executed)"),
        (true, None, None) => format!("{queue}{asked} …"),
        (false, Some(0), None) => format!("  . executed: {queue}{asked}"),
        (false, Some(_), None) => format!("  . executed again: {queue}{asked}"),
        (false, None | Some(0), Some(ended)) => format!("… {queue}{asked} -> {ended}"),
        (false, Some(_), Some(ended)) => format!("… {queue}{asked} (executed again) -> {ended}"),
        (false, None, None) => return None,
    })
}

fn outcome(history: &History, record: &Record, words: &Words) -> String {
    let Some(ended) = &record.ended else {
        return String::new();
    };
    let truth = || {
        if !history.has_truth || record.call.is_wait() && record.executed.is_empty() {
            return "";
        }
        match record.executed.first() {
            None => ", never executed",
            Some(moment) if moment.order < ended.at.order => ", yet executed",
            Some(_) => ", executed later",
        }
    };
    match &ended.outcome {
        CallEnd::Ok(answer) => {
            let executed = record.executed.first();
            words.answer(&record.queue, answer, executed.unwrap_or(&ended.at).at)
        }
        CallEnd::NotApplied(kind, _) if record.executed.is_empty() => format!("{kind:?}"),
        CallEnd::NotApplied(kind, _) => format!("{kind:?}, not applied{}", truth()),
        CallEnd::Unknown(kind, _) => format!("{kind:?}, unknown{}", truth()),
        CallEnd::Dropped => format!("dropped{}", truth()),
    }
}

fn event_row(moment: Moment, event: &Event, words: &Words, lengths: bool) -> Option<TimelineRow> {
    let (process, text) = match event {
        Event::Crashed(process) => (Some(*process), "  . crashes, and forgets".to_owned()),
        Event::Stalled(process, until) => {
            let until = words.time(*until);
            (Some(*process), format!("  . stands still until {until}"))
        }
        Event::Effect(process, effect) => (Some(*process), format!("  * {effect}")),
        Event::Spared(process, how) => (Some(*process), format!("  . {how}")),
        Event::Failed(process, how) => (Some(*process), format!("  . {how}")),
        Event::Command(process, command) => (Some(*process), command.clone()),
        // Another event shows its consequence.
        Event::Fault(fault, _) if *fault == CRASHED || *fault == STALLED => return None,
        Event::Fault(fault, process) => {
            if *process == Process::WORLD {
                (None, format!("== {fault}"))
            } else {
                (Some(*process), format!("  . {fault}"))
            }
        }
        Event::RolledBack { to } => {
            let text = format!("== what was executed after step {to} is undone");
            (None, text)
        }
        Event::Healed => (None, "== the faults are over".to_owned()),
        Event::Length(_, length) if lengths => (None, format!("== holds {length}")),
        Event::Length(..) => return None,
        Event::Broken(rule, how) => (None, format!("== {rule} is broken: {how}")),
    };
    Some(TimelineRow {
        at: moment.at,
        process,
        text,
        ends: None,
        call: None,
        order: moment.order,
        kind: match event {
            Event::Effect(..) => RowKind::Effect,
            Event::Crashed(_)
            | Event::Stalled(..)
            | Event::Fault(..)
            | Event::RolledBack { .. } => RowKind::Fault,
            _ => RowKind::Other,
        },
    })
}

/// The processes with an event, in order.
pub(super) fn processes(rows: &[TimelineRow]) -> BTreeSet<Process> {
    rows.iter().filter_map(|row| row.process).collect()
}
