//! The steps that a durable job remembers, and the parent of a message.

use std::{fmt, time::Duration};

use queue_core::{
    Backend, ChildrenRecord, Found, Leasing, MessageId, QueueName, Result, StepRecord, Steps,
    limits, millis_ceil, sanitized, with_sources,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::lookup::{Listing, look_up, state_size};
use crate::{
    open::open_leasing,
    redaction::is_hidden,
    words::{counted, duration_in_words as words},
};

/// Entries of a listing among which a message is looked for that has a state, or may have a parent.
const WITH_STATE: usize = 1_000;
const WITHOUT_STATE: usize = 100;

/// Calls that look what became of children: at most 128 children each.
const FINDS: usize = 4;

/// The family of a message: the job that pushed it as a child, and the steps that it remembers itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Family {
    /// The job that pushed this message as its child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentJob>,
    /// Its steps, in the order in which they were first begun.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepSeen>,
    /// Why the steps are not shown, if there may be some.
    #[serde(rename = "steps_unread", skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

/// The job that pushed a message as its child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ParentJob {
    /// The name of its queue.
    pub queue: String,
    /// Its id.
    pub id: MessageId,
}

/// A step of a durable job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StepSeen {
    /// Its name.
    pub name: String,
    /// When it ended, or was begun if it has not: in milliseconds since the push of the job.
    pub after_ms: u64,
    /// Its result, or how far it is.
    #[serde(flatten)]
    pub state: StepState,
}

/// The result of a step, or how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepState {
    /// It ended.
    Done {
        /// The length of its result in JSON; `None` if that is hidden.
        result_bytes: Option<usize>,
    },
    /// The job sleeps, or slept.
    Sleep {
        /// Until when: in milliseconds since the push of the job.
        until_ms: u64,
        /// How much longer; 0 if the sleep is over, and `None` for a dead letter.
        left_ms: Option<u64>,
    },
    /// It pushed children.
    Children(ChildrenSeen),
    /// This version does not know it.
    Unknown,
}

/// The children that a step pushed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChildrenSeen {
    /// The name of their queue, as the parent's program knows it.
    pub queue: String,
    /// How many there are; `None` while it is not known which were pushed.
    pub count: Option<u64>,
    /// How many have ended: are done, dead or gone.
    pub ended: u64,
    /// How many of them are dead.
    pub dead: u64,
    /// Whether the numbers are of now; else they are of the job's last look.
    pub is_fresh: bool,
}

impl Family {
    /// Whether there is nothing to show: no parent, and no steps.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a step pushed children.
    pub fn has_children(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| matches!(step.state, StepState::Children(_)))
    }
}

impl fmt::Display for ParentJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "child of {}/{}", sanitized(&self.queue), self.id)
    }
}

impl fmt::Display for StepState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done { result_bytes: None } => f.write_str("done"),
            Self::Done {
                result_bytes: Some(bytes),
            } => write!(f, "done, result of {}", counted(*bytes as u64, "byte")),
            Self::Sleep {
                left_ms: Some(left @ 1..),
                ..
            } => write!(f, "asleep for {} more", words(Duration::from_millis(*left))),
            Self::Sleep { .. } => f.write_str("slept"),
            Self::Children(children) => children.fmt(f),
            Self::Unknown => f.write_str("of a kind that this version does not know"),
        }
    }
}

impl fmt::Display for ChildrenSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "children in `{}`: ", sanitized(&self.queue))?;
        let Some(count) = self.count else {
            return f.write_str("it is not known which were pushed");
        };
        write!(f, "{} of {count} ended", self.ended)?;
        if self.dead > 0 {
            write!(f, ", {} dead", self.dead)?;
        }
        match self.is_fresh {
            true => Ok(()),
            false => f.write_str(", at the job's last look"),
        }
    }
}

/// The family of a message that was found in this queue.
///
/// Reads a bounded amount, and changes nothing. The message is looked for among the first 1,000 of its place, or the first
/// 100 if it has no state; a parent behind them is not shown. Of up to 512 children that are not known to have ended it
/// asks what became of them. Otherwise their numbers are those of the job's last look.
///
/// An error on the way is not this function's: [`Family::unread`] says that something cannot be read. Of
/// a [`redacted`](crate::redacted) backend the names of the steps are shown, and no results.
pub async fn family(
    backend: &dyn Backend,
    queue: &dyn Leasing,
    id: MessageId,
    found: &Found,
) -> Family {
    let mut family = Family::default();
    if let Err(error) = family.read(backend, queue, id, found).await {
        family.unread = Some(with_sources(&error));
    }
    family
}

