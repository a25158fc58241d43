//! The messages that a queue had when a transfer began.

use std::{collections::BTreeSet, sync::Arc};

use queue_core::{
    AnyQueue, Backend, Bytes, Error, Leasing, MessageId, Page, Peeked, QueueName, Result,
    Timestamp, limits, millis_ceil,
};

/// The bits of an id that count the messages of a partition; the bits above are the partition.
const NUMBER: u64 = (1 << 56) - 1;

/// A queue, and how to tell the messages that were there from the messages that come while a transfer runs. So a transfer
/// ends beside producers.
pub(super) struct Present {
    pub(super) leasing: Arc<dyn Leasing>,
    /// Whether it was paused.
    pub(super) paused: bool,
    /// The number of ready, delayed and leased messages.
    pub(super) occupied: u64,
    /// The number of all messages, with dead letters.
    pub(super) all: u64,
    accepted: u64,
    began: Timestamp,
    /// The messages that the others of their groups wait for, in strict order: leased, or waiting for a retry.
    firsts: BTreeSet<MessageId>,
    /// The groups that hand out nothing for now, or of which a message is leased in strict order.
    stopped: BTreeSet<Bytes>,
}

impl Present {
    pub(super) async fn look(backend: &dyn Backend, name: &QueueName) -> Result<Self> {
        let stored = backend.open_stored(name).await?;
        let stored = stored.ok_or_else(|| Error::invalid(format!("there is no queue `{name}`")))?;
        let leasing = stored.queue.leasing().ok_or_else(|| {
            Error::invalid(format!(
                "`{name}` is a ring: its items come from its programs"
            ))
        })?;
        let counters = leasing.counters().await?;
        let mut present = Self {
            leasing,
            paused: counters.paused,
            occupied: counters.depth.occupied(),
            all: counters.depth.occupied() + counters.depth.dead,
            accepted: counters.accepted,
            began: backend.now().await?,
            firsts: BTreeSet::new(),
            stopped: BTreeSet::new(),
        };
        if let AnyQueue::Grouped(queue) = &stored.queue {
            let mut page = Page::first(limits::MAX_PAGE);
            loop {
                let read = queue.groups(page).await?;
                for group in read.entries {
                    let is_leased = group.held_by.is_some() && group.waits.is_none();
                    if is_leased || group.is_paused() {
                        present.stopped.insert(group.key);
                    }
                    present.firsts.extend(group.held_by);
                }
                match read.next {
                    Some(next) => page = Page::after(next, limits::MAX_PAGE),
                    None => break,
                }
            }
        }
        Ok(present)
    }

    /// Whether this message was there. `now` is a time before the peek.
    pub(super) fn had(&self, peeked: &Peeked, now: Timestamp) -> bool {
        let pushed = now.as_millis().saturating_sub(millis_ceil(peeked.age));
        peeked.message.id.get() & NUMBER <= self.accepted && pushed <= self.began.as_millis()
    }

    /// Whether this dead letter was there, as a message of any place.
    pub(super) fn had_pushed_at(&self, pushed_at: Timestamp) -> bool {
        pushed_at <= self.began
    }

    /// Whether the others of its group wait for this message, in strict order.
    pub(super) fn is_first_of_group(&self, id: MessageId) -> bool {
        self.firsts.contains(&id)
    }

    /// Whether this message's group hands out nothing for now.
    pub(super) fn is_stopped(&self, peeked: &Peeked) -> bool {
        let group = peeked.group.as_ref();
        group.is_some_and(|group| self.stopped.contains(group))
    }
}
