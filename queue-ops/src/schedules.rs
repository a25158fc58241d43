//! Why nothing new comes: a schedule that pushes to the queue is disabled, late, or cannot be read.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use queue_core::{Backend, QueueName, Queues, Result, Timestamp, millis_ceil};
use queue_schedule::{ScheduleInfo, Schedules};

use crate::{Finding, Problem, Severity, ShellCommand, words::duration_in_words as words};

/// The ring of schedules that `qk` looks at without `--ring`.
const USUAL_RING: &str = "schedules";

/// A slot that is this late was missed: a scheduler looks more often.
const LATE: Duration = Duration::from_secs(60);

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
    let ring = Ring::read(backend, ring).await?;
    Ok(ring.map_or_else(Vec::new, |ring| ring.findings(queue)))
}

/// The findings about all schedules of this ring, each with its queue. That of a record that cannot be read may be
/// unknown: it is empty then.
///
/// # Errors
///
/// Those of [`schedule_findings`].
pub async fn all_schedule_findings(
    backend: Arc<dyn Backend>,
    ring: &str,
) -> Result<Vec<(String, Finding)>> {
    let Some(ring) = Ring::read(backend, ring).await? else {
        return Ok(Vec::new());
    };
    let queues: BTreeSet<&String> = ring.schedules.iter().map(|one| &one.queue).collect();
    let of_queue = |queue: &String| {
        let findings = ring.schedules.iter().filter(|one| one.queue == *queue);
        let findings = findings.filter_map(|schedule| ring.finding(schedule, queue));
        let each: Vec<_> = findings.map(|finding| (queue.clone(), finding)).collect();
        each
    };
    Ok(queues.into_iter().flat_map(of_queue).collect())
}

/// The schedules of a ring, as they were read.
struct Ring<'a> {
    name: &'a str,
    schedules: Vec<ScheduleInfo>,
    now: Timestamp,
}

impl<'a> Ring<'a> {
    async fn read(backend: Arc<dyn Backend>, name: &'a str) -> Result<Option<Self>> {
        if backend.open_stored(&QueueName::new(name)?).await?.is_none() {
            return Ok(None);
        }
        let now = backend.now().await?;
        let schedules = Schedules::open(&Queues::from(backend), name).await?;
        let schedules = schedules.list().await?;
        Ok(Some(Self {
            name,
            schedules,
            now,
        }))
    }

    fn findings(&self, queue: &str) -> Vec<Finding> {
        let all = self.schedules.iter();
        all.filter_map(|schedule| self.finding(schedule, queue))
            .collect()
    }

    /// The finding about a schedule, if it pushes to the queue, or may do so.
    fn finding(&self, schedule: &ScheduleInfo, queue: &str) -> Option<Finding> {
        if schedule.problem.is_some() {
            return unreadable(schedule, queue);
        }
        if schedule.queue != queue {
            return None;
        }
        let named = format!("the schedule `{}` ({})", schedule.name, schedule.rule);
        if !schedule.enabled {
            let enable = ShellCommand::new("schedules enable").value(&schedule.name);
            let sentence = format!("{named} is disabled");
            let finding = Finding::new(Problem::ScheduleDisabled, Severity::Trouble, sentence)
                .with("schedule", schedule.name.clone());
            return Some(finding.remedy("enable it", &with_ring(enable, self.name)));
        }
        let late = self.now.since(schedule.overdue?);
        if late < LATE {
            return None;
        }
        let sentence = format!("{named} is {} late: no scheduler runs", words(late));
        let finding = Finding::new(Problem::ScheduleLate, Severity::Trouble, sentence)
            .with("schedule", schedule.name.clone())
            .with("late_ms", millis_ceil(late));
        Some(finding.advise("start a scheduler, or look why it does not push"))
    }
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
