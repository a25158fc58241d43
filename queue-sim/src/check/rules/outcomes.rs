//! L8: the error of a failed call is true.

use queue_core::{ErrorKind, Timestamp, call::Call};

use super::Found;
use crate::{
    check::{CheckInput, Finding},
    history::{CallEnd, Event, Record},
    model::Model,
    world::Fault,
};

pub(in crate::check) fn check(case: &CheckInput<'_>, found: &mut Vec<Found>) {
    for record in &case.history.records {
        let Some(ended) = &record.ended else {
            continue;
        };
        // No fault explains this one: the backend did not understand itself.
        if let CallEnd::NotApplied(ErrorKind::Internal, message)
        | CallEnd::Unknown(ErrorKind::Internal, message) = &ended.outcome
        {
            let message = format!("{:?} fails: {message}", record.call);
            found.push(broken("outcome", ended.at.order, record, message));
        }
        match &ended.outcome {
            CallEnd::NotApplied(kind, message) => {
                unexplained(case, record, *kind, message, found);
                if let Some(executed) = record.executed.first() {
                    let message = format!(
                        "{:?} is said not to have been applied ({message}), and was",
                        record.call
                    );
                    found.push(broken("outcome", executed.order, record, message));
                }
                if *kind == ErrorKind::Invalid && is_valid(case, record) {
                    let message = format!("{:?} is called invalid: {message}", record.call);
                    found.push(broken("limits", ended.at.order, record, message));
                }
            }
            // No backend executes this call on a queue that does not exist.
            CallEnd::Ok(_) if matches!(record.call, Call::Reconfigure(_)) => {}
            CallEnd::Ok(_) if case.history.has_truth && !record.only_waited() => {
                if record.executed.is_empty() {
                    let message = format!("{:?} is answered, and was never executed", record.call);
                    found.push(broken("outcome", ended.at.order, record, message));
                } else if !record
                    .executed
                    .iter()
                    .any(|executed| (record.began.order..=ended.at.order).contains(&executed.order))
                {
                    let message =
                        format!("{:?} is answered, and was not executed then", record.call);
                    found.push(broken("outcome", ended.at.order, record, message));
                }
            }
            _ => {}
        }
    }
}

/// A call may fail only if a fault struck that can make it fail. A client handles some faults alone, such as a server
/// that has forgotten its scripts, and they must not fail a call.
fn unexplained(
    case: &CheckInput<'_>,
    record: &Record,
    kind: ErrorKind,
    message: &str,
    found: &mut Vec<Found>,
) {
    const HARMLESS: [Fault; 4] = [
        Fault::ScriptsFlushed,
        Fault::Cancelled,
        Fault::Spurious,
        Fault::ClockBack,
    ];
    let Some(ended) = &record.ended else {
        return;
    };
    let explains = |event: &Event| match event {
        Event::Fault(name, _) => !HARMLESS.iter().any(|fault| fault.as_str() == *name),
        Event::Crashed(_) | Event::Stalled(..) | Event::RolledBack { .. } => true,
        _ => false,
    };
    let events = case.history.events.iter();
    let mut before = events.take_while(|(at, _)| at.order < ended.at.order);
    let explained = before.any(|(_, event)| explains(event));
    if kind == ErrorKind::Unavailable && case.history.has_truth && !explained {
        let message = format!(
            "{:?} fails, and no fault explains it: {message}",
            record.call
        );
        found.push(broken("outcome", ended.at.order, record, message));
    }
}

/// The model of an empty queue decides whether a call is valid: the queue's content does not
/// matter.
fn is_valid(case: &CheckInput<'_>, record: &Record) -> bool {
    let now = Timestamp::from_millis(record.began.at.as_millis());
    Model::new(case.config).apply(now, &record.call).is_ok()
}

fn broken(rule: &'static str, at: u64, record: &Record, message: String) -> Found {
    Found {
        at,
        finding: Finding::new(rule, message).shown_by([record.id]),
    }
}
