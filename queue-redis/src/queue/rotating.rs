//! The rotating queue.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Confirmer, Cursor, Insert, Inserted, Message, MessageId, Page, Paged, Result, Rotated,
    RotatingQueue, limits,
};

use super::{
    Handle,
    leasing::{add_ids, cursor},
};
use crate::{
    call::Call,
    frame::{self, Payload},
    reply::Reply,
    scripts,
};

/// A ring on its server.
#[derive(Debug)]
pub(crate) struct Ring {
    handle: Handle,
    max_body: usize,
}

impl Ring {
    /// The ring behind an opened handle.
    pub(crate) const fn new(handle: Handle, max_body: usize) -> Self {
        Self { handle, max_body }
    }

    fn checked<T>(&self, check: Result<T>) -> Result<T> {
        check.map_err(|error| self.handle.name(error))
    }
}

#[async_trait]
impl RotatingQueue for Ring {
    async fn insert(&self, items: &[Insert]) -> Result<Vec<Inserted>> {
        self.checked(Insert::check_all(items, self.max_body))?;
        let fill = |call: &mut Call| {
            call.push(items.len());
            for item in items {
                call.push(Payload {
                    headers: &item.headers,
                    body: &item.body,
                });
            }
            for (entry, item) in items.iter().enumerate() {
                if let Some(key) = &item.key {
                    call.push(entry + 1);
                    call.push(&key[..]);
                }
            }
        };
        let reply = self.handle.call(&scripts::ROTATING_INSERT, fill).await?;
        let ids = reply.ids(items.len())?.into_iter().map(|id| {
            let item = MessageId::new(id.unsigned_abs());
            if id < 0 {
                Inserted::Present(item)
            } else {
                Inserted::Added(item)
            }
        });
        Ok(ids.collect())
    }

    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        self.handle.confirmer()
    }

    async fn rotate(&self, max: NonZeroUsize) -> Result<Rotated> {
        self.checked(limits::check_max(max.get()))?;
        let fill = |call: &mut Call| call.push(max.get());
        let call = self.handle.call(&scripts::ROTATING_ROTATE, fill);
        let mut reply = self.handle.after_arrival(call).await?;
        let mut next = reply.time()?;
        let visited = reply.len();
        let items = items(reply)?;
        if items.is_empty() && visited > 0 {
            // All were damaged, and there may be others behind them.
            next = Some(Duration::ZERO);
        }
        self.handle.looked(next);
        Ok(Rotated { items, next })
    }

    async fn wait_for_turn(&self, timeout: Duration) -> Result<()> {
        self.handle.wait_for_arrival(timeout).await
    }

    async fn list(&self, page: Page) -> Result<Paged<Message>> {
        self.checked(page.check())?;
        let fill = |call: &mut Call| {
            call.push(page.after.map_or(0, Cursor::get));
            call.push(page.limit);
        };
        let mut reply = self.handle.call(&scripts::ROTATING_LIST, fill).await?;
        let next = cursor(&mut reply)?;
        let entries = items(reply)?;
        Ok(Paged { entries, next })
    }

    async fn remove(&self, ids: &[MessageId]) -> Result<u64> {
        self.checked(limits::check_batch(ids.len()))?;
        let fill = |call: &mut Call| add_ids(call, ids);
        self.handle
            .call(&scripts::ROTATING_REMOVE, fill)
            .await?
            .count()
    }

    async fn len(&self) -> Result<u64> {
        self.handle
            .call(&scripts::ROTATING_LEN, |_| {})
            .await?
            .count()
    }
}

/// Items, each an id and a payload. What is damaged is left out, so that it takes nothing from the others.
fn items(mut reply: Reply) -> Result<Vec<Message>> {
    let mut items = Vec::with_capacity(reply.len() / 2);
    while reply.len() > 0 {
        let id = frame::id(reply.bytes()?).ok_or_else(|| reply.unexpected())?;
        if let Some((headers, body)) = frame::payload(reply.bytes()?) {
            items.push(Message { id, body, headers });
        }
    }
    Ok(items)
}
