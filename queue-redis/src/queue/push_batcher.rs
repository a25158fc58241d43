//! Pushing messages: small concurrent batches share a call.

use std::{fmt::Debug, marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use queue_core::{Error, MessageId, Push, Pushed, Result, TimeToLive, limits};
use redis_link::{
    ScriptCall,
    batching::{Batcher, SendBatch},
};
use tokio::time::Instant;

use super::{Handle, bodies::StagedBodies};
use crate::{
    frame::{self, Pack, Payload},
    reply::Reply,
    script::Script,
};

/// A message of one kind of queue.
pub(crate) trait PushEntry: Clone + Debug + Send + Sync + 'static {
    /// The reply for one message.
    type Reply: Clone + Send + Sync + 'static;

    const SCRIPT: &Script;
    /// Whether its script takes packs.
    const PACKS: bool = false;

    fn push(&self) -> &Push;

    /// Adds the arguments between the number of messages and their payloads.
    fn add_before(_batch: &[Self], _way: usize, _call: &mut ScriptCall) {}

    /// Adds the arguments between the payloads and the terms of single messages.
    fn add_behind(_batch: &[Self], _call: &mut ScriptCall) {}

    fn replies(reply: Reply, messages: usize) -> Result<Vec<Self::Reply>>;
}

/// Pushes messages to one queue.
pub(super) type PushBatcher<P> = Batcher<PushSender<P>>;

/// A mode of pushing messages to a queue. Different modes never share a call.
pub(crate) struct PushSender<P> {
    handle: Arc<Handle>,
    mode: usize,
    of: PhantomData<fn(P)>,
}

impl<P: PushEntry> PushSender<P> {
    pub(super) fn batcher(handle: &Arc<Handle>, way: usize) -> PushBatcher<P> {
        let spawn = Arc::clone(handle.backend().spawn());
        let patience = handle.client().response_timeout();
        let here = Self {
            handle: Arc::clone(handle),
            mode: way,
            of: PhantomData,
        };
        Batcher::new(here, patience, spawn)
    }
}

#[async_trait]
impl<P: PushEntry> SendBatch for PushSender<P> {
    type Request = P;
    type Reply = P::Reply;

    async fn send_batch(&self, batch: &[P]) -> Result<Vec<P::Reply>> {
        let pushes = || batch.iter().map(P::push);
        let payloads = || pushes().map(|Push { headers, body, .. }| Payload { headers, body });
        let backend = self.handle.backend();
        let uploads = StagedBodies::of(payloads(), backend.large());
        let packs = P::PACKS && batch.len() >= backend.packs();
        let packable = match packs && uploads.is_empty() && pushes().all(is_plain) {
            true => payloads().collect(),
            false => Vec::new(),
        };
        let all = pushes().any(|push| push.dedup.is_some() || push.time_to_live.is_some());
        let handle = &self.handle;
        handle.upload(&uploads, payloads()).await?;
        let mut call = handle.prepare_push(P::SCRIPT, all || !uploads.is_empty());
        if let Some(packs) = Pack::several(&packable) {
            call.push("packs");
            packs.for_each(|pack| call.push(pack));
        } else {
            call.push(batch.len());
            P::add_before(batch, self.mode, &mut call);
            uploads.add_payloads(payloads(), &mut call);
            P::add_behind(batch, &mut call);
            add_terms(pushes(), &mut call);
            for (entry, reference) in uploads.iter() {
                call.push(entry + 1);
                call.push("body");
                call.push(&reference[..]);
            }
        }
        let reply = handle.run(&call).await;
        handle.take_back_if_refused(&uploads, &reply).await;
        P::replies(reply?, batch.len())
    }

    fn size(message: &P) -> usize {
        message.push().size()
    }

    async fn ready(&self) -> Result<()> {
        let ready = self.handle.client().ready().await;
        ready.map_err(|error| self.handle.name(error))
    }

    fn held_up(&self) -> Option<Instant> {
        self.handle.client().held_up()
    }

    fn unsent(&self) -> Error {
        self.handle.name(self.handle.client().unsent())
    }
}

/// Adds the terms of single messages, as `lua/shared/terms.lua` reads them. The windows and limits were checked before.
fn add_terms<'a>(pushes: impl Iterator<Item = &'a Push>, call: &mut ScriptCall) {
    for (entry, push) in pushes.enumerate() {
        if let Some(dedup) = &push.dedup {
            call.push(entry + 1);
            let window = limits::window_millis(dedup.window).unwrap_or(1);
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
    }
}

/// Whether the push has nothing but its payload.
fn is_plain(push: &Push) -> bool {
    push.dedup.is_none() && push.due.is_none() && push.time_to_live.is_none()
}

/// The replies to a push of `messages` messages.
pub(super) fn pushed(reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
    let ids = reply.ids(messages)?;
    let pushed = ids.into_iter().map(|id| {
        let message = MessageId::new(id.unsigned_abs());
        if id < 0 {
            Pushed::Duplicate(message)
        } else {
            Pushed::Accepted(message)
        }
    });
    Ok(pushed.collect())
}
