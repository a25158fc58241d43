//! Pushing messages: small concurrent batches share a call.

use std::{marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use queue_core::{Error, MessageId, Push, Pushed, QueueKind, Result, TimeToLive, limits};
use redis_link::{
    ScriptCall,
    batching::{BatchLimit, Batcher, SendBatch},
};
use tokio::time::Instant;

use super::{BATCH, kind::LeasingKind};
use crate::{
    frame::{self, Pack, Payload},
    queue::{Handle, StagedBodies},
    reply::Reply,
};

/// Pushes messages to one queue.
pub(super) type PushBatcher<K> = Batcher<PushSender<K>>;

/// Sends pushes to one queue.
pub(crate) struct PushSender<K> {
    handle: Arc<Handle>,
    kind: PhantomData<fn(K)>,
}

impl<K: LeasingKind> PushSender<K> {
    pub(super) fn batcher(handle: &Arc<Handle>) -> PushBatcher<K> {
        let sender = Self {
            handle: Arc::clone(handle),
            kind: PhantomData,
        };
        let patience = handle.client().response_timeout();
        Batcher::new(sender, patience, Arc::clone(&handle.context().spawn))
    }

    fn add_arguments(&self, batch: &[Push], staged: &StagedBodies, call: &mut ScriptCall) {
        let packs = K::PACKS && batch.len() >= self.handle.context().packs;
        let packable = match packs && staged.is_empty() && batch.iter().all(is_plain) {
            true => batch.iter().map(payload).collect(),
            false => Vec::new(),
        };
        if let Some(packs) = Pack::several(&packable) {
            call.push("packs");
            packs.for_each(|pack| call.push(pack));
            return;
        }
        call.push(batch.len());
        K::add_before(batch, call);
        staged.add_payloads(batch.iter().map(payload), call);
        add_terms(batch, K::KIND, call);
        staged.add_references(call);
    }
}

#[async_trait]
impl<K: LeasingKind> SendBatch for PushSender<K> {
    type Request = Push;
    type Reply = Pushed;

    const MOST: BatchLimit = BATCH;

    async fn send_batch(&self, batch: &[Push]) -> Result<Vec<Pushed>> {
        let handle = &self.handle;
        let payloads = || batch.iter().map(payload);
        let staged = StagedBodies::of(payloads(), handle.context().large);
        handle.upload(&staged, payloads()).await?;
        let ends = |push: &Push| push.dedup.is_some() || push.time_to_live.is_some();
        let all = batch.iter().any(ends) || !staged.is_empty();
        let mut call = handle.prepare_push(&K::SCRIPTS.push, all);
        self.add_arguments(batch, &staged, &mut call);
        let reply = handle.run(&call).await;
        handle.take_back_if_refused(&staged, &reply).await;
        pushed(reply?, batch.len())
    }

    fn size(push: &Push) -> usize {
        push.size()
    }

    async fn ready(&self) -> Result<()> {
        self.handle.ready().await
    }

    fn held_up(&self) -> Option<Instant> {
        self.handle.client().held_up()
    }

    fn unsent(&self) -> Error {
        self.handle.unsent()
    }
}

fn payload(push: &Push) -> Payload<'_> {
    let Push { headers, body, .. } = push;
    Payload { headers, body }
}

/// Adds the terms of single messages, as `lua/lib/push_options.lua` reads them. The windows and limits were checked before.
fn add_terms(batch: &[Push], kind: QueueKind, call: &mut ScriptCall) {
    for (entry, push) in batch.iter().enumerate() {
        if let Some(dedup) = &push.dedup {
            call.push(entry + 1);
            let window = dedup.window_millis().unwrap_or(1);
            match dedup.until_done {
                true => call.push(format!("u{window}")),
                false => call.push(window),
            }
            call.push(&dedup.key[..]);
        }
        if let Some(TimeToLive { limit, then }) = push.time_to_live {
            call.push(entry + 1);
            call.push("live");
            let limit = limits::time_to_live_millis(limit).unwrap_or(1);
            call.push(format!("{}{limit}", frame::outdated(then)));
        }
        // On a delay queue, due times are before the payloads.
        if let Some(due) = push.due.filter(|_| kind != QueueKind::Delay) {
            call.push(entry + 1);
            call.push("due");
            call.push(&frame::due(due)[..]);
        }
        if let Some(distinct) = &push.distinct {
            call.push(entry + 1);
            match distinct.longest_millis().ok().flatten() {
                Some(longest) => call.push(format!("key{longest}")),
                None => call.push("key"),
            }
            call.push(&distinct.key[..]);
        }
    }
}

/// Whether the push has nothing but its payload.
fn is_plain(push: &Push) -> bool {
    let Push {
        dedup, distinct, ..
    } = push;
    dedup.is_none() && distinct.is_none() && push.due.is_none() && push.time_to_live.is_none()
}

/// The replies to a push of `messages` messages, as `lua/lib/slow_push.lua` gives them.
fn pushed(mut reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
    if reply.len() != 3 * messages {
        let ids = reply.ids(messages)?.into_iter();
        let accepted = ids.map(|id| Pushed::Accepted(MessageId::new(id.unsigned_abs())));
        return Ok(accepted.collect());
    }
    let mut pushed = Vec::with_capacity(messages);
    for _ in 0..messages {
        let what = reply.count()?;
        let id = MessageId::new(reply.count()?);
        let other = MessageId::new(reply.count()?);
        pushed.push(match what {
            0 => Pushed::Accepted(id),
            1 => Pushed::Evicted { id, evicted: other },
            2 => Pushed::Replaced {
                id,
                replaced: other,
            },
            3 => Pushed::Duplicate(id),
            4 => Pushed::Full,
            _ => return Err(reply.unexpected()),
        });
    }
    Ok(pushed)
}
