use std::sync::Arc;

use async_trait::async_trait;
use queue_core::{
    Insert, Inserted, Message, MessageId, Page, Result, RotatingConfig, RotatingQueue,
};

use super::{Clock, Diverged, Drive, divergence::agree, leasing::at_least_one, name};
use crate::{
    Harness,
    model::{
        Body, RotatingModel, RotatingOp,
        op::{Seen, key},
        rules::RingRules,
    },
};

/// A rotating queue and its model.
#[derive(Debug)]
pub struct RotatingDriver {
    queue: Arc<dyn RotatingQueue>,
    model: RotatingModel,
    clock: Clock,
    seen: Seen,
    rules: RingRules,
}

#[async_trait]
impl Drive for RotatingDriver {
    type Config = RotatingConfig;
    type Op = RotatingOp;

    async fn open(harness: Arc<dyn Harness>, config: &RotatingConfig) -> Result<Self> {
        let backend = harness.connect().await;
        let clock = Clock::read(harness, &*backend).await?;
        Ok(Self {
            queue: backend.open_rotating(&name()?, config).await?,
            model: RotatingModel::new(config),
            clock,
            seen: Seen::default(),
            rules: RingRules::default(),
        })
    }

    async fn apply(&mut self, op: &RotatingOp) -> Result<(), Diverged> {
        let now = self.clock.now();
        match op {
            RotatingOp::Advance(jump) => {
                let millis = jump.millis(now, self.model.next_boundary(now));
                self.clock.advance(millis).await;
            }
            RotatingOp::Insert(items) => self.insert(items).await?,
            RotatingOp::Rotate(max) => {
                let max = at_least_one(*max);
                let rotated = self.queue.rotate(max).await;
                if let Ok(rotated) = agree("rotate", self.model.rotate(now, max), rotated)? {
                    self.rules.visited(&ids_of(&rotated.items))?;
                }
            }
            RotatingOp::List(limit) => self.list(*limit).await?,
            RotatingOp::Remove(ids) => {
                let ids: Vec<MessageId> = ids.iter().map(|id| self.seen.id(*id)).collect();
                let removed = self.queue.remove(&ids).await;
                if agree("remove", self.model.remove(&ids), removed)?.is_ok() {
                    self.rules.removed(&ids);
                }
            }
        }
        agree("len", Ok(self.model.len()), self.queue.len().await)?.ok();
        Ok(())
    }
}

impl RotatingDriver {
    async fn insert(&mut self, items: &[(Body, Option<u8>)]) -> Result<(), Diverged> {
        let item = |(body, number): &(Body, Option<u8>)| {
            let item = Insert::new(body.bytes()).with_headers(body.headers());
            match number {
                Some(number) => item.with_key(key(*number)),
                None => item,
            }
        };
        let batch: Vec<Insert> = items.iter().map(item).collect();
        let inserted = self.queue.insert(&batch).await;
        let model = self.model.insert(self.clock.now(), &batch);
        for inserted in agree("insert", model, inserted)?.into_iter().flatten() {
            if let Inserted::Added(id) = inserted {
                self.seen.add_id(id);
                self.rules.inserted(id);
            }
        }
        Ok(())
    }

    /// Reads the ring from page to page; it does not turn meanwhile.
    async fn list(&mut self, limit: usize) -> Result<(), Diverged> {
        let (mut ours, mut theirs) = (None, None);
        let mut listed = Vec::new();
        loop {
            let mut model = self.model.list(Page { after: ours, limit });
            let after = theirs;
            let queue = self.queue.list(Page { after, limit }).await;
            ours = model.as_ref().ok().and_then(|page| page.next);
            theirs = queue.as_ref().ok().and_then(|page| page.next);
            // A cursor is the backend's own: only whether there is one is compared.
            if let Ok(model) = &mut model
                && ours.is_some() == theirs.is_some()
            {
                model.next = theirs;
            }
            let Ok(page) = agree("list", model, queue)? else {
                return Ok(());
            };
            listed.extend(ids_of(&page.entries));
            if ours.is_none() {
                break;
            }
        }
        Ok(self.rules.listed(&listed)?)
    }
}

fn ids_of(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id).collect()
}
