//! Showing messages without taking them.

use std::{collections::BTreeSet, time::Duration};

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
        Paged::new(
            shown
                .map(|(until, id)| self.peeked(place, *id, until.since(now), now))
                .collect(),
            (count < rest.len()).then(|| Cursor::new((start + count) as u64)),
        )
    }

    fn standing(&self, place: Place, id: MessageId, left: Duration) -> Standing {
        let stored = &self.messages[&id];
        match (place, stored.lease) {
            (Place::Leased, Some((token, _))) => Standing::leased(
                Receipt::new(id, token),
                left,
                stored.holder.clone(),
                stored.progress.clone(),
            ),
            (Place::Delayed, _) => Standing::delayed(left),
            _ => Standing::Ready,
        }
    }

    fn peeked(&self, place: Place, id: MessageId, left: Duration, now: Timestamp) -> Peeked {
        let stored = &self.messages[&id];
        let mut peeked = Peeked::new(
            Message::new(id, stored.body.clone(), stored.headers.clone()),
            stored.attempts,
            now.since(stored.pushed),
            self.standing(place, id, left),
        );
        peeked.failure = stored.failure.clone();
        peeked.state = Some(stored.state.clone()).filter(|state| !state.is_empty());
        peeked.time_to_live = stored.end.map(|(end, then)| TimeToLive {
            limit: end.since(now),
            then,
        });
        peeked
    }

    /// What became of a message (L18).
    pub(crate) fn find(&self, id: MessageId, now: Timestamp) -> Found {
        if let Some(stored) = self.messages.get(&id) {
            let until = |times: &BTreeSet<(Timestamp, MessageId)>| {
                let (time, _) = times.iter().find(|(_, other)| *other == id)?;
                (now < *time).then(|| time.since(now))
            };
            return Found::present(
                stored.attempts,
                now.since(stored.pushed),
                stored.failure.clone(),
                match (until(&self.leased), until(&self.delayed)) {
                    (Some(left), _) => self.standing(Place::Leased, id, left),
                    (None, Some(left)) => self.standing(Place::Delayed, id, left),
                    (None, None) => Standing::Ready,
                },
            )
            .with_state_size(stored.state.len());
        }
        if let Some(letter) = self.dead.values().find(|letter| letter.id == id) {
            return Found::dead(
                letter.attempts,
                letter.reason.clone(),
                letter.failure.clone(),
                letter.pushed_at,
                letter.died_at,
            )
            .with_state_size(letter.state.as_ref().map_or(0, Bytes::len));
        }
        match self.results.get(&id) {
            Some((end, result)) if now < *end => Found::Done(result.clone()),
            _ if (1..=self.counters.accepted).contains(&id.get()) => Found::Gone,
            _ => Found::NeverWas,
        }
    }
}
