//! The bounded queue.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    BoundedQueue, Error, Message, MessageId, Offer, Offered, Overflow, Result, check_capacity,
    limits,
};

use super::{
    Handle, LeasingKind, Queue, push,
    put::{Put, Putter, Putters},
};
use crate::{
    call::Call,
    frame,
    reply::Reply,
    scripts::{self, LeasingScripts},
};

/// A fixed length.
#[derive(Debug)]
pub(crate) enum Bounded {}

impl LeasingKind for Bounded {
    const SCRIPTS: &LeasingScripts = &scripts::BOUNDED;
    type Putters = Offers;
}

#[async_trait]
impl BoundedQueue for Queue<Bounded> {
    async fn offer(&self, messages: &[Offer], overflow: Overflow) -> Result<Vec<Offered>> {
        self.checked(Offer::check_all(messages, self.max_body))?;
        match overflow {
            Overflow::Reject => {
                let put = self.putters.rejecting.put(messages);
                self.handle.after_room(put).await
            }
            Overflow::DropOldest => self.putters.dropping.put(messages).await,
            other => Err(self.handle.name(Error::invalid(format!(
                "the overflow {other:?} is not known here"
            )))),
        }
    }

    async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        self.handle.wait_for_room(timeout).await
    }

    async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        self.checked(limits::check_page(n))?;
        let script = &scripts::BOUNDED_RECENT;
        let reply = self
            .handle
            .call_without_dedup(script, |call| call.push(n))
            .await?;
        reply.rest(|bytes| frame::frame(bytes, Bounded::HEAD).map(|(message, _)| message))
    }

    async fn capacity(&self) -> Result<NonZeroUsize> {
        let script = &scripts::BOUNDED_CAPACITY;
        let mut reply = self.handle.call_without_dedup(script, |_| {}).await?;
        let capacity = usize::try_from(reply.count()?).ok();
        capacity
            .and_then(NonZeroUsize::new)
            .ok_or_else(|| reply.unexpected())
    }

    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
        self.checked(check_capacity(capacity.get()))?;
        let script = &scripts::BOUNDED_RESIZE;
        let fill = |call: &mut Call| call.push(capacity.get());
        let mut reply = self.handle.call_without_dedup(script, fill).await?;
        let dropped = reply.len();
        (0..dropped)
            .map(|_| reply.count().map(MessageId::new))
            .collect()
    }
}

/// Offers in the two ways. Each goes in calls of its own, since the policy is a call's.
#[derive(Debug)]
pub(crate) struct Offers {
    rejecting: Putter<OfferOrReject>,
    dropping: Putter<OfferDroppingOldest>,
}

impl Putters for Offers {
    fn new(handle: &Arc<Handle>) -> Self {
        Self {
            rejecting: Putters::new(handle),
            dropping: Putters::new(handle),
        }
    }
}

/// Offers as far as there is room.
#[derive(Default)]
pub(crate) struct OfferOrReject;

/// Offers, dropping the oldest where there is no room.
#[derive(Default)]
pub(crate) struct OfferDroppingOldest;

#[async_trait]
impl Put for OfferOrReject {
    type Entry = Offer;
    type Answer = Offered;

    async fn put(&self, handle: &Handle, messages: &[Offer]) -> Result<Vec<Offered>> {
        offer(handle, messages, false).await
    }

    fn size(message: &Offer) -> usize {
        message.push.size()
    }
}

#[async_trait]
impl Put for OfferDroppingOldest {
    type Entry = Offer;
    type Answer = Offered;

    async fn put(&self, handle: &Handle, messages: &[Offer]) -> Result<Vec<Offered>> {
        offer(handle, messages, true).await
    }

    fn size(message: &Offer) -> usize {
        message.push.size()
    }
}

async fn offer(handle: &Handle, messages: &[Offer], drop_oldest: bool) -> Result<Vec<Offered>> {
    let pushes = || messages.iter().map(|message| &message.push);
    let distinct = || {
        let keys = messages.iter().map(|message| message.distinct.as_ref());
        keys.enumerate()
            .filter_map(|(entry, key)| Some((entry, key?)))
    };
    let fill = |call: &mut Call| {
        call.push(messages.len());
        call.push(u8::from(drop_oldest));
        call.push(distinct().count());
        for message in pushes() {
            call.push(push::payload(message));
        }
        for (entry, key) in distinct() {
            call.push(entry + 1);
            call.push(&key[..]);
        }
        push::add_marks(call, pushes());
    };
    let dedup = push::any_dedup(pushes());
    let script = &scripts::BOUNDED_OFFER;
    let reply = handle.call_push(script, dedup, fill).await?;
    offered(reply, messages.len())
}

/// What became of each of so many messages.
fn offered(mut reply: Reply, entries: usize) -> Result<Vec<Offered>> {
    if reply.len() != 3 * entries {
        let ids = reply.ids(entries)?.into_iter();
        let accepted = ids.map(|id| Offered::Accepted {
            id: MessageId::new(id.unsigned_abs()),
            evicted: None,
        });
        return Ok(accepted.collect());
    }
    let mut offered = Vec::with_capacity(entries);
    for _ in 0..entries {
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
