use queue_core::{Running, Spawn, Task};

use super::Executor;
use crate::plan::Lane;

/// Spawns background tasks into a lane: they crash with it.
#[derive(Debug, Clone)]
pub struct LaneSpawn {
    executor: Executor,
    lane: Lane,
}

impl Executor {
    /// A spawner of background tasks in this lane. The run does not wait for them.
    pub fn spawner(&self, lane: Lane) -> LaneSpawn {
        let executor = self.clone();
        LaneSpawn { executor, lane }
    }
}

impl Spawn for LaneSpawn {
    fn spawn(&self, task: Task) -> Running {
        let id = self.executor.spawn_daemon(self.lane, task);
        let executor = self.executor.clone();
        Running::new(move || executor.abort(id))
    }
}
