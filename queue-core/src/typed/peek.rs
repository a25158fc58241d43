//! Looking into a typed queue.

use std::time::Duration;

use super::{Typed, TypedMessage, consumer::AsLeasing};
use crate::{Page, Paged, Peeked, Place, Result, Standing};

/// A message as a peek found it, and its decoded value.
#[derive(Debug)]
pub struct TypedPeeked<T> {
    /// The message.
    pub message: TypedMessage<T>,
    /// How many attempts it has had, with the one under way.
    pub attempts: u32,
    /// The time since it was pushed.
    pub age: Duration,
    /// Why the last retry said that it failed (L14); `None` if it said nothing, or never failed.
    pub failure: Option<String>,
    /// Where it is.
    pub standing: Standing,
}

impl<T: Send + 'static, Q: AsLeasing + ?Sized> Typed<T, Q> {
    /// Shows the messages of one place, a page at a time, and changes nothing of them (L16).
    ///
    /// # Errors
    ///
    /// Those of [`Leasing::peek`](crate::Leasing::peek). A body that does not decode is no error of
    /// this call: its message carries the error.
    pub async fn peek(&self, place: Place, page: Page) -> Result<Paged<TypedPeeked<T>>> {
        let Paged { entries, next } = self.queue.peek(place, page).await?;
        let typed = |peeked: Peeked| TypedPeeked {
            message: self.decode_message(peeked.message),
            attempts: peeked.attempts,
            age: peeked.age,
            failure: peeked.failure,
            standing: peeked.standing,
        };
        Ok(Paged {
            entries: entries.into_iter().map(typed).collect(),
            next,
        })
    }
}
