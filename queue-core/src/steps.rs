//! The steps of a durable job, as the state of its message keeps them (L21).

use serde::{Deserialize, Serialize};

use crate::{Bytes, Json, MessageId, Result};

/// The steps of a durable job, and the state that its handler set beside them.
///
/// A worker writes them as the state of the job's message; operators read them. As JSON: `{"qk-steps": [{"name":
/// "charge", "after_ms": 12, "done": "7"}], "own": null}`.
///
/// ```
/// use queue_core::{Bytes, Steps};
///
/// let state = Bytes::from(r#"{"qk-steps":[{"name":"charge","after_ms":12,"done":"7"}],"own":"[1]"}"#);
/// let steps = Steps::of(&state)?.expect("the state has steps");
/// assert_eq!(steps.get("charge").unwrap().after_ms, 12);
/// assert_eq!(steps.own.as_deref(), Some("[1]"));
/// assert_eq!(Steps::of(&Bytes::from("[1]"))?, None);
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Steps {
    /// The steps, in the order in which they were first begun.
    #[serde(rename = "qk-steps")]
    pub steps: Vec<Step>,
    /// The state that the handler itself set, in JSON.
    pub own: Option<String>,
}

/// One step of a durable job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Step {
    /// Its name, which no other step of the job has.
    pub name: String,
    /// When it ended, or was begun if it has not: in milliseconds since the push of the job.
    pub after_ms: u64,
    /// Its result, or how far it is.
    #[serde(flatten)]
    pub record: StepRecord,
}

/// The result of a step, or how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepRecord {
    /// It ended with this result, in JSON.
    Done(String),
    /// The job sleeps until this many milliseconds after its push.
    SleepsUntil(u64),
    /// It pushed children.
    Children(ChildrenRecord),
}

/// The children that a step pushed, and what the job knows of their ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChildrenRecord {
    /// The name of their queue, as the parent's program knows it.
    pub queue: String,
    /// The number in their dedup keys, which no other delivery of the parent's queue has.
    pub key: u64,
    /// Their ids, in the order of the push; `None` while it is not known which were pushed.
    pub ids: Option<Vec<IdRun>>,
    /// Which of them are known to be done or gone: ranges of places in the order of the push, each without its end.
    pub ended: Vec<(u64, u64)>,
    /// How many of them are known to be done with a result.
    pub done: u64,
    /// How many of them were dead at the last look.
    pub dead: u64,
    /// How many times the parent was put back to wait for them.
    pub waits: u32,
}

/// Ids at equal distances: `count` ids from `first`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
#[non_exhaustive]
pub struct IdRun {
    /// The first id.
    pub first: u64,
    /// The distance between two ids.
    pub stride: u64,
    /// How many there are.
    pub count: u64,
}

impl From<(u64, u64, u64)> for IdRun {
    fn from((first, stride, count): (u64, u64, u64)) -> Self {
        Self {
            first,
            stride,
            count,
        }
    }
}

impl From<IdRun> for (u64, u64, u64) {
    fn from(run: IdRun) -> Self {
        (run.first, run.stride, run.count)
    }
}

impl IdRun {
    /// The id in this place of the run. A run that no worker wrote may have any numbers.
    const fn nth(&self, nth: u64) -> MessageId {
        MessageId::new(self.first.wrapping_add(self.stride.wrapping_mul(nth)))
    }
}

/// A state with steps begins with this.
const PREFIX: &[u8] = br#"{"qk-steps":"#;

impl Steps {
    /// The steps in a message's state; `None` if the state has none.
    ///
    /// # Errors
    ///
    /// `Codec` if the state begins as steps do and is none: another version of the program may have written it.
    pub fn of(state: &Bytes) -> Result<Option<Self>> {
        match Self::are_in(state) {
            true => Json::read(state).map(Some),
            false => Ok(None),
        }
    }

    /// Whether a message's state begins as steps do.
    pub fn are_in(state: &[u8]) -> bool {
        state.starts_with(PREFIX)
    }

    /// The step of this name.
    pub fn get(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// Sets what is known of a step.
    pub fn set(&mut self, name: &str, after_ms: u64, record: StepRecord) {
        let step = Step {
            name: name.to_owned(),
            after_ms,
            record,
        };
        match self.steps.iter_mut().find(|step| step.name == name) {
            Some(known) => *known = step,
            None => self.steps.push(step),
        }
    }

    /// Forgets a step.
    pub fn remove(&mut self, name: &str) {
        self.steps.retain(|step| step.name != name);
    }
}

impl ChildrenRecord {
    /// Children that are about to be pushed.
    pub fn new(queue: impl Into<String>, key: u64) -> Self {
        Self {
            queue: queue.into(),
            key,
            ..Self::default()
        }
    }

    /// How many children there are; 0 while it is not known which were pushed.
    pub fn count(&self) -> u64 {
        let runs = self.runs().iter();
        runs.fold(0, |count, run| count.saturating_add(run.count))
    }

    /// How many of them are known to be done or gone.
    pub fn ended_count(&self) -> u64 {
        let ended = self.ended.iter();
        ended.fold(0, |count, (begin, end)| {
            count.saturating_add(end.saturating_sub(*begin))
        })
    }

    /// The ids of the children, in the order of the push.
    pub fn all(&self) -> impl Iterator<Item = MessageId> + Send + '_ {
        let ids = self.runs().iter();
        ids.flat_map(|run| (0..run.count).map(|nth| run.nth(nth)))
    }

