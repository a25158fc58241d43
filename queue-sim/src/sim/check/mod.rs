//! What must hold of every run.

mod drained;
mod effects;
mod rules;

use std::{borrow::Cow, fmt};

pub use self::{drained::Drained, effects::Effects, rules::Rules};
use super::Story;
use crate::history::CallId;

/// Something that must hold of every run of a simulation. [`that`] makes one of a closure.
pub trait Check: fmt::Debug + Send + Sync + 'static {
    /// What is wrong with this run; nothing if all is well.
    fn check(&self, story: &Story) -> Vec<Finding>;
}

/// What is wrong with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is broken: a rule's number, or a name that reads well. A run is shrunk as long as it
    /// breaks the same.
    pub rule: Cow<'static, str>,
    /// How, in a sentence.
    pub message: String,
    /// The calls that show it.
    pub calls: Vec<CallId>,
    /// The effects that show it, by their place in [`Story::effects`].
    pub effects: Vec<usize>,
}

impl Finding {
    /// A finding without calls that show it.
    pub fn new(rule: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            message: message.into(),
            calls: Vec::new(),
            effects: Vec::new(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}

/// A check of one's own, by a name that reads well in a failure.
///
/// ```
/// use queue_sim::sim::check;
///
/// let kept = check::that("no order is given up", |story| match story.dead.len() {
///     0 => Ok(()),
///     dead => Err(format!("{dead} dead letters")),
/// });
/// # let _ = kept;
/// ```
pub fn that<F>(name: &'static str, holds: F) -> impl Check
where
    F: Fn(&Story) -> Result<(), String> + Send + Sync + 'static,
{
    Own { name, holds }
}

struct Own<F> {
    name: &'static str,
    holds: F,
}

impl<F> Check for Own<F>
where
    F: Fn(&Story) -> Result<(), String> + Send + Sync + 'static,
{
    fn check(&self, story: &Story) -> Vec<Finding> {
        match (self.holds)(story) {
            Ok(()) => Vec::new(),
            Err(message) => vec![Finding::new(self.name, message)],
        }
    }
}

impl<F> fmt::Debug for Own<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Own").field(&self.name).finish()
    }
}
