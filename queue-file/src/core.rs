//! The queues in memory, and the journal that keeps them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use queue_core::{Backend, Error, ErrorKind, QueueConfig, QueueName, Result, Timestamp};
use queue_memory::{MemoryBackend, journal};

use crate::{
    at_once::at_once,
    disk::Disk,
    journal::{Journal, Writer},
    log::Log,
    record,
    recovery::{Found, Scan},
    url::SyncMode,
};

/// Everything that handles share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) memory: MemoryBackend,
    pub(crate) journal: Journal,
    pub(crate) disk: Arc<dyn Disk>,
    slots: Mutex<BTreeMap<(bool, QueueName), Arc<Slot>>>,
    next_queue: AtomicU64,
    /// Held by whoever stores states and removes segments.
    pub(crate) upkeep: Mutex<()>,
}

/// A name of a queue, or of a store of once keys.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) name: QueueName,
    pub(crate) is_once: bool,
    // A std lock: a call holds it for its work and the note of its record, and never across an await.
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
pub(crate) struct SlotState {
    /// The number of the queue in the journal, while there is one.
    pub(crate) number: Option<u64>,
    /// The last record of the queue.
    pub(crate) last: u64,
    /// The first record that the queue needs.
    pub(crate) from: u64,
    /// The bytes of messages that came, and how many came: since the last stored state, which counts as one.
    pub(crate) came: (u64, u64),
    /// The name is free: another slot may have it.
    is_gone: bool,
}

impl Slot {
    pub(crate) fn lock(&self) -> MutexGuard<'_, SlotState> {
        // A call that panics is found by the queue in memory.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        sync: SyncMode,
        segment: u64,
        writer: Writer,
        now: Timestamp,
    ) -> Result<Self> {
        let scan = Scan::of(&*disk)?;
        planted!(TimeGoesBack => now = Timestamp::from_millis(now.as_millis() / 2));
        let last = scan.time;
        planted!(TimeGoesBack => last = Timestamp::default());
        let (memory, found) = scan.replay(&*disk, MemoryBackend::starting_at(now.max(last)))?;
        let failed = |error| {
            let message = format!("{} cannot be written", disk.name());
            Error::new(ErrorKind::Unavailable, message).with_source(error)
        };
        for file in &scan.unwritten {
            disk.remove(*file).map_err(failed)?;
        }
        if let Some(last) = scan.segments.last() {
            // What was read may not be durable yet, and what is behind it is torn.
            disk.cut(last.file, last.length).map_err(failed)?;
            disk.sync(last.file).map_err(failed)?;
        }
        let next_queue = scan.next_queue();
        let log = Log::begin(
            Arc::clone(&disk),
            segment,
            scan.segments.into(),
            scan.next_file,
            scan.next,
        );
        let core = Self {
            memory,
            journal: Journal::new(log.map_err(failed)?, disk.name(), sync, writer),
            disk,
            slots: Mutex::default(),
            next_queue: AtomicU64::new(next_queue),
            upkeep: Mutex::default(),
        };
        found.iter().for_each(|found| core.add(found));
        Ok(core)
    }

    fn add(&self, found: &Found) {
        let slot = self.slot(found.is_once, &found.name);
        let mut state = slot.lock();
        state.number = Some(found.number);
        (state.last, state.from) = (found.last, found.from);
        if found.has_state {
            state.came = (found.bytes, self.entries(&slot) as u64);
        }
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<(bool, QueueName), Arc<Slot>>> {
        // No code panics while it holds the lock.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all_slots(&self) -> Vec<Arc<Slot>> {
        self.slots().values().cloned().collect()
    }

    /// The slot of a name, which may be free.
    pub(crate) fn slot(&self, is_once: bool, name: &QueueName) -> Arc<Slot> {
        let mut slots = self.slots();
        let slot = slots.entry((is_once, name.clone())).or_insert_with(|| {
            Arc::new(Slot {
                name: name.clone(),
                is_once,
                state: Mutex::default(),
            })
        });
        Arc::clone(slot)
    }

    /// Does work on the slot of a name.
    pub(crate) fn on_slot<R>(
        &self,
        is_once: bool,
        name: &QueueName,
        work: impl FnOnce(&mut SlotState) -> R,
    ) -> R {
        loop {
            let slot = self.slot(is_once, name);
            let mut state = slot.lock();
            if !state.is_gone {
                return work(&mut state);
            }
        }
    }

    /// Frees the name of a removed queue.
    pub(crate) fn free(&self, name: &QueueName, state: &mut SlotState) {
        state.number = None;
        state.is_gone = true;
        self.slots().remove(&(false, name.clone()));
    }

    pub(crate) fn new_number(&self) -> u64 {
        self.next_queue.fetch_add(1, Ordering::Relaxed)
    }

    /// How many messages or keys a slot holds.
    pub(crate) fn entries(&self, slot: &Slot) -> usize {
        let entries = match slot.is_once {
            true => self.memory.once_entries(&slot.name),
            false => self.memory.entries(&slot.name),
        };
        entries.unwrap_or_default()
    }

    /// Makes the queue of this name, if there is none. Returns the last record to wait for.
    pub(crate) async fn make(&self, name: &QueueName, config: &QueueConfig) -> Result<u64> {
        let known = self.on_slot(false, name, |state| state.number.map(|_| state.last));
        if let Some(last) = known {
            return Ok(last);
        }
        let number = self.new_number();
        let content = record::open(number, name, config);
        let room = self.journal.room(content.len(), true).await?;
        self.on_slot(false, name, |state| {
            if state.number.is_some() {
                return Ok(state.last);
            }
            let now = self.memory.time();
            journal::at(now, || at_once(self.memory.open(name, config)))?;
            let record = self.journal.append(room, now, content);
            *state = SlotState {
                number: Some(number),
                last: record,
                from: record,
                ..SlotState::default()
            };
            Ok(record)
        })
    }
}
