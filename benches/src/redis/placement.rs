//! The cores that client and server run on: one round trip at a time costs several times more
//! between two cores than on one, so every figure names its placement.

use std::{fmt, process::Command, thread};

/// The cores of the client and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Both on one core: shows a job's total cost.
    Same,
    /// A core for each: as on two machines, but for the network.
    Split,
}

impl Placement {
    /// The placements that this machine has cores for.
    pub fn all() -> Vec<Self> {
        match thread::available_parallelism() {
            Ok(cores) if cores.get() > 1 => vec![Self::Same, Self::Split],
            _ => vec![Self::Same],
        }
    }

    /// The placement of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Same, Self::Split];
        all.into_iter()
            .find(|placement| placement.to_string() == name)
    }

    /// Pins this process and the server's, with all their threads.
    ///
    /// # Panics
    ///
    /// If `taskset` is missing or fails, since an unpinned figure would pass for a pinned one.
    pub fn pin(self, server: u32) {
        let server_core = match self {
            Self::Same => 0,
            Self::Split => 1,
        };
        pin(std::process::id(), 0);
        pin(server, server_core);
    }
}

fn pin(process: u32, core: u32) {
    let pinned = Command::new("taskset")
        .args(["-a", "-c", "-p", &core.to_string(), &process.to_string()])
        .output()
        .expect("taskset pins processes to cores: install util-linux");
    assert!(pinned.status.success(), "taskset: {pinned:?}");
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "same",
            Self::Split => "split",
        })
    }
}
