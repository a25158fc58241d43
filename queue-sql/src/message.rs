//! Values that a producer may push.

use queue_core::{Encode, Job, Json, Push, Result};
use serde::Serialize;

/// A value that an [`Outbox`](crate::Outbox) takes as a message.
///
/// | value | body | headers |
/// | --- | --- | --- |
/// | `&job` of a type that is a [`Job`] | JSON | the name of the job's type |
/// | [`Plain`]`(&value)` | JSON | none |
/// | a [`Push`] | as it is | as they are |
pub trait IntoMessage {
    /// The message.
    ///
    /// # Errors
    ///
    /// `Codec` if the value has no encoding; `Invalid` if [`Job::NAME`] is no name.
    fn into_message(self) -> Result<Push>;
}

impl<J: Job + Serialize> IntoMessage for &J {
    fn into_message(self) -> Result<Push> {
        Push::of_job(self, &Json)
    }
}

impl IntoMessage for Push {
    fn into_message(self) -> Result<Push> {
        Ok(self)
    }
}

/// A value for a queue of its own type, in JSON: `Plain(&42)` for a queue of `u64`.
#[derive(Debug, Clone, Copy)]
pub struct Plain<'a, T: ?Sized>(pub &'a T);

impl<T: Serialize + ?Sized> IntoMessage for Plain<'_, T> {
    fn into_message(self) -> Result<Push> {
        Json.encode(self.0).map(Push::new)
    }
}
