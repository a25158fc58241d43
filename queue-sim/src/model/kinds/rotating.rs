//! A ring.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    Cursor, Insert, Inserted, Message, MessageId, Page, Paged, Rotated, RotatingConfig, Timestamp,
};

use crate::model::{ModelResult, limits};

/// The model of a rotating queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RotatingModel {
    config: RotatingConfig,
    /// The items from the head to the tail.
    ring: Vec<ModelItem>,
    inserted: u64,
    /// The number of times that an item joined the tail.
    joins: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ModelItem {
    id: MessageId,
    insert: Insert,
    /// Zero if it is due at any time, even if the clock steps back: it was never visited, or there
    /// is no pace.
    due: u64,
    /// Its number in the order of joining the tail.
    joined: u64,
}

impl ModelItem {
    fn size(&self) -> usize {
        size(&self.insert)
    }

    fn message(&self) -> Message {
        Message::new(
            self.id,
            self.insert.body.clone(),
            self.insert.headers.clone(),
        )
    }
}

impl RotatingModel {
    /// The items, from the head to the tail.
    pub(in crate::model) fn ids(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.ring.iter().map(|item| item.id)
    }

    /// A new ring.
    pub fn new(config: &RotatingConfig) -> Self {
        Self {
            config: config.clone(),
            ring: Vec::new(),
            inserted: 0,
            joins: 0,
        }
    }

    /// Puts items at the tail, unless one with the same key is in the ring.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn insert(&mut self, items: &[Insert]) -> ModelResult<Vec<Inserted>> {
        limits::batch(items.len())?;
        let sizes: Vec<usize> = items.iter().map(size).collect();
        limits::sizes(&sizes, self.config.max_body)?;
        let mut keys = items.iter().filter_map(|item| item.key.as_ref());
        keys.try_for_each(|key| limits::key(key))?;
        let mut answers = Vec::new();
        for insert in items {
            let mut ring = self.ring.iter();
            let same = |item: &&ModelItem| insert.key.is_some() && item.insert.key == insert.key;
            if let Some(present) = ring.find(same) {
                answers.push(Inserted::Present(present.id));
                continue;
            }
            self.inserted += 1;
            let id = MessageId::new(self.inserted);
            self.joins += 1;
            self.ring.push(ModelItem {
                id,
                insert: insert.clone(),
                due: 0,
                joined: self.joins,
            });
            answers.push(Inserted::Added(id));
        }
        Ok(answers)
    }

    /// Uses another pace from now on: each item is due, in its place.
    pub fn reconfigure(&mut self, config: &RotatingConfig) {
        if config.pace != self.config.pace {
            for item in &mut self.ring {
                item.due = 0;
            }
        }
        self.config.pace = config.pace;
    }

    /// Visits up to `max` due items.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn rotate(&mut self, now: Timestamp, max: NonZeroUsize) -> ModelResult<Rotated> {
        limits::max(max.get())?;
        let now = now.as_millis();
        let due: Vec<ModelItem> = self
            .ring
            .iter()
            .filter(|item| self.config.pace.is_none() || item.due <= now)
            .cloned()
            .collect();
        let sizes: Vec<usize> = due.iter().map(ModelItem::size).collect();
        let visited = &due[..limits::carried(&sizes, max.get())];
        let pace = self.config.pace.map(limits::millis);
        for item in visited {
            self.ring.retain(|other| other.id != item.id);
            self.joins += 1;
            self.ring.push(ModelItem {
                joined: self.joins,
                due: pace.map_or(0, |pace| now + pace),
                ..item.clone()
            });
        }
        let soonest = self.ring.iter().map(|item| item.due).min();
        let wait = |due: u64| Duration::from_millis(due.saturating_sub(now));
        Ok(Rotated::new(
            visited.iter().map(ModelItem::message).collect(),
            soonest.filter(|_| visited.is_empty()).map(wait),
        ))
    }

    /// The items from the head on. A page goes on after the place at which the last page ended, so an item that was
    /// visited meanwhile comes again. The cursor is the model's own.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn list(&self, page: Page) -> ModelResult<Paged<Message>> {
        limits::page(page.limit)?;
        let after = page.after.map_or(0, Cursor::get);
        let start = self.ring.partition_point(|item| item.joined <= after);
        let rest = &self.ring[start..];
        let sizes: Vec<usize> = rest.iter().map(ModelItem::size).collect();
        let count = limits::carried(&sizes, page.limit);
        let more = count < rest.len();
        Ok(Paged::new(
            rest[..count].iter().map(ModelItem::message).collect(),
            rest[..count]
                .last()
                .filter(|_| more)
                .map(|last| Cursor::new(last.joined)),
        ))
    }

    /// Takes items out for good.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn remove(&mut self, ids: &[MessageId]) -> ModelResult<u64> {
        limits::batch(ids.len())?;
        let before = self.ring.len();
        self.ring.retain(|item| !ids.contains(&item.id));
        Ok((before - self.ring.len()) as u64)
    }

    /// The number of items in the ring.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.ring.len() as u64
    }

    /// Whether it has a pace.
    pub(crate) fn is_paced(&self) -> bool {
        self.config.pace.is_some()
    }

    /// The number of due items.
    pub(crate) fn due(&self, now: Timestamp) -> usize {
        let dues = self.ring.iter().map(|item| item.due);
        dues.filter(|due| *due <= now.as_millis()).count()
    }

    /// The time after `now` at which the next item becomes due.
    pub fn next_boundary(&self, now: Timestamp) -> Option<Timestamp> {
        let dues = self.ring.iter().map(|item| item.due);
        let later = dues.filter(|due| *due > now.as_millis());
        later.min().map(Timestamp::from_millis)
    }
}

fn size(insert: &Insert) -> usize {
    limits::size(&insert.body, &insert.headers)
}
