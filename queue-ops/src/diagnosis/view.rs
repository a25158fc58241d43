//! Reading a queue for its diagnosis.

use std::{collections::BTreeSet, num::NonZeroUsize, ops::Deref, sync::Arc, time::Duration};

use futures_util::future::join;
use queue_core::{
    AnyQueue, Backend, Bytes, Counters, DeadLetter, ErrorKind, Facts, Group, GroupedQueue, Leasing,
    Listed, OperatorsList, Page, Paged, Peeked, Place, QueueConfig, QueueName, RefusalRecord,
    Result, Steps, Timestamp, WorkerInfo, limits,
};

use crate::{ShellCommand, words::duration_in_words as words};

/// Entries of a listing that are read, at most. The telling entries are often its last: the newest dead letters, the
/// longest leases, the messages that are due in a thousand years, the groups that may not run.
pub(super) const MOST: usize = 10_000;
/// Groups of a page: each costs the server a few small commands.
const GROUPS: usize = 500;

/// Durable jobs of a place that are looked at.
const JOBS: usize = 100;

/// Ready messages that are read: those that came back are first.
const FIRST: usize = 10;
/// Consumers that work and leave messages ready for longer than this are too slow.
pub(super) const SLOW: Duration = Duration::from_secs(300);
/// Dead letters of this time count as new.
pub(super) const NEW_DEATHS: Duration = Duration::from_secs(3_600);

/// The first entries of a listing.
#[derive(Debug)]
pub(super) struct Sample<T> {
    entries: Vec<T>,
    pages: usize,
    /// Whether these are all of them.
    pub(super) is_whole: bool,
}

impl<T> Default for Sample<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            pages: 0,
            is_whole: true,
        }
    }
}

impl<T> Deref for Sample<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries
    }
}

impl<T> Sample<T> {
    /// Says behind a count that it is of a sample.
    pub(super) fn among(&self) -> String {
        match self.is_whole {
            true => String::new(),
            false => format!(" of the first {}", self.len()),
        }
    }

    /// Adds a page that was asked for with this limit. Entries that moved meanwhile may be shown twice: `seen` has the
    /// keys of those before. Returns the next page to read.
    fn add<K: Ord>(
        &mut self,
        paged: Paged<T>,
        (limit, most): (usize, usize),
        seen: &mut BTreeSet<K>,
        key: impl Fn(&T) -> K,
    ) -> Option<Page> {
        let new = paged.entries.into_iter();
        self.entries
            .extend(new.filter(|entry| seen.insert(key(entry))));
        self.pages += 1;
        let next = paged.next?;
        self.is_whole = self.pages * limit < most;
        self.is_whole.then(|| Page::after(next, limit))
    }
}

/// Reads the groups of a queue.
async fn groups(queue: &dyn GroupedQueue, most: usize) -> Result<Sample<Group>> {
    let (mut sample, mut seen) = (Sample::default(), BTreeSet::new());
    let mut page = Some(Page::first(GROUPS));
    while let Some(asked) = page {
        let paged = queue.groups(asked).await?;
        page = sample.add(paged, (GROUPS, most), &mut seen, |group| group.key.clone());
    }
    Ok(sample)
}

/// Keeps the states of durable jobs, of the first ones alone: others are not looked at.
fn keep_steps(state: &mut Option<Bytes>, kept: &mut usize) {
    let is_kept = state.as_deref().is_some_and(Steps::are_in) && *kept < JOBS;
    match is_kept {
        true => *kept += 1,
        false => *state = None,
    }
}

/// Reads the messages of a place, without their bodies. A page of nothing costs a call as well.
async fn peeked(
    queue: &dyn Leasing,
    place: Place,
    count: u64,
    most: usize,
) -> Result<Sample<Peeked>> {
    let (mut sample, mut seen, mut jobs) = (Sample::default(), BTreeSet::new(), 0);
    let mut page = (count > 0).then(|| Page::first(limits::MAX_PAGE));
    while let Some(asked) = page {
        let Some(mut paged) = lacking(queue.peek(place, asked).await)? else {
            break;
        };
        let messages = paged.entries.iter_mut();
        messages.for_each(|entry| {
            entry.message.body = Bytes::new();
            keep_steps(&mut entry.state, &mut jobs);
        });
        page = sample.add(paged, (asked.limit, most), &mut seen, |entry| {
            entry.message.id
        });
    }
    Ok(sample)
}

/// Reads the dead letters, without their bodies.
async fn dead_letters(queue: &dyn Leasing, count: u64, most: usize) -> Result<Sample<DeadLetter>> {
    let (mut sample, mut seen, mut jobs) = (Sample::default(), BTreeSet::new(), 0);
    let mut page = (count > 0).then(|| Page::first(limits::MAX_PAGE));
    while let Some(asked) = page {
        let Some(mut paged) = lacking(queue.dead_letters(asked).await)? else {
            break;
        };
        let letters = paged.entries.iter_mut();
        letters.for_each(|letter| {
            letter.body = Bytes::new();
            keep_steps(&mut letter.state, &mut jobs);
        });
        page = sample.add(paged, (asked.limit, most), &mut seen, |letter| letter.id);
    }
    Ok(sample)
}

