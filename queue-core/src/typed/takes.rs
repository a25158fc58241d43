//! Values that a handle takes.

use crate::{Headers, Result};

/// Values `V` that can be pushed to a queue of `Self`. A queue takes its own type. A queue of `String` takes a `str`, one
/// of `Vec` a slice, and one of [`Jobs`](crate::Jobs) any [`Job`](crate::Job). The consumer decodes a `Self`.
#[diagnostic::on_unimplemented(
    message = "a queue of `{Self}` takes no `{V}`",
    note = "push a `{Self}`; `open::<Jobs>()` opens a queue that takes any type of job"
)]
pub trait Takes<V: ?Sized> {
    /// The headers of a message with such a value.
    ///
    /// # Errors
    ///
    /// `Invalid` if [`Job::NAME`](crate::Job::NAME) is no name.
    #[doc(hidden)]
    fn headers() -> Result<Headers> {
        Ok(Headers::new())
    }
}

impl<T> Takes<T> for T {}
impl Takes<str> for String {}
impl<T> Takes<[T]> for Vec<T> {}
