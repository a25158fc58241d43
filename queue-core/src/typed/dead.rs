//! Dead letters of a typed queue.

use super::{Typed, consumer::AsLeasing};
use crate::{DeadLetter, Decode, Page, Paged, Result};

/// A message in the dead letters, with its decoded value or the error of decoding it.
pub type TypedDeadLetter<T> = DeadLetter<Result<T>>;

impl<T, Q: AsLeasing + ?Sized, C: Decode<T> + ?Sized> Typed<T, Q, C> {
    /// The dead letters, oldest first, a page at a time (L13).
    ///
    /// [`revive`] and [`discard`] of the [`queue`](Self::queue) beneath take their ids. Its
    /// [`dead_letters`] have the undecoded bodies.
    ///
    /// [`revive`]: crate::Leasing::revive
    /// [`discard`]: crate::Leasing::discard
    /// [`dead_letters`]: crate::Leasing::dead_letters
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::dead_letters`](crate::Leasing::dead_letters). A body that does not
    /// decode is no error of this call: its dead letter carries the error.
    pub async fn dead_letters(&self, page: Page) -> Result<Paged<TypedDeadLetter<T>>> {
        let Paged { entries, next } = self.queue.dead_letters(page).await?;
        let typed = |letter: DeadLetter| TypedDeadLetter {
            id: letter.id,
            body: self.decode(&letter.body),
            headers: letter.headers,
            reason: letter.reason,
            failure: letter.failure,
            attempts: letter.attempts,
            priority: letter.priority,
            group: letter.group,
            state: letter.state,
            pushed_at: letter.pushed_at,
            died_at: letter.died_at,
        };
        Ok(Paged {
            entries: entries.into_iter().map(typed).collect(),
            next,
        })
    }
}
