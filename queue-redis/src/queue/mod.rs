//! A queue on its server: its handle, its stored configuration, and its entry in the list of queues.

mod bodies;
pub(crate) mod config;
mod context;
mod handle;
pub(crate) mod listing;
mod opening;

pub(crate) use self::{bodies::StagedBodies, config::Stored, context::Context, handle::Handle};
