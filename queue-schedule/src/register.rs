//! Records in a ring, each with a number of its version.
//!
//! The ring's order is the order of inserting, so whoever has read the ring once reads only what came since
//! ([`View::catch_up`]). A look costs the same for any number of records, and so does a write.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
    time::Duration,
};

use queue_core::{
    Bytes, Cursor, Error, ErrorKind, Insert, Inserted, Message, MessageId, Outcome, Page, Result,
    RotatingQueue, RotatingQueueExt, limits,
};

use tokio::time::Instant;

use super::record::Record;

/// The header with a record's name; the item's key has the version, too.
const NAME: &str = "schedule";
const VERSION: &str = "version";
/// The header with the items of the versions before, the latest first.
const BEFORE: &str = "before";

/// The items that an item names: more than others write between a write and its look.
const MOST_BEFORE: usize = 32;

/// The items of a page: in a first read, and in a later one.
const FIRST_PAGE: usize = limits::MAX_PAGE;
const LATER_PAGE: usize = 128;

/// Records by name. Writing a record makes its next version, by an item that is inserted only if no other has its
/// key (T2): of two writers of one version, one wins.
#[derive(Debug, Clone)]
pub(crate) struct Register {
    ring: Arc<dyn RotatingQueue>,
}

/// The records as they were read last.
#[derive(Debug, Default)]
pub(crate) struct View {
    records: BTreeMap<String, Versioned>,
    /// The place behind which the next read begins.
    after: Option<Cursor>,
    /// When all was read.
    begun: Option<Instant>,
}

/// A version to write.
#[derive(Debug)]
pub(crate) struct Write {
    name: String,
    version: u64,
    item: Insert,
}

/// A record as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Versioned {
    pub(crate) version: u64,
    /// The record, or why it cannot be read.
    pub(crate) record: Result<Record>,
    pub(crate) body: Bytes,
    id: MessageId,
    /// The items of the versions before.
    before: Vec<MessageId>,
    /// The items of this version and earlier ones.
    items: BTreeSet<MessageId>,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// The record was written by this call.
    Own,
    /// A record of the same bytes may be there, by this call, whose reply was lost, or by another one. Or others have
    /// written so much since that nobody knows.
    Perhaps,
    /// Another writer was first: nothing of this record is or will be there.
    No,
}

impl Versioned {
    /// Whether a change of it has begun.
    pub(crate) fn is_changing(&self) -> bool {
        self.record
            .as_ref()
            .is_ok_and(|record| record.change.is_some())
    }
}

impl Register {
    pub(crate) const fn new(ring: Arc<dyn RotatingQueue>) -> Self {
        Self { ring }
    }

    /// The latest version of each record.
    pub(crate) async fn read(&self) -> Result<BTreeMap<String, Versioned>> {
        let mut view = View::default();
        view.catch_up(self).await?;
        Ok(view.records)
    }

    /// Writes the version after `read`, or the first one.
    ///
    /// # Errors
    ///
    /// Errors of the backend. If the record may be written, or will be, the outcome is unknown.
    pub(crate) async fn write(
        &self,
        view: &mut View,
        name: &str,
        read: Option<&Versioned>,
        record: &Record,
    ) -> Result<Written> {
        let write = Write::of(name, read, record)?;
        let mut written = self.write_all(view, vec![write]).await;
        written.pop().unwrap_or_else(|| Err(Error::unanswered()))
    }

