//! The dead letters (L13).

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound::{Excluded, Unbounded},
};

use bytes::Bytes;
use queue_core::{Cursor, DeadLetter, DeathReason, MessageId, Page, Paged, Timestamp, limits};

use super::entry::{Key, StoredMessage};

/// The dead letters in the order of dying, and by id.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    cap: u64,
    /// By a number that grows with each death and never repeats: a cursor.
    letters: BTreeMap<u64, Dead>,
    numbers: HashMap<MessageId, u64>,
    last: u64,
}

/// A dead letter, with the fields that a revival restores.
#[derive(Debug)]
pub(crate) struct Dead {
    pub(crate) letter: DeadLetter,
    /// The name of its group, on a grouped queue.
    pub(crate) group: Option<Key>,
}

impl DeadLetters {
    pub(crate) fn new(cap: u64) -> Self {
        Self {
            cap,
            letters: BTreeMap::new(),
            numbers: HashMap::new(),
            last: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }

    pub(crate) fn get(&self, id: MessageId) -> Option<&DeadLetter> {
        let number = self.numbers.get(&id)?;
        self.letters.get(number).map(|dead| &dead.letter)
    }

    pub(crate) fn contains(&self, id: MessageId) -> bool {
        self.numbers.contains_key(&id)
    }

    /// Adds a message that died; returns how many letters it dropped to keep to the cap.
    pub(crate) fn add(
        &mut self,
        entry: StoredMessage,
        group: Option<Bytes>,
        reason: DeathReason,
        now: Timestamp,
    ) -> u64 {
        if self.cap == 0 {
            return 1;
        }
        let pushed_at = entry.pushed();
        planted!(PushedWhenItDied => pushed_at = now);
        let failure = entry.failure();
        let state = entry.state().cloned();
        let mut letter =
            DeadLetter::new(entry.id, entry.body, reason, entry.attempts, pushed_at, now);
        letter.failure = failure;
        letter.headers = entry.headers;
        letter.priority = entry.priority;
        letter.group = group;
        letter.state = state;
        self.last += 1;
        self.numbers.insert(letter.id, self.last);
        let dead = Dead {
            letter,
            group: entry.group,
        };
        self.letters.insert(self.last, dead);
        let cap = self.cap;
        planted!(DeadLetterTooMany => cap = cap + 1);
        if self.letters.len() as u64 <= cap {
            return 0;
        }
        let dropped = self.letters.pop_first();
        planted!(TrimDropsTheNewest =>
            dropped = { self.letters.extend(dropped); self.letters.pop_last() });
        if let Some((_, dropped)) = dropped {
            self.numbers.remove(&dropped.letter.id);
        }
        1
    }

    /// Changes the cap; returns how many letters it dropped.
    pub(crate) fn keep(&mut self, cap: u64) -> u64 {
        self.cap = cap;
        planted!(CapTrimsNothing => return 0);
        let mut dropped = 0;
        while self.letters.len() as u64 > cap
            && let Some((_, dead)) = self.letters.pop_first()
        {
            self.numbers.remove(&dead.letter.id);
            dropped += 1;
        }
        dropped
    }

    pub(crate) fn take(&mut self, id: MessageId) -> Option<Dead> {
        let number = self.numbers.remove(&id)?;
        self.letters.remove(&number)
    }

    pub(crate) fn page(&self, page: Page) -> Paged<DeadLetter> {
        let after = page.after.map_or(0, Cursor::get);
        let rest = || self.letters.range((Excluded(after), Unbounded));
        let sizes = rest().map(|(_, dead)| dead.letter.size());
        let count = limits::fitting(sizes, page.limit);
        let entries = rest().take(count).map(|(_, dead)| dead.letter.clone());
        let more = rest().nth(count).is_some();
        let last = || rest().nth(count - 1).map(|(&number, _)| number);
        Paged::new(
            entries.collect(),
            more.then(last).flatten().map(Cursor::new),
        )
    }
}

coded!(DeadLetters {
    cap,
    letters,
    numbers,
    last
});
coded!(Dead { letter, group });
