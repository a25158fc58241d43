//! Thin asynchronous handles over the state machines: they add the lock, the clock and waiting.

mod end_waiter;
mod home;
#[cfg(test)]
mod interleavings;
mod kinds;
mod leasing;
mod once;
mod queue;
mod waiter;

pub(crate) use self::{
    home::{Handle, Home},
    kinds::{ByKind, Opens, by_kind},
    once::OnceHandle,
    queue::QueueHandle,
};