/// A queue, as it was read.
#[derive(Debug)]
pub(super) struct QueueView {
    pub(super) name: QueueName,
    pub(super) config: QueueConfig,
    pub(super) now: Timestamp,
    pub(super) facts: Facts,
    /// `None` of a ring.
    pub(super) line: Option<Line>,
    /// The groups, of a grouped queue.
    pub(super) groups: Sample<Group>,
    /// The workers that register, and serve this queue.
    pub(super) workers: Vec<WorkerInfo>,
    /// The programs that opened this queue and were refused.
    pub(super) refusals: Vec<Listed<RefusalRecord>>,
}

/// The bounds and lists with which a queue is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) lists: &'a Lists,
    /// Entries of a listing that are read, at most.
    pub(super) most: usize,
}

/// The lists for operators, which are of all queues. A list that cannot be read is empty: a diagnosis needs none.
#[derive(Debug)]
pub(super) struct Lists {
    workers: Vec<WorkerInfo>,
    refusals: Vec<Listed<RefusalRecord>>,
}

impl Lists {
    pub(super) async fn read(backend: &dyn Backend) -> Self {
        let refusals = OperatorsList::read(backend);
        let (workers, refusals) = join(queue_core::workers(backend), refusals).await;
        Self {
            workers: workers.unwrap_or_default(),
            refusals: refusals.unwrap_or_default(),
        }
    }

    /// Whether a worker that registers, and lives, serves this queue.
    pub(super) fn is_served(&self, queue: &QueueName) -> bool {
        let mut live = self.workers.iter().filter(|worker| !worker.gone);
        live.any(|worker| {
            let mut queues = worker.record.queues.iter();
            queues.any(|served| **served == *queue.as_str())
        })
    }
}

/// The messages of a leasing queue.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) queue: Arc<dyn Leasing>,
    pub(super) counters: Counters,
    pub(super) first_ready: Vec<Peeked>,
    pub(super) leased: Sample<Peeked>,
    pub(super) delayed: Sample<Peeked>,
    pub(super) dead: Sample<DeadLetter>,
}

impl QueueView {
    /// Reads a queue; none if there is none.
    pub(super) async fn at(
        backend: &dyn Backend,
        name: &QueueName,
        facts: Facts,
        Reading { lists, most }: Reading<'_>,
    ) -> Result<Option<Self>> {
        let Some(stored) = backend.open_stored(name).await? else {
            return Ok(None);
        };
        let line = match stored.queue.leasing() {
            Some(queue) => Some(Line::of(queue, most).await?),
            None => None,
        };
        let groups = match &stored.queue {
            AnyQueue::Grouped(queue) => groups(&**queue, most).await?,
            _ => Sample::default(),
        };
        let serves = |worker: &&WorkerInfo| {
            let mut queues = worker.record.queues.iter();
            queues.any(|served| **served == *name.as_str())
        };
        let refused = |refusal: &&Listed<RefusalRecord>| *refusal.record.queue == *name.as_str();
        Ok(Some(Self {
            workers: lists.workers.iter().filter(serves).cloned().collect(),
            refusals: lists.refusals.iter().filter(refused).cloned().collect(),
            name: name.clone(),
            config: stored.config,
            now: backend.now().await?,
            facts,
            line,
            groups,
        }))
    }

    /// A command about the queue.
    pub(super) fn command(&self, verb: &'static str) -> ShellCommand {
        ShellCommand::new(verb).value(self.name.as_str())
    }

    /// The limit of the queue that keeps ready messages now: in words, and the time until it allows the next one.
    pub(super) fn limit(&self, line: &Line) -> Option<(String, Option<Duration>)> {
        let leasing = self.config.leasing()?;
        let counters = &line.counters;
        if counters.depth.ready == 0 {
            return None;
        }
        if let (Some(next), Some(rate)) = (counters.next_token, leasing.rate) {
            let limit = format!("the rate of {} in {}", rate.most, words(rate.per));
            return Some((limit, Some(next)));
        }
        let at_once = leasing.at_once.map(u64::from)?;
        let is_reached = counters.depth.leased >= at_once;
        let limit = || format!("{} of {at_once} at once", counters.depth.leased);
        is_reached.then(|| (limit(), None))
    }

    /// The capacity, of a bounded queue.
    pub(super) fn capacity(&self) -> Option<NonZeroUsize> {
        match &self.config {
            QueueConfig::Bounded(config) => NonZeroUsize::new(config.capacity),
            _ => None,
        }
    }
}

impl Line {
    async fn of(queue: Arc<dyn Leasing>, most: usize) -> Result<Self> {
        let counters = match lacking(queue.counters().await)? {
            Some(counters) => counters,
            None => {
                let mut counters = Counters::default();
                counters.depth = queue.depth().await?;
                counters
            }
        };
        let depth = counters.depth;
        // While leases expire, somebody may never end what is ready.
        let first_ready = match counters.expired > 0 && depth.ready > 0 {
            true => lacking(queue.peek(Place::Ready, Page::first(FIRST)).await)?,
            false => None,
        };
        let first_ready = first_ready.map_or_else(Vec::new, |page| page.entries);
        let leased = peeked(&*queue, Place::Leased, depth.leased, most).await?;
        let delayed = peeked(&*queue, Place::Delayed, depth.delayed, most).await?;
        let dead = dead_letters(&*queue, depth.dead, most).await?;
        Ok(Self {
            queue,
            counters,
            first_ready,
            leased,
            delayed,
            dead,
        })
    }
}

/// The answer to a call; `None` if the queue has no such call, as those of published strategies.
fn lacking<T>(called: Result<T>) -> Result<Option<T>> {
    match called {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.kind() == ErrorKind::Configuration => Ok(None),
        Err(error) => Err(error),
    }
}
