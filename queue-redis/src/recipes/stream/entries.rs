//! What the strategy does to the server.

use std::time::Duration;

use async_trait::async_trait;
use queue_core::{Depth, Disposition, Pushed, Result, Settled};

use super::{group::Group, held::Held};
use crate::recipes::{
    server::{Key, Server, id_of},
    strategy::{Entry, Strategy, Taken},
};

#[derive(Debug)]
pub(super) struct Entries {
    pub(super) group: Group,
    pub(super) poll: Duration,
    pub(super) max_attempts: u32,
}

#[async_trait]
impl Strategy for Entries {
    type Held = Held;

    fn keys(&self) -> Vec<Key> {
        let Group { stream, dead, .. } = &self.group;
        vec![Key::new(stream, "stream"), Key::list(dead)]
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.group.dead)
    }

    fn poll(&self) -> Duration {
        self.poll
    }

    async fn prepare(&self, server: &Server) -> Result<()> {
        self.group.create(server).await
    }

    async fn put(&self, server: &Server, entries: &[Entry<'_>]) -> Result<Vec<Pushed>> {
        let ids = self.group.add(server, entries).await?;
        let ids = ids.iter().map(|id| id_of(id.as_bytes()));
        Ok(ids.map(Pushed::Accepted).collect())
    }

    async fn take(
        &self,
        server: &Server,
        max: usize,
        lease_time: Duration,
    ) -> Result<Vec<Taken<Self::Held>>> {
        let claimed = match self.group.claim(server, max, lease_time).await {
            // Somebody emptied the server while this handle was open.
            Err(error) if error.to_string().contains("NOGROUP") => {
                self.group.create(server).await?;
                Vec::new()
            }
            claimed => claimed?,
        };
        let mut taken = Vec::new();
        for entry in claimed {
            let delivered = self.group.attempts(server, &entry.0).await?;
            let Some(held) = Held::read(entry, delivered) else {
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
            let new = new.into_iter().filter_map(|entry| Held::read(entry, 1));
            taken.extend(new.map(Held::taken));
        }
        Ok(taken)
    }

    async fn end(&self, server: &Server, held: &Held, how: &Disposition) -> Result<Settled> {
        let dead = match how {
            Disposition::Bury { .. } => true,
            Disposition::Retry { .. } => held.attempt >= self.max_attempts,
            _ => false,
        };
        let group = &self.group;
        let ended = match how {
            Disposition::Ack => group.ack(server, held).await?,
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

    async fn extend(&self, server: &Server, held: &Held, _: Duration) -> Result<bool> {
        self.group.extend(server, held).await
    }

    async fn depth(&self, server: &Server) -> Result<Depth> {
        self.group.depth(server).await
    }
}
