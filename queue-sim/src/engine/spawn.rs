use queue_core::{Running, Spawn, Task};

use super::Executor;
use crate::plan::Process;

/// Spawns background tasks into a process: they crash with it.
#[derive(Debug, Clone)]
pub struct ProcessSpawn {
    executor: Executor,
    process: Process,
}

impl Executor {
    /// A spawner of background tasks in this process. The run does not wait for them.
    pub fn spawner(&self, process: Process) -> ProcessSpawn {
        let executor = self.clone();
        ProcessSpawn { executor, process }
    }
}

impl Spawn for ProcessSpawn {
    fn spawn(&self, task: Task) -> Running {
        let id = self.executor.spawn_daemon(self.process, task);
        let executor = self.executor.clone();
        Running::new(move || executor.abort(id))
    }
}
