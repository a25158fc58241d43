//! The times at which an arrival or room may come.

use queue_core::{MessageId, Timestamp};

/// The time at which the arrival or the room may be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Availability {
    /// It is there, or only a call can find out.
    Now,
    /// At this time, unless a call brings it sooner.
    At(Timestamp),
    /// Only a call can bring it.
    OnlyByCall,
}

impl Availability {
    /// Something that comes without a call at `time`, if at all, seen from `now`.
    pub(crate) fn at(time: Option<Timestamp>, now: Timestamp) -> Self {
        match time {
            Some(time) if time <= now => Self::Now,
            Some(time) => Self::At(time),
            None => Self::OnlyByCall,
        }
    }
}

/// A state whose callers can wait.
pub(crate) trait Waitable {
    /// A message to lease, or an item to visit.
    fn arrival(&self, now: Timestamp) -> Availability;

    /// Room for another message.
    fn room(&self, now: Timestamp) -> Availability;

    /// Begins to note which messages are acked, dead or gone; returns whether this one is so already.
    fn watch_end(&mut self, id: MessageId) -> bool {
        let _ = id;
        true
    }

    /// The messages that were acked, died or went since. `watch` says whether to go on noting them.
    fn take_ended(&mut self, watch: bool) -> Vec<MessageId> {
        let _ = watch;
        Vec::new()
    }
}
