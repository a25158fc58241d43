//! Waiting on several partitions at once.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::timeout_at;

use super::partitions::Partitions;
use crate::{Result, call::Call};

/// How long a wait goes on when the hints of a partition fail: its caller then polls that partition, too.
const WITHOUT_HINTS: Duration = Duration::from_secs(1);

impl Partitions {
    /// Waits until one of the partitions notifies this wait of a message; the next lease begins there. The
    /// other waits are dropped, and pass on their hints.
    pub(super) async fn wait_for_arrival(&self, longest: Duration) -> Result<()> {
        let partitions = 0..self.count();
        let notified = self
            .first_notified(partitions, &Call::WaitForArrival(longest))
            .await?;
        self.round_robin.notified(notified);
        Ok(())
    }

    /// Waits until one of the partitions known to be full notifies this wait of room.
    pub(super) async fn wait_for_room(&self, longest: Duration) -> Result<()> {
        let full = self.round_robin.full_ones();
        let notified = self
            .first_notified(full, &Call::WaitForRoom(longest))
            .await?;
        self.round_robin.may_have_room(notified);
        Ok(())
    }

    /// The first of these partitions whose wait ends. If the wait of one fails, the other waits go on for no
    /// longer than a second.
    async fn first_notified(
        &self,
        partitions: impl Iterator<Item = usize>,
        wait: &Call,
    ) -> Result<usize> {
        let wait_on = |partition| async move {
            self.call::<()>(partition, wait.clone())
                .await
                .map(|()| partition)
        };
        let mut waits: FuturesUnordered<_> = partitions.map(wait_on).collect();
        let mut failed = None;
        while let Some(notified) = match &failed {
            None => waits.next().await,
            // After the deadline there is no result.
            Some((_, deadline)) => timeout_at(*deadline, waits.next()).await.unwrap_or(None),
        } {
            match notified {
                Ok(partition) => return Ok(partition),
                Err(error) if failed.is_none() => {
                    failed = Some((error, tokio::time::Instant::now() + WITHOUT_HINTS));
                }
                Err(_) => {}
            }
        }
        match failed {
            Some((error, _)) => Err(error),
            None => Ok(0),
        }
    }
}
