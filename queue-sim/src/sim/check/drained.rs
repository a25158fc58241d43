use std::time::Duration;

use super::{Check, Finding};
use crate::sim::{RunRecord, held::HeldJobs};

/// All work ends (L7): nothing is left but dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained(Duration);

impl Drained {
    /// Nothing is left after this time from the last fault on.
    pub const fn within(time: Duration) -> Self {
        Self(time)
    }
}

impl Check for Drained {
    fn check(&self, run: &RunRecord) -> Vec<Finding> {
        let limit = self.0;
        match run.drained {
            Some(time) if time <= limit => Vec::new(),
            Some(time) => vec![Finding::new(
                "drained",
                format!("{time:?} after the last fault something was left: {limit:?} at most"),
            )],
            None => {
                let left =
                    "messages are left that nobody finishes, although nothing fails any more";
                let held = HeldJobs::longest(run);
                let held = held.map_or_else(String::new, |held| format!(": {held}"));
                vec![Finding::new("drained", format!("{left}{held}"))]
            }
        }
    }
}