    /// The children that are not known to be done or gone, and their places in the order of the push. Ranges of ended
    /// children cost nothing, however long they are.
    pub fn open(&self) -> impl Iterator<Item = (u64, MessageId)> + Send + '_ {
        let mut behind = 0;
        let mut ended = self.ended.iter();
        let mut last = Some((self.count(), self.count()));
        // The ranges between those that have ended.
        let gaps = std::iter::from_fn(move || {
            let (begin, end) = ended.next().copied().or_else(|| last.take())?;
            let gap = (behind, begin);
            behind = behind.max(end);
            Some(gap)
        });
        gaps.flat_map(|(from, to)| self.between(from, to))
    }

    /// The children in these places.
    fn between(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, MessageId)> + Send + '_ {
        let mut first = 0_u64;
        let runs = self.runs().iter().map(move |run| {
            let begin = first;
            first = first.saturating_add(run.count);
            (begin, first, run)
        });
        let runs = runs.filter(move |(begin, end, _)| *begin < to && from < *end);
        runs.flat_map(move |(begin, end, run)| {
            let places = from.max(begin)..to.min(end);
            places.map(move |place| (place, run.nth(place - begin)))
        })
    }

    /// Adds a child, after the others.
    pub fn add(&mut self, id: MessageId) {
        let id = id.get();
        let runs = self.ids.get_or_insert_default();
        if let Some(run) = runs.last_mut() {
            let stride = id.checked_sub(run.first);
            match stride {
                Some(stride) if run.count == 1 && stride > 0 => {
                    (run.stride, run.count) = (stride, 2);
                    return;
                }
                Some(stride)
                    if run.count > 1 && run.stride.checked_mul(run.count) == Some(stride) =>
                {
                    run.count += 1;
                    return;
                }
                _ => {}
            }
        }
        runs.push(IdRun::from((id, 1, 1)));
    }

    /// Notes that the child in this place is done or gone.
    pub fn end(&mut self, place: u64) {
        let next = self.ended.partition_point(|(begin, _)| *begin <= place);
        let (before, after) = self.ended.split_at_mut(next);
        match (before.last_mut(), after.first_mut()) {
            (Some((_, end)), _) if place < *end => {}
            (Some((_, end)), Some((begin, later))) if place == *end && place + 1 == *begin => {
                *end = *later;
                self.ended.remove(next);
            }
            (Some((_, end)), _) if place == *end => *end += 1,
            (_, Some((begin, _))) if place + 1 == *begin => *begin = place,
            _ => self.ended.insert(next, (place, place + 1)),
        }
    }

    fn runs(&self) -> &[IdRun] {
        self.ids.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_order_come_back_in_the_order_of_the_push() {
        let mut ids = vec![5, 6, 7, 9, 11, 13, 12, 3, 3, 40, 50, 60, 61];
        ids.extend(1_000..2_000);
        ids.extend((0..500).map(|nth| 7 + nth * 16));
        let mut children = ChildrenRecord::new("mails", 1);
        for id in &ids {
            children.add(MessageId::new(*id));
        }
        let all: Vec<u64> = children.all().map(MessageId::get).collect();
        assert_eq!(all, ids);
        assert_eq!(children.count(), ids.len() as u64);
        assert!(children.runs().len() < 12, "{:?}", children.runs());
    }

    #[test]
    fn each_end_leaves_one_child_less_in_any_order() {
        let mut children = ChildrenRecord::new("mails", 1);
        (1..=9).for_each(|id| children.add(MessageId::new(id)));
        let mut open: Vec<u64> = (0..9).collect();
        for place in [4, 2, 3, 8, 0, 1, 6, 5, 7] {
            children.end(place);
            children.end(place);
            open.retain(|other| *other != place);
            let left: Vec<u64> = children.open().map(|(place, _)| place).collect();
            assert_eq!(left, open);
            assert_eq!(children.ended_count(), 9 - open.len() as u64);
        }
        assert_eq!(children.ended, [(0, 9)]);
    }

    /// Anybody who holds a message may store what looks like its steps.
    #[test]
    fn a_record_that_no_worker_wrote_costs_little() {
        let mut children = ChildrenRecord::new("mails", 1);
        children.ids = Some(vec![IdRun::from((u64::MAX, u64::MAX, u64::MAX)); 3]);
        children.ended = vec![(9, 2), (0, u64::MAX - 1), (5, 7), (u64::MAX, 0)];
        assert_eq!(children.count(), u64::MAX);
        assert_eq!(children.ended_count(), u64::MAX);
        assert!(children.open().take(100).count() < 20);
        children.ended.clear();
        assert_eq!(children.open().take(100).count(), 100);
        assert_eq!(children.all().take(100).count(), 100);
        let mut more = children.clone();
        more.add(MessageId::new(7));
        assert_ne!(more, children);
    }

    #[test]
    fn steps_are_written_as_their_documentation_says() {
        let mut steps = Steps::default();
        steps.set("charge", 12, StepRecord::Done("7".to_owned()));
        steps.set("cool off", 12, StepRecord::SleepsUntil(3_600_012));
        let mut children = ChildrenRecord::new("mails", 9);
        children.add(MessageId::new(1));
        steps.set("mails", 40, StepRecord::Children(children));
        let state = Json::write(&steps).unwrap();
        assert_eq!(
            state,
            concat!(
                r#"{"qk-steps":[{"name":"charge","after_ms":12,"done":"7"},"#,
                r#"{"name":"cool off","after_ms":12,"sleeps_until":3600012},"#,
                r#"{"name":"mails","after_ms":40,"children":{"queue":"mails","key":9,"ids":[[1,1,1]],"#,
                r#""ended":[],"done":0,"dead":0,"waits":0}}],"own":null}"#
            )
        );
        assert_eq!(Steps::of(&state).unwrap(), Some(steps));
    }
}
