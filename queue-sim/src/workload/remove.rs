//! The very end of every run: a client removes the queue, and nothing of it is left.

use std::num::NonZeroUsize;

use queue_core::{ErrorKind, Feature, Removal, Result};

use super::Driver;
use crate::history::Event;

/// Removes the drained queue, with its dead letters or its items. Writes down everything that is left. No history has
/// these calls: the checks judge the queue as it was before.
pub(crate) async fn remove(driver: Driver) {
    let journal = &driver.context.journal;
    match remains(&driver).await {
        Ok(remains) => {
            for message in remains {
                journal.note(Event::Broken("operators", message));
            }
        }
        Err(error) => {
            let message = format!("a removal failed without any fault: {error}");
            journal.note(Event::Broken("progress", message));
        }
    }
}

/// The leftovers of a removal: data, an entry in the list of queues, or something to remove once more.
async fn remains(driver: &Driver) -> Result<Vec<String>> {
    let mut remains = Vec::new();
    let backend = driver.world.connect(driver.process).await?;
    let guarantees = backend.guarantees(driver.workload.kind);
    if !guarantees.has(Feature::Stored) {
        return Ok(remains);
    }
    match backend.remove(&driver.name, Removal::EvenIfLeased).await {
        Ok(true) => {}
        Ok(false) => remains.push("a removal finds no queue where there is one".to_owned()),
        // This backend has no removal.
        Err(error) if error.kind() == ErrorKind::Configuration => return Ok(remains),
        Err(error) => return Err(error),
    }
    let left = driver.world.leaks().await;
    remains.extend(left.iter().map(|left| format!("a removal leaves: {left}")));
    // A run has no other queue.
    let listed = backend.queues(None, NonZeroUsize::MIN).await?;
    if listed.iter().any(|listed| listed.name == driver.name) {
        remains.push("a removed queue is in the list of queues".to_owned());
    }
    if backend.remove(&driver.name, Removal::EvenIfLeased).await? {
        remains.push("a second removal finds something to remove".to_owned());
    }
    Ok(remains)
}
