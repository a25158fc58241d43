//! Opening and listing queues as they are stored.

use std::{num::NonZeroUsize, sync::Arc};

use queue_core::{Backend, Error, Leasing, QueueInfo, QueueName, Result, limits};

/// Opens a queue that hands out messages under leases.
///
/// # Errors
///
/// `Invalid` if there is no such queue, and for a ring. Errors of the backend.
pub(crate) async fn open_leasing(
    backend: &dyn Backend,
    name: &QueueName,
) -> Result<Arc<dyn Leasing>> {
    let stored = backend.open_stored(name).await?;
    let stored = stored.ok_or_else(|| Error::invalid(format!("there is no queue `{name}`")))?;
    stored.queue.leasing().ok_or_else(|| {
        Error::invalid(format!(
            "`{name}` is a ring: its items are never leased, and never die"
        ))
    })
}

/// Lists the queues of a backend in the order of their names, up to `most` of them.
///
/// # Errors
///
/// Errors of the backend.
pub async fn list_queues(backend: &dyn Backend, most: usize) -> Result<Vec<QueueInfo>> {
    let mut queues: Vec<QueueInfo> = Vec::new();
    while let Some(page) = NonZeroUsize::new(limits::MAX_PAGE.min(most - queues.len())) {
        let last = queues.last().map(|queue| queue.name.clone());
        let more = backend.queues(last.as_ref(), page).await?;
        let is_last = more.len() < page.get();
        queues.extend(more);
        if is_last {
            break;
        }
    }
    Ok(queues)
}
