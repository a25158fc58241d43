//! Runs of every kind on the memory backend keep every rule, are the same again, and get to see
//! what they must.

mod sim;

use queue_sim::world::MemoryEnvironment;

sim::each_kind!(MemoryEnvironment::new());
