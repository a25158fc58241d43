//! Peeking (L16).

use std::time::Duration;

use queue_core::{Cursor, Message, Page, Paged, Peeked, Receipt, Standing, Timestamp};

use super::{
    Answer, LeasingModel,
    entry::{Entry, Place},
    limits,
};

impl LeasingModel {
    /// The messages of one place, in its order. The cursor is the number of those shown so far.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn peek(
        &mut self,
        now: Timestamp,
        place: queue_core::Place,
        page: Page,
    ) -> Answer<Paged<Peeked>> {
        limits::page(page.limit)?;
        let now = self.begin(now);
        let mut line = match place {
            queue_core::Place::Ready => self.ready(now),
            queue_core::Place::Delayed => self.delayed(now),
            queue_core::Place::Leased => self.leased(),
        };
        let shown = page.after.map_or(0, Cursor::get);
        line.drain(..line.len().min(shown as usize));
        let sizes: Vec<usize> = line.iter().map(|at| self.entries[*at].size()).collect();
        let count = limits::carried(&sizes, page.limit);
        let more = count < line.len();
        Ok(Paged {
            entries: line[..count]
                .iter()
                .map(|at| peeked(&self.entries[*at], place, now))
                .collect(),
            next: more.then(|| Cursor::new(shown + count as u64)),
        })
    }
}

fn peeked(entry: &Entry, place: queue_core::Place, now: u64) -> Peeked {
    let until = |time: u64| Duration::from_millis(time.saturating_sub(now));
    Peeked {
        message: Message {
            id: entry.id,
            body: entry.body.clone(),
            headers: entry.headers.clone(),
        },
        attempts: entry.attempts,
        age: Duration::from_millis(now.saturating_sub(entry.pushed)),
        failure: entry.failure.clone(),
        standing: match &entry.place {
            Place::Leased {
                token,
                deadline,
                holder,
            } => Standing::Leased {
                receipt: Receipt::new(entry.id, *token),
                time_left: until(*deadline),
                holder: holder.clone(),
            },
            // On a delay queue, a due message is ready.
            Place::Delayed { due } if place == queue_core::Place::Delayed => Standing::Delayed {
                due_in: until(*due),
            },
            _ => Standing::Ready,
        },
    }
}
