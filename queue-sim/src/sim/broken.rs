//! The failure of a simulation.

use std::fmt;

use super::Finding;
use crate::plan::Plan;

/// The failure of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The first finding.
    pub finding: Finding,
    /// The smallest plan that shows it; `None` if no single run is wrong.
    pub plan: Option<Plan>,
    /// The whole message: the history view, the rule in plain words, and the line that replays the run.
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Broken {}

/// A failure that belongs to no single run.
pub(super) fn broken_by(rule: &'static str, message: String) -> Box<Broken> {
    Box::new(Broken {
        finding: Finding::new(rule, message.clone()),
        plan: None,
        message,
    })
}
