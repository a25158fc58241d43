//! The limits of a simulation's settings.

use std::time::Duration;

use queue_core::{in_millis, limits};

use super::{
    broken::{Broken, broken_by},
    builder::{MOST_PROCESSES, Sim},
};

/// The shortest lease that a worker takes.
const SHORTEST_LEASE: Duration = Duration::from_millis(10);
/// 100 years. A run lasts a small multiple of this time, which every clock can still show.
const LONGEST_PATIENCE: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

impl Sim {
    /// Refuses settings that allow no run.
    pub(super) fn check_settings(&self) -> Result<(), Box<Broken>> {
        self.in_range("lease", self.lease, SHORTEST_LEASE, limits::MAX_LEASE)?;
        let least = Duration::from_millis(1);
        self.in_range("patience", self.patience, least, LONGEST_PATIENCE)?;
        if let Some(queue) = self.unserved.first() {
            return Err(self.refused(&format!(
                "0 workers for queue {queue:?}, so its handler would never run: at least 1"
            )));
        }
        if self.processes.len() > MOST_PROCESSES {
            return Err(self.refused(&format!(
                "more workers, producers and other processes than a run can tell apart: at most \
                 {MOST_PROCESSES}"
            )));
        }
        Ok(())
    }

    fn in_range(
        &self,
        what: &str,
        value: Duration,
        least: Duration,
        most: Duration,
    ) -> Result<(), Box<Broken>> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let [value, least, most] = [value, least, most].map(in_millis);
        Err(self.refused(&format!(
            "a {what} of {value}: between {least} and {most} is allowed"
        )))
    }

    fn refused(&self, why: &str) -> Box<Broken> {
        broken_by("settings", format!("{}: {why}", self.name))
    }
}
