//! Pushing messages: small concurrent batches share a call.

use std::{marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Error, MessageId, Offered, Push, Pushed, Result, TimeToLive, limits};
use redis_link::{
    ScriptCall,
    batching::{Batcher, SendBatch},
};
use tokio::time::Instant;

use super::kind::LeasingKind;
use crate::{
    frame::{self, Pack, Payload},
    queue::{Handle, StagedBodies},
    reply::Reply,
};

/// Pushes messages to one queue in one mode.
pub(super) type PushBatcher<K> = Batcher<PushSender<K>>;

/// Sends the pushes of one mode to one queue.
pub(crate) struct PushSender<K> {
    handle: Arc<Handle>,
    mode: usize,
    kind: PhantomData<fn(K)>,
}

impl<K: LeasingKind> PushSender<K> {
    pub(super) fn batcher(handle: &Arc<Handle>, mode: usize) -> PushBatcher<K> {
        let sender = Self {
            handle: Arc::clone(handle),
            mode,
            kind: PhantomData,
        };
        let patience = handle.client().response_timeout();
        Batcher::new(sender, patience, Arc::clone(&handle.context().spawn))
    }

    fn add_arguments(&self, batch: &[K::Message], staged: &StagedBodies, call: &mut ScriptCall) {
        let pushes = || batch.iter().map(K::push);
        let packs = K::PACKS && batch.len() >= self.handle.context().packs;
        let packable = match packs && staged.is_empty() && pushes().all(is_plain) {
            true => pushes().map(payload).collect(),
            false => Vec::new(),
        };
        if let Some(packs) = Pack::several(&packable) {
            call.push("packs");
            packs.for_each(|pack| call.push(pack));
            return;
        }
        call.push(batch.len());
        K::add_before(batch, self.mode, call);
        staged.add_payloads(pushes().map(payload), call);
        add_terms(
            batch.iter().map(|each| (K::push(each), K::distinct(each))),
            call,
        );
        staged.add_references(call);
    }
}

#[async_trait]
impl<K: LeasingKind> SendBatch for PushSender<K> {
    type Request = K::Message;
    type Reply = K::Pushed;

    async fn send_batch(&self, batch: &[K::Message]) -> Result<Vec<K::Pushed>> {
        let handle = &self.handle;
        let pushes = || batch.iter().map(K::push);
        let payloads = || pushes().map(payload);
        let staged = StagedBodies::of(payloads(), handle.context().large);
        handle.upload(&staged, payloads()).await?;
        let ends = |push: &Push| push.dedup.is_some() || push.time_to_live.is_some();
        let all = pushes().any(ends) || !staged.is_empty();
        let mut call = handle.prepare_push(K::PUSH, all);
        self.add_arguments(batch, &staged, &mut call);
        let reply = handle.run(&call).await;
        handle.take_back_if_refused(&staged, &reply).await;
        K::replies(reply?, batch.len())
    }

    fn size(message: &K::Message) -> usize {
        K::push(message).size()
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
fn add_terms<'a>(
    pushes: impl Iterator<Item = (&'a Push, Option<&'a Bytes>)>,
    call: &mut ScriptCall,
) {
    for (entry, (push, distinct)) in pushes.enumerate() {
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
        if let Some(due) = push.due {
            call.push(entry + 1);
            call.push("due");
            call.push(&frame::due(due)[..]);
        }
        if let Some(key) = distinct {
            call.push(entry + 1);
            call.push("key");
            call.push(&key[..]);
        }
    }
}

/// Whether the push has nothing but its payload.
fn is_plain(push: &Push) -> bool {
    push.dedup.is_none() && push.due.is_none() && push.time_to_live.is_none()
}

/// The replies to a push of `messages` messages on a queue that is never full.
pub(super) fn pushed(mut reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
    let offered = offered(&mut reply, messages)?.into_iter();
    let pushed = offered.map(|each| match each {
        Offered::Duplicate(id) => Ok(Pushed::Duplicate(id)),
        Offered::Accepted { id, .. } => Ok(Pushed::Accepted(id)),
        Offered::Replaced { .. } | Offered::Full => Err(reply.unexpected()),
    });
    pushed.collect()
}

/// The replies to a push of `messages` messages, as `lua/lib/slow_push.lua` gives them.
pub(super) fn offered(reply: &mut Reply, messages: usize) -> Result<Vec<Offered>> {
    if reply.len() != 3 * messages {
        let ids = reply.ids(messages)?.into_iter();
        let accepted = ids.map(|id| Offered::Accepted {
            id: MessageId::new(id.unsigned_abs()),
            evicted: None,
        });
        return Ok(accepted.collect());
    }
    let mut offered = Vec::with_capacity(messages);
    for _ in 0..messages {
        let what = reply.count()?;
        let id = MessageId::new(reply.count()?);
        let other = MessageId::new(reply.count()?);
        offered.push(match what {
            0 => Offered::Accepted { id, evicted: None },
            1 => Offered::Accepted {
                id,
                evicted: Some(other),
            },
            2 => Offered::Replaced {
                id,
                replaced: other,
            },
            3 => Offered::Duplicate(id),
            4 => Offered::Full,
            _ => return Err(reply.unexpected()),
        });
    }
    Ok(offered)
}
