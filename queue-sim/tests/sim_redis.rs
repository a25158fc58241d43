//! Runs of every kind on a real redis-server keep every rule, are the same again, and get to see
//! what they must.

mod sim;

use queue_sim::wire::WireGround;

sim::each_kind!(WireGround::start().expect("a redis-server"));
