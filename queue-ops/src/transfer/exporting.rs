//! Exporting: all messages of a queue, each once.

use std::collections::BTreeSet;

use queue_core::{Backend, MessageId, Page, Place, QueueName, Result, limits};
use serde::Serialize;

use super::{message::ExportedMessage, present::Present};

/// Passes over a queue whose messages change their places meanwhile.
const PASSES: usize = 10;

/// The numbers of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Exported {
    /// Messages that were written.
    pub exported: u64,
    /// Messages that were there when the export began, and that it did not find: they were acked, cancelled or moved
    /// meanwhile, or changed their places at each pass.
    pub missing: u64,
}

/// Passes each message of a queue to `write`, once: leased, delayed and ready ones in their orders, then dead letters.
///
/// It changes nothing. Messages that come meanwhile are left out. It goes over the queue again until it has found all
/// messages, or finds no more. The answer counts those that it did not find. Pause the queue for an exact copy.
///
/// A message that [`move_messages`](crate::move_messages) moves meanwhile is in this export or counted as missing. An
/// export of the other queue, made later, has it too.
///
/// # Errors
///
/// `Invalid` for a bad name, for a ring, and if there is no such queue. Errors of the backend, and of `write`.
pub async fn export(
    backend: &dyn Backend,
    queue: &str,
    write: &mut (dyn FnMut(ExportedMessage) -> Result<()> + Send),
) -> Result<Exported> {
    let present = Present::look(backend, &QueueName::new(queue)?).await?;
    let mut seen = BTreeSet::new();
    let missing = |seen: &BTreeSet<MessageId>| present.all.saturating_sub(seen.len() as u64);
    for _ in 0..PASSES {
        let before = seen.len();
        // In strict order, a leased message is the first of its group.
        for place in [Place::Leased, Place::Delayed, Place::Ready] {
            live(backend, &present, place, &mut seen, write).await?;
        }
        dead(&present, &mut seen, write).await?;
        if missing(&seen) == 0 || seen.len() == before {
            break;
        }
    }
    Ok(Exported {
        exported: seen.len() as u64,
        missing: missing(&seen),
    })
}

async fn live(
    backend: &dyn Backend,
    present: &Present,
    place: Place,
    seen: &mut BTreeSet<MessageId>,
    write: &mut (dyn FnMut(ExportedMessage) -> Result<()> + Send),
) -> Result<()> {
    let mut page = Page::first(limits::MAX_PAGE);
    let mut before = backend.now().await?;
    loop {
        let read = present.leasing.peek(place, page).await?;
        let now = backend.now().await?;
        for peeked in read.entries {
            let id = peeked.message.id;
            if present.had(&peeked, before) && seen.insert(id) {
                let is_first = present.is_first_of_group(id);
                write(ExportedMessage::of(peeked, now, is_first))?;
            }
        }
        before = now;
        match read.next {
            // Only newer ones follow.
            _ if seen.len() as u64 >= present.all => return Ok(()),
            Some(next) => page = Page::after(next, limits::MAX_PAGE),
            None => return Ok(()),
        }
    }
}

async fn dead(
    present: &Present,
    seen: &mut BTreeSet<MessageId>,
    write: &mut (dyn FnMut(ExportedMessage) -> Result<()> + Send),
) -> Result<()> {
    let mut page = Page::first(limits::MAX_PAGE);
    loop {
        let read = present.leasing.dead_letters(page).await?;
        for letter in &read.entries {
            if present.had_pushed_at(letter.pushed_at) && seen.insert(letter.id) {
                write(ExportedMessage::dead(letter))?;
            }
        }
        match read.next {
            Some(next) => page = Page::after(next, limits::MAX_PAGE),
            None => return Ok(()),
        }
    }
}
