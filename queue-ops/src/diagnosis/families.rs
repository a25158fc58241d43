//! Durable jobs that wait for children that nobody handles, or whose children are dead.

use std::{collections::BTreeMap, time::Duration};

use queue_core::{
    Backend, Bytes, Counters, Found, MessageId, QueueName, Result, StepRecord, Steps, limits,
};

use super::{
    Finding, Problem, Severity,
    view::{Line, Lists, QueueView},
};
use crate::{ShellCommand, open::open_leasing, words::duration_in_words as words};

/// Queues of children that are looked at, and calls that look what became of children.
const MOST_QUEUES: usize = 4;
const MOST_FINDS: usize = 10;
/// Children that are ready for longer than this should have been handed out.
const READY_LONG: Duration = Duration::from_millis(1_000);
/// The reason of a job that died because of a child has this in it.
const DIED_OF_CHILD: &str = " has a dead child, ";

/// A child that is not known to have ended, and its parent.
#[derive(Debug, Clone, Copy)]
struct Child {
    id: MessageId,
    parent: MessageId,
    parent_is_dead: bool,
}

/// What was found of the children in one queue.
#[derive(Debug, Default)]
struct Seen {
    /// Jobs that wait for a ready child.
    waiting: Vec<MessageId>,
    /// Dead children, and why they died.
    dead: Vec<(Child, String)>,
    /// The counters of the queue, unless somebody serves it.
    unserved: Option<Counters>,
}

/// The findings about the jobs of a queue that wait for children, or died of them. A queue that cannot be read has none.
pub(super) async fn all(backend: &dyn Backend, view: &QueueView, lists: &Lists) -> Vec<Finding> {
    let Some(line) = &view.line else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut finds = MOST_FINDS;
    for (queue, children) in children(line).into_iter().take(MOST_QUEUES) {
        let Ok(queue) = QueueName::new(&queue) else {
            continue;
        };
        if let Ok(seen) = look(backend, &queue, &children, lists, &mut finds).await {
            findings.extend(unserved(&queue, &seen));
            findings.extend(dead_child(&queue, &seen, false));
            findings.extend(dead_child(&queue, &seen, true));
        }
    }
    findings
}

/// The children of the jobs that wait, and of those that died of a child, by their queues.
fn children(line: &Line) -> BTreeMap<String, Vec<Child>> {
    let waiting = line.delayed.iter();
    let waiting = waiting.map(|one| (one.message.id, false, &one.state));
    let dead = line.dead.iter();
    let dead = dead.filter(|letter| letter.why().contains(DIED_OF_CHILD));
    let dead = dead.map(|letter| (letter.id, true, &letter.state));
    let mut children: BTreeMap<String, Vec<Child>> = BTreeMap::new();
    for (parent, parent_is_dead, state) in waiting.chain(dead) {
        let named = state.as_ref().map(|state| waits_for(state, parent_is_dead));
        for (queue, id) in named.unwrap_or_default() {
            children.entry(queue).or_default().push(Child {
                id,
                parent,
                parent_is_dead,
            });
        }
    }
    children
}

/// The first children that a job waits for, or died of, as its state says: those of its last steps. A job that waits has
/// looked at them before.
fn waits_for(state: &Bytes, is_dead: bool) -> Vec<(String, MessageId)> {
    let steps = Steps::of(state).ok().flatten().unwrap_or_default().steps;
    let mut children = Vec::new();
    for step in steps.iter().rev() {
        let StepRecord::Children(record) = &step.record else {
            break;
        };
        if record.waits > 0 || is_dead {
            let open = record.open().take(limits::MAX_BATCH - children.len());
            children.extend(open.map(|(_, id)| (record.queue.clone(), id)));
        }
    }
    children
}

