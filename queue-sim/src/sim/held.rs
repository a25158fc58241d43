//! Held messages: a worker leased them once, and has extended the lease ever since.

use std::{fmt, time::Duration};

use queue_core::{MessageId, QueueName};

use super::Story;
use crate::report::unsettled;

/// The unacked message that a worker held the longest, and still held after the last fault.
#[derive(Debug)]
pub(super) struct Held<'a> {
    queue: QueueName,
    id: MessageId,
    lane: &'a str,
    time: Duration,
}

impl<'a> Held<'a> {
    pub(super) fn longest(story: &'a Story) -> Option<Self> {
        let healed = story.history.healed()?;
        let leases = unsettled(&story.history).into_iter();
        let held = leases.filter(|lease| lease.extended.order > healed);
        let held = held.map(|lease| Self {
            queue: lease.queue,
            id: lease.receipt.id,
            lane: story.lanes.get(&lease.lane).map_or("somebody", |lane| lane),
            time: lease.extended.at.since(lease.began.at),
        });
        let held = held.filter(|held: &Self| !held.time.is_zero());
        held.max_by_key(|held| held.time)
    }
}

impl fmt::Display for Held<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            queue,
            id,
            lane,
            time,
        } = self;
        write!(
            f,
            "{lane} held {queue} {id} for {time:?}, extending its lease"
        )
    }
}
