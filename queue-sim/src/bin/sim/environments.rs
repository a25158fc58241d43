//! The environments of the runs.

use queue_sim::world::{Environment, MemoryEnvironment};

use crate::arguments::Place;

/// Makes the given number of environments. An error names what is missing.
pub(crate) fn start(place: Place, count: u64) -> Result<Vec<Box<dyn Environment>>, String> {
    let start = || -> Result<Box<dyn Environment>, String> {
        match place {
            Place::Memory => Ok(Box::new(MemoryEnvironment::new())),
            Place::File => file(),
            Place::Redis => redis(false),
            Place::RedisRestarts => redis(true),
        }
    };
    (0..count).map(|_| start()).collect()
}

#[cfg(all(unix, feature = "file"))]
fn file() -> Result<Box<dyn Environment>, String> {
    Ok(Box::new(queue_sim::world::FileEnvironment::new()))
}

#[cfg(not(all(unix, feature = "file")))]
fn file() -> Result<Box<dyn Environment>, String> {
    Err(
        "the backend file is not built in: build with the feature file, on a Unix system"
            .to_owned(),
    )
}

#[cfg(all(unix, feature = "redis"))]
fn redis(restarts: bool) -> Result<Box<dyn Environment>, String> {
    let mut environment = queue_sim::wire::RedisEnvironment::builder();
    if restarts {
        environment = environment.with_restarts();
    }
    match environment.start() {
        Ok(environment) => Ok(Box::new(environment)),
        Err(error) => Err(format!("no redis-server could be started: {error}")),
    }
}

#[cfg(not(all(unix, feature = "redis")))]
fn redis(_restarts: bool) -> Result<Box<dyn Environment>, String> {
    Err(
        "the backend redis is not built in: build with the feature redis, on a Unix system \
         (cargo run --release -p queue-sim --features programs,redis --bin sim -- ...)"
            .to_owned(),
    )
}
