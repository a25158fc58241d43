//! Why no message comes: rows of an outbox that nobody relays, that a relay refused, or that are almost too old for one.

use std::time::Duration;

use queue_core::{Error, ErrorKind, QueueName, Result, limits, millis_ceil, sanitized};
use queue_sql::{OutboxCounts, Store};
use tokio::time::sleep;

use crate::{Diagnosis, Finding, Problem, Severity, ShellCommand, counted, duration_in_words};

/// A row this old waits for something: a relay polls each second.
const WAITS: Duration = Duration::from_secs(60);

/// The time between two looks at rows that seem to wait: a relay polls once in it, or more.
const AGAIN: Duration = Duration::from_millis(1_500);

/// The age from which on a relay refuses a row, if its program sets none.
const WINDOW: Duration = limits::MAX_DEDUP_WINDOW.saturating_sub(Duration::from_secs(3_600));

/// The time before that, in which somebody has to hear of it.
const NEAR: Duration = Duration::from_secs(24 * 3_600);

/// The findings about the outbox of a database: a diagnosis of each queue that has some, without the queue's numbers.
/// Changes nothing, and reads each row. If rows seem to wait, it looks twice, 1.5 s apart.
///
/// # Errors
///
/// Errors of the database. `Invalid` if another program wrote a row for a queue whose name is none.
pub async fn diagnose_outbox(store: &dyn Store) -> Result<Vec<Diagnosis>> {
    let first = store.counts().await?;
    let waits = first
        .iter()
        .any(|one| one.oldest.is_some_and(|age| age >= WAITS));
    let second = match waits {
        true => {
            sleep(AGAIN).await;
            store.counts().await?
        }
        false => first.clone(),
    };
    let mut diagnoses = Vec::new();
    for counts in &second {
        let before = first.iter().find(|one| one.queue == counts.queue);
        let findings = findings(counts, before.and_then(|one| one.oldest));
        if !findings.is_empty() {
            let mut diagnosis = Diagnosis::without_numbers(name(&counts.queue)?);
            diagnosis.add(findings);
            diagnoses.push(diagnosis);
        }
    }
    Ok(diagnoses)
}

fn name(queue: &str) -> Result<QueueName> {
    QueueName::new(queue).map_err(|error| {
        let shown = sanitized(queue);
        let message =
            format!("a row of the outbox is for `{shown}`, which names no queue: {error}");
        Error::new(ErrorKind::Invalid, message)
    })
}

/// The findings about the rows of one queue. `before`: the age of its oldest row at the look before.
fn findings(counts: &OutboxCounts, before: Option<Duration>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let finding = |problem, severity, sentence: String| {
        Finding::new(problem, severity, sentence)
            .with("waiting", counts.waiting)
            .with("refused", counts.refused)
    };
    if let Some(oldest) = counts.oldest {
        let (rows, age) = (counted(counts.waiting, "row"), duration_in_words(oldest));
        // Another row is the oldest by now: a relay is at work.
        let moves = before.is_none_or(|before| oldest < before + AGAIN / 2);
        if oldest >= WAITS && !moves {
            let wait = if counts.waiting == 1 { "waits" } else { "wait" };
            let sentence = format!(
                "{rows} of the outbox {wait}, the oldest for {age}: no relay pushes them to this queue"
            );
            let finding = finding(Problem::OutboxWaits, Severity::Standstill, sentence);
            let finding = finding.with("oldest_ms", millis_ceil(oldest));
            findings.push(finding.advise(
                "start a relay whose outbox has this queue; if one runs, its events say why it does not push: the queue is \
                 full, or its backend is away",
            ));
        }
        if oldest + NEAR >= WINDOW {
            let left = duration_in_words(WINDOW.saturating_sub(oldest));
            let sentence = format!(
                "the oldest row of the outbox waits for {age}, and in {left} a relay refuses it: queues forget a key after 7 days"
            );
            let finding = finding(Problem::OutboxNearsWindow, Severity::Trouble, sentence);
            let finding = finding.with("oldest_ms", millis_ceil(oldest));
            findings.push(finding.advise("have a relay push it before that time"));
        }
    }
    if counts.refused > 0 {
        let rows = counted(counts.refused, "row");
        let sentence = format!("a relay refused {rows} of the outbox");
        let finding = finding(Problem::OutboxRefused, Severity::Trouble, sentence);
        let command = ShellCommand::new("outbox refused");
        findings.push(finding.remedy("read the reasons, and then try the rows again", &command));
    }
    findings
}
