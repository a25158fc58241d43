//! What the runs are played on.

use queue_sim::world::{Ground, MemoryGround};

use crate::arguments::Place;

/// Makes so many grounds; on an error, says what is missing.
pub(crate) fn start(place: Place, count: u64) -> Result<Vec<Box<dyn Ground>>, String> {
    let start = || -> Result<Box<dyn Ground>, String> {
        match place {
            Place::Memory => Ok(Box::new(MemoryGround::new())),
            Place::Redis => redis(false),
            Place::RedisRestarts => redis(true),
        }
    };
    (0..count).map(|_| start()).collect()
}

#[cfg(all(unix, feature = "redis"))]
fn redis(restarts: bool) -> Result<Box<dyn Ground>, String> {
    let mut ground = queue_sim::wire::WireGround::builder();
    if restarts {
        ground = ground.with_restarts();
    }
    match ground.start() {
        Ok(ground) => Ok(Box::new(ground)),
        Err(error) => Err(format!("no redis-server could be started: {error}")),
    }
}

#[cfg(not(all(unix, feature = "redis")))]
fn redis(_restarts: bool) -> Result<Box<dyn Ground>, String> {
    Err(
        "the backend redis is not built in: build with the feature redis, on a Unix system \
         (cargo run --release -p queue-sim --features redis --bin sim -- ...)"
            .to_owned(),
    )
}
