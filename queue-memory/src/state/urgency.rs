//! The most urgent message first: strictly, or with ageing.

use std::collections::BTreeMap;

use queue_core::MessageId;

use super::{
    backlog::Lines,
    entry::{Entries, EntryPlace, Slot, StoredMessage},
    fifo::Fifo,
    levels::Levels,
};

/// The ready messages of a priority queue.
#[derive(Debug)]
pub(crate) enum Urgency {
    /// Two lines for each priority (P1, P2).
    Strict(Levels),
    /// One line, in which waiting compensates for priority (P4).
    Ageing(Ageing),
}

impl Urgency {
    /// Strict, or with a step of priority worth this many milliseconds of waiting.
    pub(crate) fn new(ageing: Option<u64>) -> Self {
        match ageing {
            None => Self::Strict(Levels::default()),
            Some(step) => Self::Ageing(Ageing {
                line: BTreeMap::new(),
                step: i64::try_from(step).unwrap_or(i64::MAX),
            }),
        }
    }
}

impl Lines for Urgency {
    fn join(&mut self, entries: &mut Entries, slot: Slot) {
        match self {
            Self::Strict(levels) => levels.of(&entries[slot]).join(entries, slot),
            Self::Ageing(ageing) => ageing.insert(entries, slot),
        }
    }

    fn rejoin(&mut self, entries: &mut Entries, slot: Slot) {
        match self {
            Self::Strict(levels) => levels.of(&entries[slot]).rejoin(entries, slot),
            // The message goes back to its old place.
            Self::Ageing(ageing) => ageing.insert(entries, slot),
        }
    }

    fn first(&self) -> Option<Slot> {
        match self {
            Self::Strict(levels) => levels.first(),
            Self::Ageing(ageing) => ageing.line.values().next().copied(),
        }
    }

    fn remove(&mut self, entries: &mut Entries, slot: Slot) {
        match self {
            Self::Strict(levels) => levels.remove(entries, slot),
            Self::Ageing(ageing) => {
                ageing.line.remove(&ageing.key(&entries[slot]));
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Strict(levels) => levels.len(),
            Self::Ageing(ageing) => ageing.line.len(),
        }
    }

    fn heads(&self) -> impl Iterator<Item = Slot> + '_ {
        let (levels, aged) = match self {
            Self::Strict(levels) => (Some(levels.lines()), None),
            Self::Ageing(ageing) => (None, ageing.line.values().next().copied()),
        };
        let heads = levels.into_iter().flatten().flat_map(Fifo::heads);
        heads.chain(aged)
    }

    fn forwards<'a>(&'a self, entries: &'a Entries) -> impl Iterator<Item = Slot> + 'a {
        let (levels, aged) = match self {
            Self::Strict(levels) => (Some(levels.lines()), None),
            Self::Ageing(ageing) => (None, Some(ageing.line.values().copied())),
        };
        let levels = levels.into_iter().flatten();
        let strict = levels.flat_map(move |level| level.forwards(entries));
        strict.chain(aged.into_iter().flatten())
    }
}

/// The line by (arrival − priority × step, id).
#[derive(Debug)]
pub(crate) struct Ageing {
    line: BTreeMap<(i64, MessageId), Slot>,
    step: i64,
}

impl Ageing {
    fn key(&self, entry: &StoredMessage) -> (i64, MessageId) {
        let arrival = i64::try_from(entry.arrival.as_millis()).unwrap_or(i64::MAX);
        let ahead = i64::from(entry.priority).saturating_mul(self.step);
        (arrival.saturating_sub(ahead), entry.id)
    }

    fn insert(&mut self, entries: &mut Entries, slot: Slot) {
        let entry = &mut entries[slot];
        entry.place = EntryPlace::Line;
        let key = self.key(entry);
        self.line.insert(key, slot);
    }
}

coded!(enum Urgency { 0 => Strict(levels); 1 => Ageing(ageing); });
coded!(Ageing { line, step });
