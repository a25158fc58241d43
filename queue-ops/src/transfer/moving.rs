//! Moving: each message is pushed to the other queue, and then cancelled.

use std::collections::BTreeSet;

use queue_core::{
    Backend, Cancelled, Error, Leasing, MessageId, Page, Peeked, Place, Pushed, QueueName, Result,
    limits,
};

use super::{
    importing::{Target, Transferred},
    message::ExportedMessage,
    present::Present,
};

/// Moves the ready and delayed messages of a paused queue to another queue, under the name of a transfer. `progress`
/// gets the number of those moved so far.
///
/// Each message is pushed to the other queue, and then cancelled here. If the move breaks, repeat it under the same
/// name: nothing is pushed twice. It ends if the other queue is full. Messages that come meanwhile stay, so that it ends
/// beside producers.
///
/// Leased messages and dead letters stay. The messages of a group stay if it is paused or parked, or in strict order if
/// one of them is leased: a message behind the leased one must not go before it. A message loses
/// what an [import](crate::import) loses.
/// Groups lose their rules.
///
/// # Errors
///
/// `Invalid` for a bad name, a ring, and a queue that is not paused: a consumer could lease a message between the two
/// steps. Errors of the backend.
pub async fn move_messages(
    backend: &dyn Backend,
    from: &str,
    to: &str,
    transfer: &str,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<Transferred> {
    if from == to {
        return Err(Error::invalid(format!("`{from}` to itself")));
    }
    let present = Present::look(backend, &QueueName::new(from)?).await?;
    let target = Target::open(backend, to, transfer).await?;
    if !present.paused {
        return Err(Error::invalid(format!(
            "`{from}` is not paused: a consumer could lease a message while it is moved"
        )));
    }
    let mut moving = Move {
        backend,
        present,
        target,
        progress,
        moved: Transferred::default(),
        stay: BTreeSet::new(),
    };
    for (place, only_firsts) in [
        (Place::Delayed, true),
        (Place::Ready, false),
        (Place::Delayed, false),
        // Some were due meanwhile.
        (Place::Ready, false),
    ] {
        moving.place(place, only_firsts).await?;
    }
    moving.moved.stay = moving.stay.len() as u64;
    Ok(moving.moved)
}

/// A move under way.
struct Move<'a> {
    backend: &'a dyn Backend,
    present: Present,
    target: Target<'a>,
    progress: &'a mut (dyn FnMut(u64) + Send),
    moved: Transferred,
    /// Messages of groups that stay.
    stay: BTreeSet<MessageId>,
}

impl Move<'_> {
    /// Moves the messages of one place; or only those for which the others of their groups wait.
    async fn place(&mut self, place: Place, only_firsts: bool) -> Result<()> {
        let mut page = Page::first(limits::MAX_PAGE);
        let mut has_moved = false;
        while !self.is_done() {
            let before = self.backend.now().await?;
            let read = self.present.leasing.peek(place, page).await?;
            let now = self.backend.now().await?;
            let mut messages = Vec::new();
            for peeked in read.entries {
                let is_first = self.present.is_first_of_group(peeked.message.id);
                if self.goes(&peeked, self.present.had(&peeked, before))
                    && (is_first || !only_firsts)
                {
                    messages.push(ExportedMessage::of(peeked, now, is_first));
                }
            }
            if !messages.is_empty() {
                for chunk in messages.chunks(limits::MAX_BATCH) {
                    self.messages(chunk).await?;
                }
                // The place is read again from here on: what was moved is not in it any more.
                has_moved = true;
                continue;
            }
            match read.next {
                Some(next) => page = Page::after(next, limits::MAX_PAGE),
                // A message that took another place meanwhile may have been passed over.
                None if has_moved => (page, has_moved) = (Page::first(limits::MAX_PAGE), false),
                None => break,
            }
        }
        Ok(())
    }

    /// Whether all that was there is moved, or is known to stay; or there is no room for more.
    fn is_done(&self) -> bool {
        let known = self.moved.pushed + self.moved.pushed_before + self.stay.len() as u64;
        self.moved.full > 0 || known >= self.present.occupied
    }

    /// Whether this message is to be moved.
    fn goes(&mut self, peeked: &Peeked, was_there: bool) -> bool {
        let stays = was_there && self.present.is_stopped(peeked);
        if stays {
            self.stay.insert(peeked.message.id);
        }
        was_there && !stays
    }

    async fn messages(&mut self, messages: &[ExportedMessage]) -> Result<()> {
        if self.moved.full > 0 {
            return Ok(());
        }
        let answers = self.target.push(messages).await?;
        self.moved.add(&answers);
        let there = messages.iter().zip(&answers);
        let there = there.filter(|(_, answer)| **answer != Pushed::Full);
        let ids: Vec<MessageId> = there.map(|(message, _)| message.id).collect();
        self.moved.in_both += cancel(&*self.present.leasing, &ids).await?;
        (self.progress)(self.moved.pushed + self.moved.pushed_before);
        Ok(())
    }
}

/// Cancels messages that are in the other queue now. Returns how many it came too late for.
async fn cancel(old: &dyn Leasing, ids: &[MessageId]) -> Result<u64> {
    if ids.is_empty() {
        return Ok(0);
    }
    let cancelled = old.cancel(ids).await?;
    let late = cancelled.iter().filter(|one| **one != Cancelled::Cancelled);
    Ok(late.count() as u64)
}
