//! Peeking into a typed queue.

use super::{Typed, consumer::AsLeasing};
use crate::{Decode, Page, Paged, Peeked, Place, Result};

/// A message as a peek found it, with its decoded value or the error of decoding it.
pub type TypedPeeked<T> = Peeked<Result<T>>;

impl<T, Q: AsLeasing + ?Sized, C: Decode<T> + ?Sized> Typed<T, Q, C> {
    /// Shows the messages of one place, a page at a time, and changes none of them (L16).
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::peek`](crate::Leasing::peek). A body that does not decode is no error of
    /// this call: its message carries the error.
    pub async fn peek(&self, place: Place, page: Page) -> Result<Paged<TypedPeeked<T>>> {
        let Paged { entries, next } = self.queue.peek(place, page).await?;
        let typed = |peeked: Peeked| TypedPeeked {
            message: self.decode_message(peeked.message),
            attempts: peeked.attempts,
            age: peeked.age,
            failure: peeked.failure,
            priority: peeked.priority,
            group: peeked.group,
            time_to_live: peeked.time_to_live,
            state: peeked.state,
            standing: peeked.standing,
        };
        Ok(Paged {
            entries: entries.into_iter().map(typed).collect(),
            next,
        })
    }
}
