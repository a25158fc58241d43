//! What the runs are played on.

use queue_sim::world::{Ground, MemoryGround};

use crate::arguments::Place;

/// Makes the ground; on an error, says what is missing.
pub(crate) fn start(place: Place) -> Result<Box<dyn Ground>, String> {
    match place {
        Place::Memory => Ok(Box::new(MemoryGround::new())),
        Place::Redis => redis(),
    }
}

#[cfg(all(unix, feature = "redis"))]
fn redis() -> Result<Box<dyn Ground>, String> {
    match queue_sim::redis::wire::WireGround::start() {
        Ok(ground) => Ok(Box::new(ground)),
        Err(error) => Err(format!("no redis-server could be started: {error}")),
    }
}

#[cfg(not(all(unix, feature = "redis")))]
fn redis() -> Result<Box<dyn Ground>, String> {
    Err(
        "the backend redis is not built in: build with the feature redis, on a Unix system \
         (cargo run --release -p queue-sim --features redis --bin sim -- ...)"
            .to_owned(),
    )
}
