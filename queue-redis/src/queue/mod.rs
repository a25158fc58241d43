//! The five queues: each verb is one call of one script.

mod bounded;
pub(crate) mod config;
mod delay;
mod handle;
mod leasing;
mod priority;
mod push;
mod put;
mod reliable;
mod rotating;

pub(crate) use self::{
    config::Stored,
    handle::Handle,
    leasing::{Bounded, Delay, LeasingKind, Priority, Queue, Reliable},
    rotating::Ring,
};
