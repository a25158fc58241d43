//! Records in a ring, each with a number of its version.

use std::{collections::BTreeMap, sync::Arc};

use queue_core::{Insert, Inserted, MessageId, Page, Result, RotatingQueue, RotatingQueueExt};

use super::record::Record;

/// The header with a record's name; the item's key has the version, too.
const NAME: &str = "schedule";
const VERSION: &str = "version";

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
    pub(crate) record: Record,
    /// The items of this version and earlier ones.
    items: Vec<MessageId>,
}

impl Register {
    pub(crate) const fn new(ring: Arc<dyn RotatingQueue>) -> Self {
        Self { ring }
    }

    /// The latest version of each record.
    pub(crate) async fn read(&self) -> Result<BTreeMap<String, Versioned>> {
        let mut found: BTreeMap<String, BTreeMap<u64, (MessageId, Vec<u8>)>> = BTreeMap::new();
        let mut page = Page::first(1_000);
        loop {
            let listed = self.ring.list(page).await?;
            for item in listed.entries {
                let version = item.headers.get(VERSION).and_then(|text| text.parse().ok());
                if let (Some(name), Some(version)) = (item.headers.get(NAME), version) {
                    let versions = found.entry(name.to_owned()).or_default();
                    versions.insert(version, (item.id, item.body.to_vec()));
                }
            }
            match listed.next {
                Some(next) => page = Page::after(next, page.limit),
                None => break,
            }
        }
        let latest = found.into_iter().filter_map(|(name, versions)| {
            let (version, (_, body)) = versions.last_key_value()?;
            let record = Record::read(&name, body);
            let items = versions.values().map(|(id, _)| *id).collect();
            let version = *version;
            Some(record.map(|record| {
                (
                    name,
                    Versioned {
                        version,
                        record,
                        items,
                    },
                )
            }))
        });
        latest.collect()
    }

    /// Writes the version after `read`, or the first one. Returns false if another writer was first.
    pub(crate) async fn write(
        &self,
        name: &str,
        read: Option<&Versioned>,
        record: &Record,
    ) -> Result<bool> {
        let version = read.map_or(1, |read| read.version + 1);
        let headers = [(NAME, name.to_owned()), (VERSION, version.to_string())];
        let item = Insert::new(record.write()?)
            .with_headers(headers.into_iter().collect())
            .with_key(format!("{name}\n{version}"));
        let inserted = self.ring.insert_one(item).await?;
        if matches!(inserted, Inserted::Present(_)) {
            return Ok(false);
        }
        // A writer that was slow may write a version that others have written and removed since. Later versions are
        // there then, because only a later one removes it.
        let latest = self.read().await?;
        let Some(latest) = latest.get(name).filter(|latest| latest.version == version) else {
            self.ring.remove(&[inserted.id()]).await?;
            return Ok(false);
        };
        let older: Vec<MessageId> = latest
            .items
            .iter()
            .copied()
            .filter(|id| *id != inserted.id())
            .collect();
        for batch in older.chunks(128) {
            self.ring.remove(batch).await?;
        }
        Ok(true)
    }
}
