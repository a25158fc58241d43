//! Thin asynchronous handles over the state machines: they add the lock, the clock and waiting.

mod bounded;
mod delay;
mod home;
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
    home::{Handle, Home},
    once::OnceHandle,
    queue::Queue,
};
