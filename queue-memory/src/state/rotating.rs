//! Rotating queues.

use std::{collections::HashMap, sync::Arc};

use queue_core::{
    Cursor, Insert, Inserted, Message, MessageId, Page, Paged, QueueKind, Result, Rotated,
    RotatingConfig, Timestamp, limits, millis_ceil,
};
use slab::Slab;

use super::{
    availability::{Availability, Waitable},
    entry::{KEPT, Key, Slot},
    index::Index,
    opening::Openable,
    sorted_slots::SortedSlots,
};

/// A ring of items at one instant.
///
/// The ring's order is the order of joining the tail, so every item has the number of its last joining.
/// Visited items are due one pace after they joined, in the same order. Items never visited are due already.
/// So the next due item is the first visited or the first fresh item, and no item has to be skipped.
#[derive(Debug)]
pub(crate) struct Ring {
    config: RotatingConfig,
    items: Slab<StoredItem>,
    index: Index,
    keys: HashMap<Key, MessageId>,
    /// By joining.
    fresh: SortedSlots<u64>,
    /// By joining.
    visited: SortedSlots<u64>,
    pace: u64,
    last_id: u64,
    last_joining: u64,
    latest: Timestamp,
}

#[derive(Debug)]
struct StoredItem {
    message: Message,
    key: Option<Key>,
    joining: u64,
    /// The due time of its next visit, once it had a first.
    due: Option<Timestamp>,
}

impl StoredItem {
    fn size(&self) -> usize {
        self.message.body.len() + self.message.headers.size()
    }
}

impl Openable for Ring {
    type Config = RotatingConfig;
    const KIND: QueueKind = QueueKind::Rotating;

    fn create(config: &RotatingConfig) -> Self {
        Self {
            config: config.clone(),
            items: Slab::new(),
            index: Index::default(),
            keys: HashMap::new(),
            fresh: SortedSlots::default(),
            visited: SortedSlots::default(),
            pace: config.pace.map_or(0, millis_ceil),
            last_id: 0,
            last_joining: 0,
            latest: Timestamp::default(),
        }
    }

    fn config(&self) -> &RotatingConfig {
        &self.config
    }

    #[cfg(feature = "journal")]
    fn entries(&self) -> usize {
        self.items.len()
    }

    fn reconfigure(&mut self, _now: Timestamp, config: &RotatingConfig) -> Result<()> {
        let repaced = config.pace != self.config.pace;
        planted!(PaceKeepsDueTimes => repaced = false);
        if repaced {
            let items = self.items.len() as u64;
            if items > limits::MAX_REPACED {
                return Err(RotatingConfig::pace_of_many(items));
            }
            self.forget_visits();
        }
        self.pace = config.pace.map_or(0, millis_ceil);
        self.config = config.clone();
        Ok(())
    }
}

