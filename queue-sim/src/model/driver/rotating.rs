use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use queue_conformance::Harness;
use queue_core::{
    Insert, Inserted, Message, MessageId, Page, Result, RotatingConfig, RotatingQueue,
};

use super::{Clock, Diverged, Drive, divergence::agree, goals::Goals, leasing::at_least_one, name};
use crate::model::{
    Body, RotatingModel, RotatingOp,
    op::{Seen, key},
    rules::RingRules,
};

/// A rotating queue and its model.
#[derive(Debug)]
pub struct RotatingDriver {
    queue: Arc<dyn RotatingQueue>,
    model: RotatingModel,
    clock: Clock,
    seen: Seen,
    rules: RingRules,
    goals: Goals,
}

#[async_trait]
impl Drive for RotatingDriver {
    type Config = RotatingConfig;
    type Op = RotatingOp;

    fn goals() -> BTreeSet<&'static str> {
        BTreeSet::from([
            "an item was present",
            "an item was removed",
            "items were visited",
            "nothing was due",
            "8 MiB cut a rotation short",
            "an invalid call was refused",
        ])
    }

    fn reached(&self) -> &BTreeSet<&'static str> {
        self.goals.reached()
    }

    async fn open(harness: Arc<dyn Harness>, config: &RotatingConfig) -> Result<Self> {
        let backend = harness.connect().await;
        let clock = Clock::read(harness, &*backend).await?;
        Ok(Self {
            queue: backend.open_rotating(&name()?, config).await?,
            model: RotatingModel::new(config),
            clock,
            seen: Seen::default(),
            rules: RingRules::default(),
            goals: Goals::default(),
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
                let (max, due) = (at_least_one(*max), self.model.due(now));
                let rotated = self.queue.rotate(max).await;
                let Ok(rotated) = agree("rotate", self.model.rotate(now, max), rotated)? else {
                    self.goals.reach("an invalid call was refused");
                    return Ok(());
                };
                self.rules.visited(&ids_of(&rotated.items))?;
                let (visited, wait) = (rotated.items.len(), rotated.next.is_some());
                self.goals.reach_if(visited > 0, "items were visited");
                self.goals.reach_if(wait, "nothing was due");
                let cut = visited < due.min(max.get());
                self.goals.reach_if(cut, "8 MiB cut a rotation short");
            }
            RotatingOp::List(limit) => self.list(*limit).await?,
            RotatingOp::Remove(ids) => {
                let ids: Vec<MessageId> = ids.iter().map(|id| self.seen.id(*id)).collect();
                let removed = self.queue.remove(&ids).await;
                if let Ok(removed) = agree("remove", self.model.remove(&ids), removed)? {
                    self.goals.reach_if(removed > 0, "an item was removed");
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
        let model = self.model.insert(&batch);
        for inserted in agree("insert", model, inserted)?.into_iter().flatten() {
            match inserted {
                Inserted::Present(_) => self.goals.reach("an item was present"),
                Inserted::Added(id) => {
                    self.seen.add_id(id);
                    self.rules.inserted(id);
                }
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
