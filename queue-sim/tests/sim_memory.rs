//! Runs of every kind on the memory backend break no rule, are the same again, and reach their
//! goals.

mod sim;

use queue_sim::world::MemoryEnvironment;

sim::each_kind!(MemoryEnvironment::new());
