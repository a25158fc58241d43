//! The findings about a server, and about a queue that cannot be read.

use std::time::Duration;

use queue_core::{Error, ErrorKind, QueueName, ServerFacts, with_sources};

use super::{Finding, Problem, Severity, folder};
use crate::{ShellCommand, words::duration_in_words as words};

/// Consumers poll more often: a right that is missing was refused within this time.
const PRESENT: Duration = Duration::from_secs(60);
/// An older refusal is not worth a word.
const OLD: Duration = Duration::from_secs(3_600);

/// The findings about the server of a queue.
pub(super) fn findings(server: &ServerFacts, queue: &QueueName) -> Vec<Finding> {
    let known = [
        moving(server),
        folder::disk_full(server).or_else(|| refuses_writes(server)),
        folder::slow_disk(server),
        right_missing(server, queue),
    ];
    let warnings = server
        .warnings
        .iter()
        .map(|warning| server_warning(warning));
    known.into_iter().flatten().chain(warnings).collect()
}

pub(super) fn no_such_queue(name: &str) -> Finding {
    let sentence = format!("there is no queue `{name}`");
    Finding::new(Problem::NoSuchQueue, Severity::Standstill, sentence).remedy(
        "look for its name among those there are; a program that opens it makes it",
        &ShellCommand::new("ls"),
    )
}

pub(super) fn unreadable(error: &Error, server: Option<&ServerFacts>) -> Finding {
    let is_folder = server.is_some_and(|server| server.folder.is_some());
    let (problem, advice) = if is_unreachable(error) {
        (Problem::Unreachable, "start the server, or correct the URL")
    } else if error.kind() == ErrorKind::Configuration && !is_folder {
        (
            Problem::RightMissing,
            "give the user the right, or correct the server's settings",
        )
    } else {
        (Problem::Unreadable, "correct what the error names")
    };
    Finding::new(problem, Severity::Standstill, with_sources(error))
        .with("kind", format!("{:?}", error.kind()))
        .advise(advice)
}

fn refuses_writes(server: &ServerFacts) -> Option<Finding> {
    let why = server.refuses_writes.as_ref()?;
    let full = server
        .memory_limit
        .is_some_and(|limit| server.memory >= limit);
    let (sentence, advice) = match full {
        true => (
            format!("the server refuses pushes: {why}; consumers can drain it"),
            "raise `maxmemory`, or remove what is not needed",
        ),
        false => (
            format!("the server refuses writes: {why}"),
            "mend the server",
        ),
    };
    let finding = Finding::new(Problem::RefusesWrites, Severity::Standstill, sentence)
        .with("server", server.address.clone())
        .with("memory", server.memory)
        .with("memory_limit", server.memory_limit);
    Some(finding.remedy(advice, &ShellCommand::new("check")))
}

fn right_missing(server: &ServerFacts, queue: &QueueName) -> Option<Finding> {
    // The braces are around a queue's name in its keys.
    let own = format!("{{{queue}}}");
    let mut denied = server.denied.iter();
    let latest = denied.find(|denied| !denied.what.contains('{') || denied.what.contains(&own))?;
    if latest.age >= OLD {
        return None;
    }
    let sentence = format!(
        "user `{}` lacks the right to {} (refused {} ×, last {} ago)",
        latest.user,
        latest.what,
        latest.times,
        words(latest.age)
    );
    // The server keeps old refusals, too: the user may have the right by now.
    let severity = match latest.age < PRESENT {
        true => Severity::Standstill,
        false => Severity::Note,
    };
    let finding = Finding::new(Problem::RightMissing, severity, sentence)
        .with("user", latest.user.clone())
        .with("times", latest.times);
    Some(finding.remedy(
        "give the user the rights of the least list",
        &ShellCommand::new("acl"),
    ))
}

fn moving(server: &ServerFacts) -> Option<Finding> {
    let to = server.moving_to.as_ref()?;
    let sentence = format!("its slot is moving to {to}: calls wait while its keys move");
    let finding =
        Finding::new(Problem::Moving, Severity::Standstill, sentence).with("to", to.clone());
    Some(finding.advise(
        "let the move come to its end; `redis-cli --cluster fix` ends one that was given up",
    ))
}

fn server_warning(warning: &str) -> Finding {
    Finding::new(Problem::ServerWarning, Severity::Note, warning.to_owned())
}

/// Whether an error says that the backend cannot be reached.
fn is_unreachable(error: &Error) -> bool {
    error.is_transient() || error.kind() == ErrorKind::Unavailable
}