/// The fate of a message, and its family, as one JSON value: `{"present": {…, "parent": {…}, "steps": […]}}`.
pub fn found_as_json(found: &Found, family: &Family) -> Value {
    let (mut value, family) = (json!(found), json!(family));
    let inner = value.as_object_mut().and_then(|of| of.values_mut().next());
    if let (Some(Value::Object(inner)), Value::Object(family)) = (inner, family) {
        inner.extend(family);
    }
    value
}

impl Family {
    async fn read(
        &mut self,
        backend: &dyn Backend,
        queue: &dyn Leasing,
        id: MessageId,
        found: &Found,
    ) -> Result<()> {
        let Some(listing) = Listing::of(found) else {
            return Ok(());
        };
        let most = match state_size(found) {
            0 => WITHOUT_STATE,
            _ => WITH_STATE,
        };
        let mut listed = look_up(queue, listing, [id].into(), most).await?;
        let Some(listed) = listed.remove(&id) else {
            let unread = || format!("it is not among the first {most} of its place");
            self.unread = (state_size(found) > 0).then(unread);
            return Ok(());
        };
        self.parent = listed.headers.parent().map(|(queue, id)| ParentJob {
            queue: queue.to_owned(),
            id,
        });
        let Some(state) = &listed.state else {
            return Ok(());
        };
        let age = match found {
            Found::Present { age, .. } => Some(*age),
            _ => None,
        };
        let mut finds = FINDS;
        for step in Steps::of(state)?.unwrap_or_default().steps {
            let state = match step.record {
                StepRecord::Done(result) => StepState::Done {
                    result_bytes: (!is_hidden(&result)).then_some(result.len()),
                },
                StepRecord::SleepsUntil(until_ms) => StepState::Sleep {
                    until_ms,
                    left_ms: age.map(|age| until_ms.saturating_sub(millis_ceil(age))),
                },
                StepRecord::Children(record) => {
                    StepState::Children(ChildrenSeen::of(backend, &record, &mut finds).await)
                }
                _ => StepState::Unknown,
            };
            self.steps.push(StepSeen {
                name: step.name,
                after_ms: step.after_ms,
                state,
            });
        }
        Ok(())
    }
}

impl ChildrenSeen {
    async fn of(backend: &dyn Backend, record: &ChildrenRecord, finds: &mut usize) -> Self {
        let count = record.ids.is_some().then(|| record.count());
        let ended = record.ended_count();
        let mut seen = Self {
            queue: record.queue.clone(),
            count,
            ended: ended.saturating_add(record.dead).min(record.count()),
            dead: record.dead,
            is_fresh: false,
        };
        let most = *finds * limits::MAX_BATCH;
        let open: Vec<MessageId> = record.open().take(most + 1).map(|(_, id)| id).collect();
        if count.is_none() || open.len() > most {
            return seen;
        }
        *finds -= open.len().div_ceil(limits::MAX_BATCH);
        if let Ok((over, dead)) = ends(backend, &record.queue, &open).await {
            seen.ended = ended.saturating_add(over).min(record.count());
            (seen.dead, seen.is_fresh) = (dead, true);
        }
        seen
    }
}

/// How many of these children have ended, and how many of them are dead.
async fn ends(backend: &dyn Backend, queue: &str, open: &[MessageId]) -> Result<(u64, u64)> {
    let (mut over, mut dead) = (0, 0);
    if open.is_empty() {
        return Ok((over, dead));
    }
    let queue = open_leasing(backend, &QueueName::new(queue)?).await?;
    for ids in open.chunks(limits::MAX_BATCH) {
        for found in queue.find(ids).await? {
            over += u64::from(!matches!(found, Found::Present { .. }));
            dead += u64::from(matches!(found, Found::Dead { .. }));
        }
    }
    Ok((over, dead))
}
