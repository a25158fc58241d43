use std::collections::BTreeSet;

use queue_core::QueueConfig;

use super::Mode;
use crate::{engine::End, history::History, plan::Plan};

/// A run that was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// The queue's configuration.
    pub config: QueueConfig,
    /// The faults that could strike.
    pub mode: Mode,
    /// The history.
    pub history: History,
    /// The end of the run.
    pub end: End,
    /// The run's decisions. They play the same run again.
    pub plan: Plan,
    /// The goals that the run reached.
    pub goals: BTreeSet<&'static str>,
}