async fn look(
    backend: &dyn Backend,
    name: &QueueName,
    children: &[Child],
    lists: &Lists,
    finds: &mut usize,
) -> Result<Seen> {
    let mut seen = Seen::default();
    let queue = open_leasing(backend, name).await?;
    for children in children.chunks(limits::MAX_BATCH).take(*finds) {
        *finds -= 1;
        let ids: Vec<MessageId> = children.iter().map(|child| child.id).collect();
        for (child, found) in children.iter().zip(queue.find(&ids).await?) {
            match found {
                Found::Present { .. } if !child.parent_is_dead => seen.waiting.push(child.parent),
                Found::Dead {
                    reason, failure, ..
                } => {
                    let why = failure.unwrap_or_else(|| reason.to_string());
                    seen.dead.push((*child, why));
                }
                _ => {}
            }
        }
    }
    seen.waiting.dedup();
    if !seen.waiting.is_empty() && !lists.is_served(name) {
        let (counters, facts) = (queue.counters().await?, backend.facts(name).await?);
        let waits = facts.waiting.is_some_and(|waiting| waiting > 0);
        let is_old = counters.oldest_ready.unwrap_or_default() >= READY_LONG;
        let stands = counters.depth.ready > 0 && counters.depth.leased == 0 && is_old && !waits;
        seen.unserved = (counters.paused || stands).then_some(counters);
    }
    Ok(seen)
}

/// The jobs, as the beginning of a sentence.
fn named(jobs: &[MessageId], one: &str, more: &str) -> Option<String> {
    let first = jobs.first()?;
    Some(match jobs.len() {
        1 => format!("#{first} {one}"),
        many => format!("#{first} and {} more {more}", many - 1),
    })
}

fn unserved(queue: &QueueName, seen: &Seen) -> Option<Finding> {
    let counters = seen.unserved.as_ref()?;
    let waiting = named(&seen.waiting, "waits", "wait")?;
    let ready = counters.depth.ready;
    let (why, advice, verb) = match counters.paused {
        true => (
            "the queue is paused".to_owned(),
            "hand out its messages again",
            "resume",
        ),
        false => (
            format!(
                "no live consumer; the oldest waits for {}",
                words(counters.oldest_ready.unwrap_or_default())
            ),
            "start a consumer of that queue, or look why it does not lease",
            "why",
        ),
    };
    let sentence = format!("{waiting} for children in `{queue}`: {ready} ready, {why}");
    let finding = Finding::new(Problem::ChildrenWait, Severity::Trouble, sentence)
        .with("queue", queue.as_str())
        .with("jobs", seen.waiting.len() as u64)
        .with("ready", ready);
    Some(finding.remedy(advice, &ShellCommand::new(verb).value(queue.as_str())))
}

fn dead_child(queue: &QueueName, seen: &Seen, parent_is_dead: bool) -> Option<Finding> {
    let dead = seen.dead.iter();
    let dead = dead.filter(|(child, _)| child.parent_is_dead == parent_is_dead);
    let dead: Vec<&(Child, String)> = dead.collect();
    let (child, reason) = dead.first()?;
    let mut parents: Vec<MessageId> = dead.iter().map(|(child, _)| child.parent).collect();
    parents.dedup();
    let id = child.id;
    let (sentence, advice) = match parent_is_dead {
        true => (
            format!(
                "{} dead, because the child #{id} in `{queue}` is: '{reason}'",
                named(&parents, "is", "are")?
            ),
            "mend the cause, revive the child, and then the job by `qk dead revive`",
        ),
        false => (
            format!(
                "{} for children in `{queue}`, and the child #{id} is dead: '{reason}'",
                named(&parents, "waits", "wait")?
            ),
            "mend the cause, and revive the child; or go on without it by `qk dead discard`",
        ),
    };
    let finding = Finding::new(Problem::ChildDead, Severity::Trouble, sentence)
        .with("queue", queue.as_str())
        .with("child", id.get())
        .with("job", child.parent.get())
        .with("jobs", parents.len() as u64);
    let revive = ShellCommand::new("dead revive").value(queue.as_str());
    Some(finding.remedy(advice, &revive.value(id.to_string())))
}
