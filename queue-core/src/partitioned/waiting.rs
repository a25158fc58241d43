//! Waiting on several partitions at once.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::timeout_at;

use super::partitions::Partitions;
use crate::{Result, call::Call};

/// How long a wait goes on when the hints of a partition fail: its caller then looks at that partition, too.
const WITHOUT_HINTS: Duration = Duration::from_secs(1);

impl Partitions {
    /// Waits until one of the partitions tells that there may be a message; the next lease looks there
    /// first. The other waits are dropped, and pass on what they were told.
    pub(super) async fn wait_for_arrival(&self, longest: Duration) -> Result<()> {
        let partitions = 0..self.count();
        let told = self
            .first_told(partitions, &Call::WaitForArrival(longest))
            .await?;
        self.round_robin.told(told);
        Ok(())
    }

    /// Waits until one of the partitions that are known to be full tells that there may be room.
    pub(super) async fn wait_for_room(&self, longest: Duration) -> Result<()> {
        let full = self.round_robin.full_ones();
        let told = self.first_told(full, &Call::WaitForRoom(longest)).await?;
        self.round_robin.may_have_room(told);
        Ok(())
    }

    /// The first of these partitions whose wait ends. If the wait of one fails, the others go on for no
    /// longer than a second.
    async fn first_told(
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
        while let Some(told) = match &failed {
            None => waits.next().await,
            // The time is over.
            Some((_, deadline)) => timeout_at(*deadline, waits.next()).await.unwrap_or(None),
        } {
            match told {
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
