//! Ending a durable job together with its children.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::Arc,
};

use queue_core::{
    Backend, Bytes, Cancelled, Found, Leasing, MessageId, QueueName, Result, StepRecord, Steps,
    limits, sanitized, with_sources,
};
use serde::Serialize;

use super::lookup::{Listing, look_up, state_size};
use crate::{open::open_leasing, words::counted};

/// Entries of a listing among which jobs are looked for that have a state.
const MOST_LISTED: usize = 10_000;

/// The most messages of a family.
const MOST: u64 = 1_000_000;

/// Ids that a sentence names.
const NAMED: usize = 5;

/// The fate of a cancelled family, by queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
#[must_use = "some members may be left"]
pub struct CancelledFamily {
    /// Its queues; that of the parent first.
    pub queues: Vec<CancelledIn>,
}

/// The fate of the members of a family in one queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct CancelledIn {
    /// The name of the queue.
    pub queue: String,
    /// How many members were cancelled.
    pub cancelled: u64,
    /// How many members were done or gone already, or never were.
    pub over: u64,
    /// Members that are leased: they go on, and so do their own children.
    pub leased: Vec<MessageId>,
    /// Members that are dead letters, and stay. Their own children are cancelled.
    pub dead: Vec<MessageId>,
    /// Members that stay, because their steps cannot be read, or do not say which children were pushed.
    pub unread: Vec<MessageId>,
    /// Members that may be there still, because of the error.
    pub left: Vec<MessageId>,
    /// The error of the queue, if there was one.
    pub error: Option<String>,
}

/// Cancels a durable job, if it is not delivered, and its children that are not delivered; and theirs, as their states say.
///
/// A job is cancelled before its children, because a job that waits for them would take them for gone and go on. So a job
/// that is leased keeps its children: call this again once it waits. A dead letter stays, and its children are cancelled.
///
/// **Atomicity.** Each call of 128 messages is atomic, and the calls are not. A job that is delivered, and pushes more
/// children, between the look at its state and its cancellation, leaves those behind. **Repeating** this is safe; but a job
/// that is cancelled no longer says who its children are. So if this ends early, [`CancelledIn::left`] names the members to
/// cancel by their ids. **A crash**, or a dropped future, in between leaves children that run as they would have.
/// **Trust.** Whoever can lease a job can store a state that names any messages as its children.
///
/// Reads the first 10,000 entries of a place to find a state, and takes up to a million messages.
///
/// # Errors
///
/// `Invalid` for a bad name, if there is no such queue, and for a ring; errors of opening it. The errors of all later calls
/// are in the result, by queue, and the members of other queues are cancelled all the same.
pub async fn cancel_family(
    backend: &dyn Backend,
    queue: &str,
    id: MessageId,
) -> Result<CancelledFamily> {
    let opened = open_leasing(backend, &QueueName::new(queue)?).await?;
    let mut cancelling = Cancelling {
        backend,
        opened: [(queue.to_owned(), opened)].into(),
        seen: BTreeSet::new(),
        allowed: MOST,
        next: VecDeque::new(),
        ends: Vec::new(),
    };
    cancelling.add(queue, [id]);
    while let Some((queue, ids)) = cancelling.next.pop_front() {
        cancelling.take(&queue, &ids).await;
    }
    Ok(CancelledFamily {
        queues: cancelling.ends,
    })
}

/// A cancellation under way.
struct Cancelling<'a> {
    backend: &'a dyn Backend,
    opened: BTreeMap<String, Arc<dyn Leasing>>,
    /// Members that were met: a state may name its own message, or one of another job.
    seen: BTreeSet<(String, MessageId)>,
    /// How many more members are taken.
    allowed: u64,
    /// Members to cancel: up to 128 of one queue.
    next: VecDeque<(String, Vec<MessageId>)>,
    ends: Vec<CancelledIn>,
}

/// The children of a job: queues and ids.
type ChildrenOf = Vec<(String, Vec<MessageId>)>;

