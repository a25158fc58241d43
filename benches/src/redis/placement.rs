//! The cores that client and server run on: one round trip at a time costs several times more
//! between two cores than on one, so every figure names its placement.

use std::{fmt, num::NonZeroUsize, ops::Range, process::Command, thread};

use serde::{Deserialize, Serialize};

/// The cores of the client and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// Both on one core: shows a job's total cost.
    Same,
    /// A core for each: as on two machines, but without the network.
    Split,
    /// A number of cores: a thread of the client for each, and the server wherever the system has it run.
    Threads(usize),
}

impl Placement {
    /// The placements with one core for each process that this machine has cores for.
    pub fn pinned() -> Vec<Self> {
        match cores() {
            0 | 1 => vec![Self::Same],
            _ => vec![Self::Same, Self::Split],
        }
    }

    /// All placements that this machine has cores for.
    pub fn all() -> Vec<Self> {
        let threads = Some(Self::Threads(cores())).filter(|_| cores() > 1);
        Self::pinned().into_iter().chain(threads).collect()
    }

    /// Pins this process and the server's, with all their threads.
    ///
    /// # Panics
    ///
    /// If `taskset` is missing or fails, because an unpinned figure would look like a pinned one.
    pub fn pin(self, server: u32) {
        let (ours, servers) = match self {
            Self::Same => (0..1, 0..1),
            Self::Split => (0..1, 1..2),
            Self::Threads(cores) => (0..cores, 0..cores),
        };
        pin(std::process::id(), ours);
        pin(server, servers);
    }
}

/// The cores that this process may run on: fewer once it is pinned.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn pin(process: u32, cores: Range<usize>) {
    let cores = cores.map(|core| core.to_string()).collect::<Vec<_>>();
    let pinned = Command::new("taskset")
        .args(["-a", "-c", "-p", &cores.join(","), &process.to_string()])
        .output()
        .expect("taskset pins processes to cores: install util-linux");
    assert!(pinned.status.success(), "taskset: {pinned:?}");
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "same",
            Self::Split => "split",
            Self::Threads(_) => "threads",
        })
    }
}
