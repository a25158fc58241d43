//! The differences between the leasing kinds.

use std::fmt::Debug;

use queue_core::{BoundedConfig, DelayConfig, PriorityConfig, ReliableConfig};

use super::{
    backlog::{Backlog, Lined},
    due::DueLine,
    fifo::Fifo,
    urgency::Urgency,
};

/// A leasing kind of queue.
pub(crate) trait Kind: Debug + Send + Sync + 'static {
    /// The order of its undelivered messages.
    type Backlog: Backlog;

    /// The configuration that the first open fixes.
    type Config: Debug + Clone + Send + 'static;
}

#[derive(Debug)]
pub(crate) enum Reliable {}

impl Kind for Reliable {
    type Backlog = Lined<Fifo>;
    type Config = ReliableConfig;
}

#[derive(Debug)]
pub(crate) enum Delay {}

impl Kind for Delay {
    type Backlog = DueLine;
    type Config = DelayConfig;
}

#[derive(Debug)]
pub(crate) enum Priority {}

impl Kind for Priority {
    type Backlog = Lined<Urgency>;
    type Config = PriorityConfig;
}

#[derive(Debug)]
pub(crate) enum Bounded {}

impl Kind for Bounded {
    type Backlog = Lined<Fifo>;
    type Config = BoundedConfig;
}
