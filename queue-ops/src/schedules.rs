//! Why nothing new comes: a schedule that pushes to the queue is disabled, or cannot be read.

use std::sync::Arc;

use queue_core::{Backend, QueueName, Queues, Result};
use queue_schedule::{ScheduleInfo, Schedules};

use crate::{Finding, Problem, Severity, ShellCommand};

/// The ring of schedules that `qk` looks at without `--ring`.
const USUAL_RING: &str = "schedules";

/// The findings about the schedules that push to this queue, of those that are stored in this ring. Without such a ring
/// there are none, and none is made.
///
/// # Errors
///
/// `Invalid` for a bad name. Errors of the backend.
pub async fn schedule_findings(
    backend: Arc<dyn Backend>,
    ring: &str,
    queue: &str,
) -> Result<Vec<Finding>> {
    if backend.open_stored(&QueueName::new(ring)?).await?.is_none() {
        return Ok(Vec::new());
    }
    let schedules = Schedules::open(&Queues::from(backend), ring).await?;
    let listed = schedules.list().await?;
    let bad = listed
        .iter()
        .filter_map(|schedule| unreadable(schedule, queue));
    let bad: Vec<Finding> = bad.collect();
    let listed = listed
        .into_iter()
        .filter(|schedule| schedule.problem.is_none());
    let disabled = listed.filter(|schedule| schedule.queue == queue && !schedule.enabled);
    let findings = disabled.map(|schedule| {
        let enable = ShellCommand::new("schedules enable");
        let sentence = format!(
            "the schedule `{}` ({}) is disabled",
            schedule.name, schedule.rule
        );
        Finding::new(Problem::ScheduleDisabled, Severity::Trouble, sentence)
            .with("schedule", schedule.name.clone())
            .remedy("enable it", &with_ring(enable.value(&schedule.name), ring))
    });
    Ok(findings.chain(bad).collect())
}

/// The finding about a schedule with a problem that pushes to the queue, or may do so.
fn unreadable(schedule: &ScheduleInfo, queue: &str) -> Option<Finding> {
    let problem = schedule.problem.as_ref()?;
    let severity = match &*schedule.queue {
        own if own == queue => Severity::Trouble,
        // Its queue cannot be read, either.
        "" => Severity::Note,
        _ => return None,
    };
    let sentence = format!("the schedule `{}` does not run: {problem}", schedule.name);
    let finding = Finding::new(Problem::ScheduleUnreadable, severity, sentence);
    Some(finding.with("schedule", schedule.name.clone()))
}

/// A command about the schedules of this ring.
pub(crate) fn with_ring(command: ShellCommand, ring: &str) -> ShellCommand {
    match ring {
        USUAL_RING => command,
        other => command.option("ring", other),
    }
}
