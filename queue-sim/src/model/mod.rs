//! Reference models of the five kinds, which the checks compare a backend with.
//!
//! A model is written from `CONTRACT.md` alone, and is naive on purpose: all messages that ever
//! were, in one `Vec`, and every question answered by a scan and a sort. It shares no code with a
//! backend, nor the limits or the order with `queue-core`; only the values of the answers are
//! the same, so that they can be compared. Time is an argument, and nothing is ever waited for.

mod any;
mod bounded;
mod delay;
mod entry;
mod leasing;
mod limits;
mod line;
mod mark;
mod operator;
mod order;
mod places;
mod priority;
mod push;
mod reliable;
mod rotating;

pub use self::{
    any::Model, bounded::BoundedModel, delay::DelayModel, leasing::LeasingModel,
    priority::PriorityModel, reliable::ReliableModel, rotating::RotatingModel,
};

/// What a model answers: what the backend must answer, or the kind of its error.
pub type Answer<T> = std::result::Result<T, queue_core::ErrorKind>;
