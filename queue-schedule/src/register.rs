//! Records in a ring, each with a number of its version.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use queue_core::{
    Bytes, Error, ErrorKind, Insert, Inserted, Message, MessageId, Outcome, Page, Result,
    RotatingQueue, RotatingQueueExt,
};

use super::record::Record;

/// The header with a record's name; the item's key has the version, too.
const NAME: &str = "schedule";
const VERSION: &str = "version";
/// The header with the items of the versions before, the latest first.
const BEFORE: &str = "before";

/// The items that an item names: more than others write between a write and its look.
const MOST_BEFORE: usize = 32;

/// Records by name. Writing a record makes its next version, by an item that is inserted only if no other has its
/// key (T2): of two writers of one version, one wins.
#[derive(Debug, Clone)]
pub(crate) struct Register {
    ring: Arc<dyn RotatingQueue>,
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
        let mut latest: BTreeMap<String, (u64, Message)> = BTreeMap::new();
        let mut items: BTreeMap<String, BTreeSet<MessageId>> = BTreeMap::new();
        let mut page = Page::first(1_000);
        loop {
            let listed = self.ring.list(page).await?;
            for item in listed.entries {
                let Some(name) = item.headers.get(NAME).map(str::to_owned) else {
                    continue;
                };
                // Without a version it is damaged, and older than any other.
                let version = item.headers.get(VERSION).and_then(|text| text.parse().ok());
                let version = version.unwrap_or(0);
                items.entry(name.clone()).or_default().insert(item.id);
                if latest.get(&name).is_none_or(|(known, _)| version > *known) {
                    latest.insert(name, (version, item));
                }
            }
            match listed.next {
                Some(next) => page = Page::after(next, page.limit),
                None => break,
            }
        }
        let read = latest.into_iter().map(|(name, (version, item))| {
            let before = item.headers.get(BEFORE).unwrap_or_default();
            let before = before.split_whitespace().filter_map(|id| id.parse().ok());
            let read = Versioned {
                version,
                record: Record::read(&name, &item.body),
                body: item.body,
                id: item.id,
                before: before.map(MessageId::new).collect(),
                items: items.remove(&name).unwrap_or_default(),
            };
            (name, read)
        });
        let read: Result<BTreeMap<String, Versioned>> = Ok(read.collect());
        planted!(OneBadRecordStopsAll => read = read.and_then(all_readable));
        read
    }

    /// Writes the version after `read`, or the first one.
    ///
    /// # Errors
    ///
    /// Errors of the backend. If the record may be written, or will be, the outcome is unknown.
    pub(crate) async fn write(
        &self,
        name: &str,
        read: Option<&Versioned>,
        record: &Record,
    ) -> Result<Written> {
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
        let body: Bytes = record.write()?.into();
        let item = Insert::new(body.clone())
            .with_headers(headers.into_iter().collect())
            .with_key(format!("{name}\n{version}"));
        let inserted = self.ring.insert_one(item).await;
        if let Err(error) = &inserted
            && error.outcome() == Outcome::NotApplied
        {
            return Err(error.clone());
        }
        // Others may have written later versions on top of this one. A writer that was slow may write a version that
        // others have written and removed since. Later versions are there then, because only a later one removes it.
        // So the latest version says which it is.
        let latest = match (self.read().await, &inserted) {
            (Ok(mut records), _) => records.remove(name),
            (Err(_), Err(error)) => return Err(error.clone()),
            (Err(error), Ok(_)) => {
                let outcome = Outcome::Unknown;
                planted!(FailedLookSaysNotApplied => outcome = Outcome::NotApplied);
                return Err(error.with_outcome(outcome));
            }
        };
        let later = latest.as_ref().map_or(0, |latest| latest.version);
        let is_latest = |id| latest.as_ref().is_some_and(|latest| latest.id == id);
        let mut before = latest.iter().flat_map(|latest| &latest.before);
        let is_before = matches!(&inserted, Ok(Inserted::Added(id)) if before.any(|one| one == id));
        planted!(LaterWriteHidesAnEarlier => is_before = false);
        let is_same = latest.as_ref().is_some_and(|latest| latest.body == body);
        match inserted {
            Ok(Inserted::Added(id)) if is_latest(id) => {
                let items = latest.into_iter().flat_map(|latest| latest.items);
                self.forget(items.filter(|item| *item != id)).await;
                Ok(Written::Own)
            }
            Ok(Inserted::Added(_)) if is_before => Ok(Written::Own),
            Ok(Inserted::Added(id)) => {
                self.forget([id]).await;
                // More versions than an item names.
                match later > version + MOST_BEFORE as u64 {
                    true => Err(unsure(name)),
                    false => Ok(Written::No),
                }
            }
            // No record has this version, so the item with its key is damaged.
            Ok(Inserted::Present(id)) if later < version => {
                self.forget([id]).await;
                Ok(Written::No)
            }
            Ok(Inserted::Present(id)) if is_latest(id) && !is_same => Ok(Written::No),
            Ok(Inserted::Present(_)) => Ok(Written::Perhaps),
            Err(_) if later == version && !is_same => Ok(Written::No),
            Err(error) => Err(error),
        }
    }

    /// Removes items. A later write removes the items that stay after an error.
    async fn forget(&self, ids: impl IntoIterator<Item = MessageId>) {
        let ids: Vec<MessageId> = ids.into_iter().collect();
        for batch in ids.chunks(128) {
            let _stays = self.ring.remove(batch).await;
        }
    }
}

#[cfg(feature = "planted")]
fn all_readable(read: BTreeMap<String, Versioned>) -> Result<BTreeMap<String, Versioned>> {
    let error = read.values().find_map(|one| one.record.clone().err());
    error.map_or(Ok(read), Err)
}

/// The error of a writer that cannot know whether it wrote.
pub(crate) fn unsure(name: &str) -> Error {
    let message = format!(
        "whether the schedule `{name}` was written is unknown: others have written it, too; look, and try again"
    );
    Error::new(ErrorKind::Unavailable, message).with_outcome(Outcome::Unknown)
}