    /// Writes versions, of one record each, and catches up. Returns what became of each.
    pub(crate) async fn write_all(
        &self,
        view: &mut View,
        writes: Vec<Write>,
    ) -> Vec<Result<Written>> {
        let mut inserted = Vec::with_capacity(writes.len());
        for batch in writes.chunks(limits::MAX_BATCH) {
            inserted.append(&mut self.insert(batch).await);
        }
        // Others may have written later versions on top of this one. A writer that was slow may write a version that
        // others have written and removed since. Later versions are there then, because only a later one removes it.
        // So the latest version says which it is.
        let is_refused = |one: &Result<Inserted>| matches!(one, Err(error) if error.outcome() == Outcome::NotApplied);
        let looked = match inserted.iter().all(is_refused) {
            true => Ok(()),
            false => view.catch_up_with(self, writes.iter().zip(&inserted)).await,
        };
        let mut over = Vec::new();
        let both = writes.iter().zip(inserted);
        let written = both.map(|(write, inserted)| match inserted {
            Err(error) if error.outcome() == Outcome::NotApplied => Err(error),
            inserted => match (&looked, inserted) {
                (Ok(()), inserted) => view.judge(write, inserted, &mut over),
                (Err(_), Err(error)) => Err(error),
                (Err(error), Ok(_)) => {
                    let outcome = Outcome::Unknown;
                    planted!(FailedLookSaysNotApplied => outcome = Outcome::NotApplied);
                    Err(error.clone().with_outcome(outcome))
                }
            },
        });
        let written = written.collect();
        self.forget(over).await;
        written
    }

