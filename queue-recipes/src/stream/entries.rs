//! The commands of the strategy.

use std::time::Duration;

use async_trait::async_trait;
use queue_core::{Depth, Disposition, Pushed, Result, Settled};

use super::{group::Group, held::ClaimedEntry};
use crate::{
    server::{Connection, TypedKey, id_of},
    strategy::{NewEntry, Strategy, Taken},
};

#[derive(Debug)]
pub(super) struct Entries {
    pub(super) group: Group,
    pub(super) poll: Duration,
    pub(super) max_attempts: u32,
}

#[async_trait]
impl Strategy for Entries {
    type Held = ClaimedEntry;

    fn keys(&self) -> Vec<TypedKey> {
        let Group { stream, dead, .. } = &self.group;
        vec![TypedKey::new(stream, "stream"), TypedKey::list(dead)]
    }

    fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.group.dead)
    }

    fn poll(&self) -> Duration {
        self.poll
    }

    async fn prepare(&self, server: &Connection) -> Result<()> {
        self.group.create(server).await
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        let ids = self.group.add(server, entries).await?;
        let ids = ids.iter().map(|id| id_of(id.as_bytes()));
        Ok(ids.map(Pushed::Accepted).collect())
    }

    async fn take(
        &self,
        server: &Connection,
        max: usize,
        lease_time: Duration,
    ) -> Result<Vec<Taken<Self::Held>>> {
        let claimed = match self.group.claim(server, max, lease_time).await {
            // Somebody flushed the server while this handle was open.
            Err(error) if error.to_string().contains("NOGROUP") => {
                self.group.create(server).await?;
                Vec::new()
            }
            claimed => claimed?,
        };
        let mut taken = Vec::new();
        for entry in claimed {
            let delivered = self.group.attempts(server, &entry.0).await?;
            let Some(held) = ClaimedEntry::read(entry, delivered) else {
                continue;
            };
            if held.attempt > self.max_attempts {
                self.group.put_elsewhere(server, &held, None).await?;
                continue;
            }
            taken.push(held.taken());
        }
        let room = max.saturating_sub(taken.len());
        if room > 0 {
            let new = self.group.read_new(server, room).await?;
            let new = new
                .into_iter()
                .filter_map(|entry| ClaimedEntry::read(entry, 1));
            taken.extend(new.map(ClaimedEntry::taken));
        }
        Ok(taken)
    }

    async fn end(
        &self,
        server: &Connection,
        held: &ClaimedEntry,
        how: &Disposition,
    ) -> Result<Settled> {
        let dead = match how {
            Disposition::Bury { .. } => true,
            Disposition::Retry { .. } => held.attempt >= self.max_attempts,
            _ => false,
        };
        let group = &self.group;
        let ended = match how {
            Disposition::Ack | Disposition::AckWith(_) => group.ack(server, held).await?,
            _ if dead => group.put_elsewhere(server, held, None).await?,
            Disposition::Retry { .. } => {
                let spent = held.attempt;
                group.put_elsewhere(server, held, Some(spent)).await?
            }
            _ => {
                let refunded = held.attempt.saturating_sub(1);
                group.put_elsewhere(server, held, Some(refunded)).await?
            }
        };
        Ok(match ended {
            true if dead => Settled::Dead,
            true => Settled::Done,
            false => Settled::LeaseLost,
        })
    }

    async fn extend(&self, server: &Connection, held: &ClaimedEntry, _: Duration) -> Result<bool> {
        self.group.extend(server, held).await
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        self.group.depth(server).await
    }
}