impl Ring {
    fn begin(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Makes every item due, in its place.
    fn forget_visits(&mut self) {
        let mut all = Vec::with_capacity(self.items.len());
        for (_, slot) in [&self.fresh, &self.visited]
            .into_iter()
            .flat_map(|line| line.after(0))
        {
            let item = &mut self.items[slot as usize];
            item.due = None;
            all.push((item.joining, slot));
        }
        all.sort_unstable();
        (self.fresh, self.visited) = (SortedSlots::default(), SortedSlots::default());
        for (joining, slot) in all {
            self.fresh.push(joining, slot);
        }
    }

    pub(crate) fn insert(&mut self, items: &[Insert]) -> Vec<Inserted> {
        items.iter().map(|item| self.insert_one(item)).collect()
    }

    fn insert_one(&mut self, insert: &Insert) -> Inserted {
        let present = insert.key.as_ref().and_then(|key| self.keys.get(&key[..]));
        if let Some(id) = present {
            return Inserted::Present(*id);
        }
        self.last_id += 1;
        let id = MessageId::new(self.last_id);
        let key: Option<Key> = insert.key.as_ref().map(|key| Arc::from(&key[..]));
        if let Some(key) = &key {
            self.keys.insert(Arc::clone(key), id);
        }
        self.last_joining += 1;
        let item = StoredItem {
            message: Message::new(id, insert.body.clone(), insert.headers.clone()),
            key,
            joining: self.last_joining,
            due: None,
        };
        let slot = Slot::try_from(self.items.insert(item))
            .expect("a ring in memory holds fewer than 2^32 items");
        self.index.insert(id, slot);
        self.fresh.push(self.last_joining, slot);
        Inserted::Added(id)
    }

    pub(crate) fn rotate(&mut self, now: Timestamp, max: usize) -> Rotated {
        let now = self.begin(now);
        let joined_before = self.last_joining;
        let mut items = Vec::with_capacity(max.min(self.items.len()));
        let mut bytes = 0_usize;
        while items.len() < max {
            let Some(slot) = self.first_due(now, joined_before) else {
                break;
            };
            bytes = bytes.saturating_add(self.items[slot as usize].size());
            if bytes > limits::MAX_BATCH_BYTES && !items.is_empty() {
                break;
            }
            items.push(self.visit(slot, now));
        }
        let next = match items.is_empty() {
            true => self.next_due().map(|due| due.since(now)),
            false => None,
        };
        Rotated::new(items, next)
    }

    /// The first due item that did not join in this call.
    fn first_due(&self, now: Timestamp, joined_before: u64) -> Option<Slot> {
        let visited = self.visited.first();
        let visited = visited.filter(|(_, slot)| self.items[*slot as usize].due <= Some(now));
        planted!(InsertedNearTheFront => visited = visited.filter(|_| self.fresh.len() == 0));
        let (joining, slot) = self.fresh.first().into_iter().chain(visited).min()?;
        planted!(VisitsTwice => return Some(slot));
        (joining <= joined_before).then_some(slot)
    }

    fn visit(&mut self, slot: Slot, now: Timestamp) -> Message {
        let item = &mut self.items[slot as usize];
        let line = match item.due {
            None => &mut self.fresh,
            Some(_) => &mut self.visited,
        };
        line.remove(item.joining);
        self.last_joining += 1;
        item.joining = self.last_joining;
        let due = now.plus_millis(self.pace);
        planted!(PaceFromTheDueTime => due = item.due.unwrap_or(now).plus_millis(self.pace));
        item.due = Some(due);
        self.visited.push(self.last_joining, slot);
        item.message.clone()
    }

    /// The earliest due time of an item; an item never visited is due already.
    fn next_due(&self) -> Option<Timestamp> {
        if self.fresh.len() > 0 {
            return Some(Timestamp::default());
        }
        let (_, slot) = self.visited.first()?;
        self.items[slot as usize].due
    }

    pub(crate) fn list(&self, page: Page) -> Paged<Message> {
        let after = page.after.map_or(0, Cursor::get);
        let part =
            |line: &SortedSlots<u64>| line.after(after).take(page.limit + 1).collect::<Vec<_>>();
        let mut rest = [part(&self.fresh), part(&self.visited)].concat();
        rest.sort_unstable();
        let items = || rest.iter().map(|(_, slot)| &self.items[*slot as usize]);
        let count = limits::fitting(items().map(StoredItem::size), page.limit);
        let last = || items().nth(count - 1).map(|item| Cursor::new(item.joining));
        Paged::new(
            items()
                .take(count)
                .map(|item| item.message.clone())
                .collect(),
            (rest.len() > count).then(last).flatten(),
        )
    }

    pub(crate) fn remove(&mut self, ids: &[MessageId]) -> u64 {
        let removed = ids.iter().filter(|id| self.remove_one(**id)).count();
        if self.items.is_empty() && self.items.capacity() > KEPT {
            self.items = Slab::new();
        }
        removed as u64
    }

    fn remove_one(&mut self, id: MessageId) -> bool {
        planted!(RemovesTheHead => id = self.head().unwrap_or(id));
        let Some(slot) = self.index.remove(id) else {
            return false;
        };
        let item = self.items.remove(slot as usize);
        let line = match item.due {
            None => &mut self.fresh,
            Some(_) => &mut self.visited,
        };
        line.remove(item.joining);
        if let Some(key) = &item.key {
            self.keys.remove(key);
        }
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

impl Waitable for Ring {
    fn arrival(&self, now: Timestamp) -> Availability {
        Availability::at(self.next_due(), now)
    }

    /// A ring always has room.
    fn room(&self, _now: Timestamp) -> Availability {
        Availability::Now
    }
}

coded!(Ring { config, items, index, keys, fresh, visited, pace, last_id, last_joining } else { latest: Timestamp::default() });
coded!(StoredItem {
    message,
    key,
    joining,
    due
});

#[cfg(test)]
impl Ring {
    /// Checks that every structure holds the same items, and no more than `most`.
    pub(super) fn assert_whole(&self, most: usize) {
        assert!(self.len() <= most);
        assert_eq!(self.len(), self.fresh.len() + self.visited.len());
        assert!(self.keys.len() <= self.len());
        assert!(self.items.capacity() <= KEPT && self.index.capacity() <= 4 * KEPT);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::state::churn::{BATCH, operations};

    #[test]
    fn a_rotating_queue_does_not_grow() {
        let config = RotatingConfig::default().with_pace(Duration::from_millis(2));
        let mut ring = Ring::create(&config);
        let mut now = Timestamp::from_millis(1);
        let mut before = Vec::new();
        for round in 0..operations() / (3 * BATCH) {
            now = now.plus_millis(1);
            let item = |n| Insert::new("churn").with_key(format!("{}", (round + n) % 1000));
            let items: Vec<_> = (0..BATCH).map(item).collect();
            let inserted: Vec<MessageId> =
                ring.insert(&items).iter().map(|item| item.id()).collect();
            assert!(!ring.rotate(now, BATCH).items.is_empty());
            ring.remove(&std::mem::replace(&mut before, inserted));
            ring.assert_whole(2 * BATCH);
        }
        ring.remove(&before);
        ring.assert_whole(0);
    }
}
