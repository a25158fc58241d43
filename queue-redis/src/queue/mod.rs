//! The kinds of queue: each verb is one call of one script.

mod bodies;
mod bounded;
pub(crate) mod config;
mod delay;
mod handle;
mod leasing;
mod priority;
mod put;
mod reliable;
mod rotating;
mod turns;

pub(crate) use self::{
    bounded::{Bounded, ensure_capacity, reconfigure},
    config::Stored,
    delay::Delay,
    handle::Handle,
    leasing::{LeasingKind, Queue},
    priority::Priority,
    reliable::Reliable,
    rotating::Ring,
};
