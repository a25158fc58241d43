//! The rotating queue.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use super::{cursors::cursor, leasing::with_ids};
use crate::{
    frame::{self, Content, Payload},
    queue::{Handle, StagedBodies},
    reply::Reply,
    scripts,
};
use async_trait::async_trait;
use queue_core::{
    Confirmer, Cursor, Insert, Inserted, Message, MessageId, Outcome, Page, Paged, Result, Rotated,
    RotatingQueue, limits,
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
        let payloads = || {
            let items = items.iter();
            items.map(|Insert { headers, body, .. }| Payload { headers, body })
        };
        let handle = &self.handle;
        let uploads = StagedBodies::of(payloads(), handle.context().large);
        handle.upload(&uploads, payloads()).await?;
        let mut call = handle.prepare_push(&scripts::ROTATING_INSERT, !uploads.is_empty());
        call.push(items.len());
        uploads.add_payloads(payloads(), &mut call);
        for (entry, item) in items.iter().enumerate() {
            if let Some(key) = &item.key {
                call.push(entry + 1);
                call.push(&key[..]);
            }
        }
        let reply = handle.run(&call).await;
        handle.take_back_if_refused(&uploads, &reply).await;
        let ids = reply?.ids(items.len())?.into_iter().map(|id| {
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
        let poll = self.handle.arrivals.poll();
        let call = self.handle.prepare(&scripts::ROTATING_ROTATE);
        let mut reply = self.handle.run(&call.with(max.get())).await?;
        let mut next = reply.time()?;
        let mut visited = items(reply)?;
        if visited.iter().any(|item| item.content.is_apart()) {
            self.handle.expect_large_bodies();
        }
        let apart = visited.iter_mut().map(AsMut::as_mut);
        let brought = self.handle.bring_bodies(apart).await;
        // The items have been visited already.
        brought.map_err(|error| error.with_outcome(Outcome::Unknown))?;
        let found_any = !visited.is_empty();
        // Items that were removed before their bodies were fetched are left out, and so are damaged ones.
        let items: Vec<Message> = visited.into_iter().filter_map(Item::message).collect();
        if items.is_empty() && found_any {
            // There may be others behind the damaged items.
            next = Some(Duration::ZERO);
        }
        poll.succeeded(next);
        Ok(Rotated::new(items, next))
    }

    async fn wait_for_turn(&self, timeout: Duration) -> Result<()> {
        self.handle.arrivals.wait(timeout, None).await.map(drop)
    }

    async fn list(&self, page: Page) -> Result<Paged<Message>> {
        self.checked(page.check())?;
        let call = self.handle.prepare(&scripts::ROTATING_LIST);
        let after = page.after.map_or(0, Cursor::get);
        let call = call.with(after).with(page.limit);
        let read = |mut reply: Reply| {
            let next = cursor(&mut reply)?;
            Ok((items(reply)?, next))
        };
        let (items, next) = self.handle.read_with_bodies(call, read).await?;
        let entries = items.into_iter().filter_map(Item::message).collect();
        Ok(Paged::new(entries, next))
    }

    async fn remove(&self, ids: &[MessageId]) -> Result<u64> {
        self.checked(limits::check_batch(ids.len()))?;
        let call = with_ids(self.handle.prepare(&scripts::ROTATING_REMOVE), ids);
        self.handle.run(&call).await?.count()
    }

    async fn len(&self) -> Result<u64> {
        let call = self.handle.prepare(&scripts::ROTATING_LEN);
        self.handle.run(&call).await?.count()
    }
}

/// An item as a script returns it.
#[derive(Debug)]
struct Item {
    id: MessageId,
    content: Content,
}

impl Item {
    fn message(self) -> Option<Message> {
        self.content.message(self.id)
    }
}

impl AsMut<Content> for Item {
    fn as_mut(&mut self) -> &mut Content {
        &mut self.content
    }
}

/// Items, each as an id and the bytes stored under it.
fn items(mut reply: Reply) -> Result<Vec<Item>> {
    let mut items = Vec::with_capacity(reply.len() / 2);
    while reply.len() > 0 {
        let id = frame::id(reply.bytes()?).ok_or_else(|| reply.unexpected())?;
        let content = Content::read(reply.bytes()?);
        items.push(Item { id, content });
    }
    Ok(items)
}
