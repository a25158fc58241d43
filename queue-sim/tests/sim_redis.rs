//! Runs of every kind on a real redis-server keep every rule, are the same again, and get to see
//! what they must.

mod sim;

use queue_sim::wire::RedisEnvironment;

sim::each_kind!(RedisEnvironment::start().expect("a redis-server"));
