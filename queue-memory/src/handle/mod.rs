//! Thin asynchronous handles over the state machines: they add the lock, the clock and waiting.

mod bounded;
mod delay;
#[cfg(test)]
mod interleavings;
mod leasing;
mod once;
mod priority;
mod queue;
mod reliable;
mod rotating;

use self::leasing::LeasingHandle;
pub(crate) use self::{
    once::OnceHandle,
    queue::{Handle, Queue},
};
