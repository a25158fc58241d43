use std::collections::BTreeSet;

use queue_core::QueueConfig;

use crate::{engine::End, history::History, plan::Plan, workload::Mode};

/// A run that was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// How the queue was configured.
    pub config: QueueConfig,
    /// What could go wrong.
    pub mode: Mode,
    /// What happened.
    pub history: History,
    /// How it ended.
    pub end: End,
    /// What was decided: plays the same again.
    pub plan: Plan,
    /// What was reached of what runs must reach now and then.
    pub goals: BTreeSet<&'static str>,
}
