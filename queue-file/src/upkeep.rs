//! Storing the states of queues, so that their old records can go.
//!
//! The journal has at most twice the bytes of what the queues hold, and a few segments. A small state is copied while
//! its queue waits. A large state is made from the journal, in a copy of the queue: no call waits for it.

use std::sync::Arc;

use queue_core::Result;

use crate::{
    core::{Core, Slot},
    record,
    recovery::{state_at, with_name},
};

/// The length of a part of a state, and of the largest state that is copied at once: 256 KiB.
fn part_of(core: &Core) -> usize {
    usize::try_from(core.journal.log().segment / 64).unwrap_or(usize::MAX)
}

/// The bytes of a message or a key of which nothing is known.
const GUESS: u64 = 256;

/// About how many bytes the state of this queue has.
fn size(core: &Core, slot: &Slot) -> u64 {
    let (bytes, messages) = slot.lock().came;
    let each = bytes.checked_div(messages).unwrap_or(GUESS);
    core.entries(slot) as u64 * each.max(1)
}

/// Whether time alone may let records go.
pub(crate) fn may_gain(core: &Core) -> bool {
    core.journal.failure().is_none() && {
        let log = core.journal.log();
        log.closed_bytes() > log.segment
    }
}

fn wants_room(core: &Core, slots: &[Arc<Slot>]) -> bool {
    let live: u64 = slots.iter().map(|slot| size(core, slot)).sum();
    let log = core.journal.log();
    let (closed, segment) = (log.closed_bytes(), log.segment);
    drop(log);
    match core.journal.left() {
        // A state that does not fit into what is left would only use it up.
        Some(left) => closed > live && live < left / 2,
        None => closed > 2 * live + segment,
    }
}

/// Stores states and removes segments, until the journal is small enough.
pub(crate) fn tidy(core: &Core) {
    let Ok(_only) = core.upkeep.try_lock() else {
        return;
    };
    let begun = core.journal.log().next;
    loop {
        let slots = core.all_slots();
        if !wants_room(core, &slots) {
            return;
        }
        let oldest = slots
            .iter()
            .filter(|slot| slot.lock().number.is_some())
            .min_by_key(|slot| slot.lock().from);
        let stored = match oldest {
            Some(slot) if slot.lock().from >= begun => return,
            Some(slot) => store(core, slot),
            None => Some(()),
        };
        if stored.is_none() || trim(core).is_none() || oldest.is_none() {
            return;
        }
    }
}

/// Stores all states, those of queues with odd numbers by way of the journal.
#[cfg(all(test, feature = "simulated"))]
pub(crate) fn store_all(core: &Core) {
    for slot in core.all_slots() {
        let number = slot.lock().number;
        let stored = match number {
            Some(number) if number % 2 == 1 => store_large(core, &slot),
            _ => store(core, &slot),
        };
        stored.expect("the journal takes it");
        trim(core).expect("the journal takes it");
    }
}

/// Stores the state of a queue. `None` if the journal takes no more.
fn store(core: &Core, slot: &Slot) -> Option<()> {
    let part = part_of(core);
    if size(core, slot) < part as u64 / 2 {
        let room = core.journal.room_of_state(2 * part)?;
        let mut state = slot.lock();
        let Some(number) = state.number else {
            return Some(());
        };
        let saved = match slot.is_once {
            true => core.memory.save_once(&slot.name),
            false => core.memory.save(&slot.name),
        };
        let bytes = with_name(&slot.name, slot.is_once, &saved.ok()??);
        if bytes.len() <= part {
            let upto = state.last;
            let content = record::part(number, upto, 0, true, &bytes);
            let record = core.journal.append(room, core.memory.time(), content);
            (state.from, state.last) = (upto + 1, record);
            state.came = (bytes.len() as u64, core.entries(slot) as u64);
            drop(state);
            return core.journal.done_on_thread(record).then_some(());
        }
    }
    store_large(core, slot)
}

fn store_large(core: &Core, slot: &Slot) -> Option<()> {
    let (number, upto, from) = {
        let state = slot.lock();
        let Some(number) = state.number else {
            return Some(());
        };
        (number, state.last, state.from)
    };
    if !core.journal.done_on_thread(upto) {
        return None;
    }
    let segments = core.journal.log().segments_from(from);
    // An error of the disk, or damage: the next open says it.
    let state = state_at(&*core.disk, &segments, number, upto).ok()?;
    let bytes = with_name(&slot.name, slot.is_once, &state);
    drop(state);
    let length = part_of(core);
    let parts = bytes.len().div_ceil(length);
    for (place, part) in bytes.chunks(length).enumerate() {
        let is_last = place + 1 == parts;
        let content = record::part(number, upto, place as u64, is_last, part);
        let room = core.journal.room_of_state(content.len())?;
        let record = {
            let mut state = slot.lock();
            if state.number != Some(number) {
                return Some(());
            }
            let record = core.journal.append(room, core.memory.time(), content);
            if is_last {
                (state.from, state.last) = (upto + 1, state.last.max(record));
                state.came = (bytes.len() as u64, core.entries(slot) as u64);
            }
            record
        };
        // One part in a group: so calls wait for no more than that.
        if !core.journal.done_on_thread(record) {
            return None;
        }
    }
    Some(())
}

/// Removes the segments that no queue needs.
fn trim(core: &Core) -> Option<()> {
    let next = core.journal.log().next;
    let slots = core.all_slots();
    let needed = slots.iter().filter_map(|slot| {
        let state = slot.lock();
        state.number.map(|_| state.from)
    });
    // A queue that was made since needs later records.
    let from = needed.min().unwrap_or(next).min(next);
    planted!(TrimsTooFar => from = next);
    if core.journal.log().first_below(from).is_none() {
        return Some(());
    }
    let content = record::trim(from);
    let room = core.journal.room_of_state(content.len())?;
    let record = core.journal.append(room, core.memory.time(), content);
    if !core.journal.done_on_thread(record) || !core.journal.sync_now() {
        return None;
    }
    remove_below(core, from).ok()
}

/// The first segment goes first: so that a crash leaves no gap.
fn remove_below(core: &Core, from: u64) -> Result<(), std::io::Error> {
    loop {
        let first = core.journal.log().first_below(from);
        let Some(file) = first else {
            return Ok(());
        };
        core.disk.remove(file)?;
        core.journal.log().closed.pop_front();
    }
}
