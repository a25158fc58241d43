//! What somebody who waits can expect.

use queue_core::Timestamp;

/// When what is waited for may be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It is there, or a call would find out.
    Now,
    /// At this time, if no call brings it sooner.
    At(Timestamp),
    /// Only a call can bring it.
    Open,
}

impl Outlook {
    /// What happens by itself at this time, if it does, seen from `now`.
    pub(crate) fn at(time: Option<Timestamp>, now: Timestamp) -> Self {
        match time {
            Some(time) if time <= now => Self::Now,
            Some(time) => Self::At(time),
            None => Self::Open,
        }
    }
}

/// What can be waited for.
pub(crate) trait Prospects {
    /// Something to lease, or an item to visit.
    fn arrival(&self, now: Timestamp) -> Outlook;

    /// Room for another message.
    fn room(&self, now: Timestamp) -> Outlook;
}
