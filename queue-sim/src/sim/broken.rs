//! How a simulation ends that is not what was hoped for.

use std::fmt;

use super::Finding;
use crate::plan::Plan;

/// How a simulation ended that is not what was hoped for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// What was found first.
    pub finding: Finding,
    /// The smallest plan that shows it; none if it is not one run that is wrong.
    pub plan: Option<Plan>,
    /// The whole message: the story, the rule in plain words, the line that replays it.
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Broken {}

/// Something is wrong that is not of one run.
pub(super) fn told(rule: &'static str, message: String) -> Box<Broken> {
    Box::new(Broken {
        finding: Finding::new(rule, message.clone()),
        plan: None,
        message,
    })
}
