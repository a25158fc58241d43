//! Queues that are removed and reconfigured while producers and consumers use them, under all faults. The
//! next queue of the name has a history of its own (R1), and the list of queues is complete.

#![cfg(all(unix, feature = "redis"))]

mod check;
mod planted;
mod scene;

use std::sync::Arc;

use queue_core::{Backend, Partitioned};
use queue_memory::MemoryBackend;
use queue_sim::{
    wire::RedisEnvironment,
    world::{EPOCH, MemoryEnvironment},
};

use self::scene::scene;

fn partitioned(backend: Arc<dyn Backend>) -> Arc<dyn Backend> {
    let partitioned = Partitioned::new(backend, 3).expect("a number that is allowed");
    Arc::new(partitioned.beginning_at(0))
}

fn memory() -> Arc<dyn Backend> {
    Arc::new(MemoryBackend::starting_at(EPOCH))
}

#[test]
fn a_queue_in_memory_is_removed_in_use() {
    scene("removals in memory").seeds(400).run();
}

#[test]
fn a_queue_of_partitions_in_memory_is_removed_in_use() {
    let environment = || MemoryEnvironment::over(|| partitioned(memory())).without_truth();
    scene("removals of partitions in memory")
        .backend(environment)
        .seeds(400)
        .run();
}

#[test]
fn a_queue_on_redis_is_removed_in_use() {
    let environment = || RedisEnvironment::start().expect("a redis-server");
    scene("removals on redis")
        .backend(environment)
        .seeds(60)
        .run();
}

#[test]
fn a_queue_of_partitions_on_redis_is_removed_in_use() {
    let environment = || {
        let builder = RedisEnvironment::builder();
        let served = builder.serving(None, false, |backend, _| partitioned(Arc::new(backend)));
        served.start().expect("a redis-server")
    };
    scene("removals of partitions on redis")
        .backend(environment)
        .seeds(60)
        .run();
}
