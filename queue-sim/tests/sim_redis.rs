//! Runs of every kind on a real redis-server break no rule, are the same again, and reach their
//! goals.

mod sim;

use queue_sim::wire::RedisEnvironment;

sim::each_kind!(RedisEnvironment::start().expect("a redis-server"));