    /// Inserts the items of these writes, in one call if the backend takes them all.
    async fn insert(&self, writes: &[Write]) -> Vec<Result<Inserted>> {
        let items: Vec<Insert> = writes.iter().map(|write| write.item.clone()).collect();
        match self.ring.insert(&items).await {
            Ok(inserted) => inserted.into_iter().map(Ok).collect(),
            // One of them may be the cause.
            Err(error) if writes.len() > 1 && error.kind() == ErrorKind::Invalid => {
                let mut each = Vec::with_capacity(items.len());
                for item in items {
                    each.push(self.ring.insert_one(item).await);
                }
                each
            }
            Err(error) => writes.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Removes items. A later write removes the items that stay after an error.
    async fn forget(&self, ids: impl IntoIterator<Item = MessageId>) {
        let ids: Vec<MessageId> = ids.into_iter().collect();
        for batch in ids.chunks(limits::MAX_BATCH) {
            let _stays = self.ring.remove(batch).await;
        }
    }
}

impl Write {
    /// The version after `read`, or the first one.
    pub(crate) fn of(name: &str, read: Option<&Versioned>, record: &Record) -> Result<Self> {
        let version = read.map_or(1, |read| read.version + 1);
        let before = read
            .into_iter()
            .flat_map(|read| [&[read.id], &*read.before].concat());
        let before: Vec<String> = before
            .take(MOST_BEFORE)
            .map(|id| id.get().to_string())
            .collect();
        let headers = [
            (NAME, name.to_owned()),
            (VERSION, version.to_string()),
            (BEFORE, before.join(" ")),
        ];
        let item = Insert::new(record.write()?)
            .with_headers(headers.into_iter().collect())
            .with_key(format!("{name}\n{version}"));
        Ok(Self {
            name: name.to_owned(),
            version,
            item,
        })
    }
}

impl View {
    /// The latest version of each record, as far as this has read.
    pub(crate) const fn records(&self) -> &BTreeMap<String, Versioned> {
        &self.records
    }

    /// Forgets what was read if all was read longer ago than this. A view does not see what a flush takes away.
    pub(crate) fn forget_after(&mut self, age: Duration) {
        if self.begun.is_some_and(|begun| begun.elapsed() >= age) {
            *self = Self::default();
        }
    }

    /// Reads what was written since the last time; at first, all.
    pub(crate) async fn catch_up(&mut self, register: &Register) -> Result<()> {
        let limit = match self.begun {
            None => FIRST_PAGE,
            Some(_) => LATER_PAGE,
        };
        self.begun.get_or_insert_with(Instant::now);
        loop {
            let page = match self.after {
                None => Page::first(limit),
                Some(after) => Page::after(after, limit),
            };
            let listed = register.ring.list(page).await?;
            listed.entries.into_iter().for_each(|item| self.add(item));
            match listed.next {
                Some(next) => self.after = Some(next),
                // The next read begins with this page again.
                None => break,
            }
        }
        let read = Ok(());
        planted!(OneBadRecordStopsAll => read = all_readable(&self.records));
        read
    }

    /// Catches up with what was inserted for these writes. If an item is not seen, another writer has removed it, or the
    /// view is of a ring that a flush has taken away; then this reads all.
    async fn catch_up_with(
        &mut self,
        register: &Register,
        mut writes: impl Iterator<Item = (&Write, &Result<Inserted>)>,
    ) -> Result<()> {
        self.catch_up(register).await?;
        let is_seen = |(write, inserted): (&Write, &Result<Inserted>)| {
            let Ok(inserted) = inserted else { return true };
            let record = self.records.get(&write.name);
            record.is_some_and(|record| record.items.contains(&inserted.id()))
        };
        if writes.all(is_seen) {
            return Ok(());
        }
        *self = Self::default();
        self.catch_up(register).await
    }

    fn add(&mut self, item: Message) {
        let Some(name) = item.headers.get(NAME).map(str::to_owned) else {
            return;
        };
        // Without a version it is damaged, and older than any other.
        let version = item.headers.get(VERSION).and_then(|text| text.parse().ok());
        let version = version.unwrap_or(0);
        let mut items = BTreeSet::from([item.id]);
        if let Some(known) = self.records.get_mut(&name) {
            if known.version >= version {
                known.items.insert(item.id);
                return;
            }
            items.append(&mut known.items);
        }
        let before = item.headers.get(BEFORE).unwrap_or_default();
        let before = before.split_whitespace().filter_map(|id| id.parse().ok());
        let latest = Versioned {
            version,
            record: Record::read(&name, &item.body),
            body: item.body,
            id: item.id,
            before: before.map(MessageId::new).collect(),
            items,
        };
        self.records.insert(name, latest);
    }

    /// What became of a write, by the record as it is now. Adds the items that are over.
    fn judge(
        &mut self,
        write: &Write,
        inserted: Result<Inserted>,
        over: &mut Vec<MessageId>,
    ) -> Result<Written> {
        let latest = self.records.get_mut(&write.name);
        let later = latest.as_ref().map_or(0, |latest| latest.version);
        let is_latest = |id| latest.as_ref().is_some_and(|latest| latest.id == id);
        let mut before = latest.iter().flat_map(|latest| &latest.before);
        let is_before = matches!(&inserted, Ok(Inserted::Added(id)) if before.any(|one| one == id));
        planted!(LaterWriteHidesAnEarlier => is_before = false);
        let body = &write.item.body;
        let is_same = latest.as_ref().is_some_and(|latest| latest.body == *body);
        match inserted {
            Ok(Inserted::Added(id)) if is_latest(id) => {
                if let Some(latest) = latest {
                    let items = mem::replace(&mut latest.items, BTreeSet::from([id]));
                    over.extend(items.into_iter().filter(|item| *item != id));
                }
                Ok(Written::Own)
            }
            Ok(Inserted::Added(_)) if is_before => Ok(Written::Own),
            Ok(Inserted::Added(id)) => {
                over.push(id);
                // More versions than an item names.
                match later > write.version + MOST_BEFORE as u64 {
                    true => Err(unsure(&write.name)),
                    false => Ok(Written::No),
                }
            }
            // No record has this version, so the item with its key is damaged.
            Ok(Inserted::Present(id)) if later < write.version => {
                over.push(id);
                Ok(Written::No)
            }
            Ok(Inserted::Present(id)) if is_latest(id) && !is_same => Ok(Written::No),
            Ok(Inserted::Present(_)) => Ok(Written::Perhaps),
            Err(_) if later == write.version && !is_same => Ok(Written::No),
            Err(error) => Err(error),
        }
    }
}

#[cfg(feature = "planted")]
fn all_readable(read: &BTreeMap<String, Versioned>) -> Result<()> {
    let error = read.values().find_map(|one| one.record.clone().err());
    error.map_or(Ok(()), Err)
}

/// The error of a writer that cannot know whether it wrote.
pub(crate) fn unsure(name: &str) -> Error {
    let message = format!(
        "whether the schedule `{name}` was written is unknown: others have written it, too; look, and try again"
    );
    Error::new(ErrorKind::Unavailable, message).with_outcome(Outcome::Unknown)
}