impl Cancelling<'_> {
    fn add(&mut self, queue: &str, ids: impl IntoIterator<Item = MessageId>) {
        let mut new = Vec::new();
        for id in ids {
            if self.seen.insert((queue.to_owned(), id)) {
                new.push(id);
            }
        }
        for ids in new.chunks(limits::MAX_BATCH) {
            self.next.push_back((queue.to_owned(), ids.to_vec()));
        }
    }

    fn end(&mut self, queue: &str) -> &mut CancelledIn {
        let at = self.ends.iter().position(|end| end.queue == queue);
        let at = at.unwrap_or_else(|| {
            self.ends.push(CancelledIn {
                queue: queue.to_owned(),
                ..CancelledIn::default()
            });
            self.ends.len() - 1
        });
        &mut self.ends[at]
    }

    /// Cancels members of one queue, unless a call to it failed before.
    async fn take(&mut self, queue: &str, ids: &[MessageId]) {
        if self.end(queue).error.is_none()
            && let Err(error) = self.try_to_take(queue, ids).await
        {
            self.end(queue).error = Some(with_sources(&error));
        }
        if self.end(queue).error.is_some() {
            self.end(queue).left.extend(ids);
        }
    }

    async fn try_to_take(&mut self, queue: &str, ids: &[MessageId]) -> Result<()> {
        let leasing = match self.opened.get(queue) {
            Some(opened) => Arc::clone(opened),
            None => {
                let opened = open_leasing(self.backend, &QueueName::new(queue)?).await?;
                self.opened.insert(queue.to_owned(), Arc::clone(&opened));
                opened
            }
        };
        let found: Vec<(MessageId, Found)> =
            ids.iter().copied().zip(leasing.find(ids).await?).collect();
        let states = states(&*leasing, &found).await?;
        let mut jobs: Vec<(MessageId, ChildrenOf)> = Vec::new();
        let mut end = CancelledIn::default();
        for (id, found) in &found {
            let listing = Listing::of(found);
            match listing {
                None => end.over += 1,
                Some(Listing::Leased) => end.leased.push(*id),
                Some(Listing::Dead) => end.dead.push(*id),
                Some(Listing::Ready | Listing::Delayed) => {}
            }
            if matches!(listing, None | Some(Listing::Leased)) {
                continue;
            }
            let children = match state_size(found) {
                0 => Some(Vec::new()),
                _ => states.get(id).and_then(|state| self.children(state)),
            };
            match children {
                Some(children) => jobs.push((*id, children)),
                None if listing == Some(Listing::Dead) => {}
                None => end.unread.push(*id),
            }
        }
        let is_dead = |id: &MessageId| end.dead.contains(id);
        let undelivered: Vec<MessageId> = jobs.iter().map(|(id, _)| *id).collect();
        let undelivered: Vec<MessageId> =
            undelivered.into_iter().filter(|id| !is_dead(id)).collect();
        let mut ended: BTreeSet<MessageId> = end.dead.iter().copied().collect();
        if !undelivered.is_empty() {
            let cancelled = leasing.cancel(&undelivered).await?;
            for (id, cancelled) in undelivered.iter().zip(cancelled) {
                match cancelled {
                    Cancelled::Cancelled => {
                        end.cancelled += 1;
                        ended.insert(*id);
                    }
                    Cancelled::TooLate => end.leased.push(*id),
                    Cancelled::NeverWas => end.over += 1,
                }
            }
        }
        self.end(queue).add(end);
        for (id, children) in jobs {
            if ended.contains(&id) {
                for (queue, ids) in children {
                    self.add(&queue, ids);
                }
            }
        }
        Ok(())
    }

    /// The children that a state names, if it can be read.
    fn children(&mut self, state: &Bytes) -> Option<ChildrenOf> {
        let steps = Steps::of(state).ok()?.unwrap_or_default();
        let mut children = Vec::new();
        for step in steps.steps {
            let StepRecord::Children(record) = step.record else {
                continue;
            };
            let count = record.ids.is_some().then(|| record.count())?;
            self.allowed = self.allowed.checked_sub(count)?;
            let open = record.open().map(|(_, id)| id);
            children.push((record.queue.clone(), open.collect()));
        }
        Some(children)
    }
}

/// The states of these messages, as far as they are found.
async fn states(
    queue: &dyn Leasing,
    found: &[(MessageId, Found)],
) -> Result<BTreeMap<MessageId, Bytes>> {
    let mut wanted: BTreeMap<Listing, BTreeSet<MessageId>> = BTreeMap::new();
    for (id, found) in found {
        match Listing::of(found) {
            None | Some(Listing::Leased) => {}
            Some(_) if state_size(found) == 0 => {}
            Some(listing) => drop(wanted.entry(listing).or_default().insert(*id)),
        }
    }
    let mut states = BTreeMap::new();
    for (listing, ids) in wanted {
        let listed = look_up(queue, listing, ids, MOST_LISTED).await?;
        let with_state = listed.into_iter();
        states.extend(with_state.filter_map(|(id, one)| Some((id, one.state?))));
    }
    Ok(states)
}

impl CancelledFamily {
    /// How many messages were cancelled.
    pub fn cancelled(&self) -> u64 {
        self.queues.iter().map(|one| one.cancelled).sum()
    }

    /// Whether something was cancelled, and nothing is left.
    pub fn is_whole(&self) -> bool {
        let is_left = |one: &CancelledIn| {
            let left = [&one.leased, &one.dead, &one.unread, &one.left];
            left.iter().any(|ids| !ids.is_empty()) || one.error.is_some()
        };
        self.cancelled() > 0 && !self.queues.iter().any(is_left)
    }
}

impl CancelledIn {
    fn add(&mut self, other: Self) {
        self.cancelled += other.cancelled;
        self.over += other.over;
        self.leased.extend(other.leased);
        self.dead.extend(other.dead);
        self.unread.extend(other.unread);
    }
}

/// A line for each queue.
impl fmt::Display for CancelledFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, one) in self.queues.iter().enumerate() {
            let line_break = if nth == 0 { "" } else { "\n" };
            write!(f, "{line_break}{one}")?;
        }
        Ok(())
    }
}

impl fmt::Display for CancelledIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} cancelled",
            sanitized(&self.queue),
            self.cancelled
        )?;
        if self.over > 0 {
            write!(f, "; {} done or gone before", self.over)?;
        }
        for (ids, what) in [
            (&self.leased, "leased, with children that stay"),
            (&self.dead, "dead"),
            (&self.unread, "left, with steps that cannot be read"),
            (&self.left, "left"),
        ] {
            if ids.is_empty() {
                continue;
            }
            let named = ids.iter().take(NAMED).map(|id| format!("#{id}"));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = if ids.len() > NAMED { ", …" } else { "" };
            write!(f, "; {} {what} ({named}{more})", counted_members(ids))?;
        }
        match &self.error {
            Some(error) => write!(f, "; {}", sanitized(error)),
            None => Ok(()),
        }
    }
}

fn counted_members(ids: &[MessageId]) -> String {
    counted(ids.len() as u64, "message")
}
