//! Showing messages without taking them.

use std::time::Duration;

use queue_core::*;

use super::state::State;

impl State {
    /// A page of one place (L16). Its cursor counts the messages that were shown so far.
    pub(crate) fn peek(&self, place: Place, page: Page, now: Timestamp) -> Paged<Peeked> {
        let all: Vec<(Timestamp, MessageId)> = match place {
            Place::Ready => self.ready.values().map(|id| (now, *id)).collect(),
            Place::Delayed => self.delayed.iter().copied().collect(),
            Place::Leased => self.leased.iter().copied().collect(),
        };
        let start = page.after.map_or(0, |cursor| cursor.get() as usize);
        let rest = all.get(start..).unwrap_or_default();
        let sizes = rest.iter().map(|(_, id)| self.messages[id].size());
        let count = limits::fitting(sizes, page.limit);
        let shown = rest[..count].iter();
        Paged {
            entries: shown
                .map(|(until, id)| self.peeked(place, *id, until.since(now), now))
                .collect(),
            next: (count < rest.len()).then(|| Cursor::new((start + count) as u64)),
        }
    }

    fn peeked(&self, place: Place, id: MessageId, left: Duration, now: Timestamp) -> Peeked {
        let stored = &self.messages[&id];
        let standing = match (place, stored.lease) {
            (Place::Leased, Some((token, _))) => Standing::Leased {
                receipt: Receipt::new(id, token),
                time_left: left,
                holder: stored.holder.clone(),
            },
            (Place::Delayed, _) => Standing::Delayed { due_in: left },
            _ => Standing::Ready,
        };
        Peeked {
            message: Message {
                id,
                body: stored.body.clone(),
                headers: stored.headers.clone(),
            },
            attempts: stored.attempts,
            age: now.since(stored.pushed),
            failure: stored.failure.clone(),
            standing,
        }
    }
}
