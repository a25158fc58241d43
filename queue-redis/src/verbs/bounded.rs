//! The bounded queue.

use std::{num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use queue_core::{
    BoundedConfig, BoundedQueue, Message, MessageId, Outcome, Overflow, Push, QueueKind, Result,
    check_capacity, limits,
};
use redis_link::ScriptCall;

use super::{Queue, kind::LeasingKind};
use crate::{
    frame::Frame,
    queue::Handle,
    reply::Reply,
    scripts::{self, LeasingScripts},
};

/// A queue of a fixed length.
#[derive(Debug)]
pub(crate) enum Bounded {}

impl LeasingKind for Bounded {
    const KIND: QueueKind = QueueKind::Bounded;
    const SCRIPTS: &LeasingScripts = &scripts::BOUNDED;

    fn add_before(batch: &[Push], call: &mut ScriptCall) {
        let digit = |push: &Push| b'0' + u8::from(push.overflow == Overflow::DropOldest);
        let mut overflows: Vec<u8> = batch.iter().map(digit).collect();
        overflows.dedup();
        if overflows.len() > 1 {
            overflows = batch.iter().map(digit).collect();
        }
        call.push(&overflows[..]);
    }
}

#[async_trait]
impl BoundedQueue for Queue<Bounded> {
    async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        self.handle.room.wait(timeout, None).await.map(drop)
    }

    async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        self.checked(limits::check_page(n))?;
        let call = self.handle.prepare(&scripts::BOUNDED_RECENT).with(n);
        let read = |reply: Reply| Ok((reply.rest(|bytes| Frame::read(bytes, Bounded::HEAD))?, ()));
        let (frames, ()) = self.handle.read_with_bodies(call, read).await?;
        Ok(frames.into_iter().filter_map(Frame::message).collect())
    }

    async fn capacity(&self) -> Result<NonZeroUsize> {
        let call = self.handle.prepare(&scripts::BOUNDED_CAPACITY);
        let mut reply = self.handle.run(&call).await?;
        let capacity = usize::try_from(reply.count()?).ok();
        capacity
            .and_then(NonZeroUsize::new)
            .ok_or_else(|| reply.unexpected())
    }

    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
        self.checked(check_capacity(capacity.get()))?;
        let call = self.handle.prepare(&scripts::BOUNDED_RESIZE);
        let first = self.handle.run(&call.with(capacity.get())).await?;
        shorten(&self.handle, first).await
    }
}

/// Stores another configuration with its capacity, in one step, and drops messages beyond the capacity. Returns how
/// many dead letters are left to trim; `None` if the queue is gone and the handle does not create it.
pub(crate) async fn reconfigure(
    handle: &Handle,
    config: &BoundedConfig,
    text: &str,
) -> Result<Option<i64>> {
    let call = handle.prepare(&scripts::BOUNDED_RESIZE);
    let call = call.with(config.capacity).with(text);
    let Some(mut first) = handle.run_if_there(&call).await? else {
        return Ok(None);
    };
    let letters = first.number()?;
    shorten(handle, first).await?;
    Ok(Some(letters))
}

/// Sets the capacity if needed, in one step, and drops messages beyond the capacity.
pub(crate) async fn ensure_capacity(handle: &Handle, capacity: usize) -> Result<()> {
    let call = handle.prepare(&scripts::BOUNDED_RESIZE);
    let first = handle.run(&call.with(capacity).with("")).await?;
    shorten(handle, first).await.map(drop)
}

/// Runs the remaining steps of a resize, if the queue still exists. Returns all ids that the steps dropped.
async fn shorten(handle: &Handle, mut step: Reply) -> Result<Vec<MessageId>> {
    let mut dropped = Vec::new();
    loop {
        let count = step.len();
        for _ in 0..count {
            dropped.push(MessageId::new(step.count()?));
        }
        if count < limits::MAX_BATCH {
            return Ok(dropped);
        }
        let call = handle.prepare(&scripts::BOUNDED_RESIZE).with("");
        let next = handle.run_if_there(&call).await;
        // The earlier steps are done even if this one fails; later pushes do the remaining ones.
        let next = next.map_err(|error| error.with_outcome(Outcome::Unknown))?;
        let Some(next) = next else {
            return Ok(dropped);
        };
        step = next;
    }
}
