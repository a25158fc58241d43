//! Checks that every run must pass.

mod drained;
mod effects;
mod rules;

use std::fmt;

pub(super) use self::rules::of_queue;
pub use self::{drained::Drained, effects::Effects, rules::Rules};
use super::RunRecord;
pub use crate::check::Finding;

/// A check that every run of a simulation must pass. [`that`] makes a check from a closure.
pub trait Check: fmt::Debug + Send + Sync + 'static {
    /// The findings in this run; none if the check passes.
    fn check(&self, run: &RunRecord) -> Vec<Finding>;
}

/// Your own check, by a name that reads well in a failure.
///
/// ```
/// use queue_sim::sim::check;
///
/// let kept = check::that("no order is given up", |run| match run.dead.len() {
///     0 => Ok(()),
///     dead => Err(format!("{dead} dead letters")),
/// });
/// # let _ = kept;
/// ```
pub fn that<F>(name: &'static str, holds: F) -> impl Check
where
    F: Fn(&RunRecord) -> Result<(), String> + Send + Sync + 'static,
{
    Own { name, holds }
}

struct Own<F> {
    name: &'static str,
    holds: F,
}

impl<F> Check for Own<F>
where
    F: Fn(&RunRecord) -> Result<(), String> + Send + Sync + 'static,
{
    fn check(&self, run: &RunRecord) -> Vec<Finding> {
        match (self.holds)(run) {
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
