//! Leasing, and the parts that all kinds share.

use std::{iter, num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Cancelled, Confirmer, Counters, Cursor, DeadLetter, Depth, Due, Extended, Extension, Found,
    Holder, Leased, Leasing, MessageId, Outcome, Overflow, Page, Paged, Peeked, Place, Push,
    Pushed, QueueKind, Rescheduled, Result, Revival, Revived, Settled, Settlement, Timestamp,
    limits,
};
use redis_link::ScriptCall;

use super::{
    cursors::{cursor, shown_before, shown_by_now},
    kind::LeasingKind,
    lease_batcher::LeaseBatcher,
    push::{PushBatcher, PushSender},
    settle_and_lease::{LeaseCall, SettleAndLease, SettledAndLeased},
};
use crate::{
    frame::{self, Dead, Shown},
    queue::Handle,
    reply::Reply,
    waiting::{HandoffTerms, Waiter},
};

/// A queue of this kind.
#[derive(Debug)]
pub(crate) struct Queue<K: LeasingKind> {
    pub(super) handle: Arc<Handle>,
    pub(super) max_body: usize,
    pushes: PushBatcher<K>,
    leases: LeaseBatcher,
}

impl<K: LeasingKind> Queue<K> {
    /// The queue behind an opened handle.
    pub(crate) fn new(handle: Handle, max_body: usize) -> Self {
        let handle = Arc::new(handle);
        Self {
            pushes: PushSender::batcher(&handle),
            leases: LeaseBatcher::new(SettleAndLease::new(
                &handle,
                &K::SCRIPTS.settle_and_lease,
                K::HEAD,
            )),
            handle,
            max_body,
        }
    }

    /// Names the queue in the error of a check.
    pub(super) fn checked<T>(&self, check: Result<T>) -> Result<T> {
        check.map_err(|error| self.handle.name(error))
    }

    async fn settle_or_lease(&self, request: LeaseCall<'_>) -> Result<SettledAndLeased> {
        let poll = (request.max > 0).then(|| self.handle.arrivals.poll());
        let (settled, leased) = self.leases.submit(request).await?;
        if let Some(poll) = poll {
            poll.succeeded(leased.next);
        }
        Ok((settled, leased))
    }
}

/// The length that an extension without a state names.
const NO_STATE: [u8; 4] = [u8::MAX; 4];

#[async_trait]
impl<K: LeasingKind> Leasing for Queue<K> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.checked(Push::check_all(messages, K::KIND, self.max_body))?;
        // A message that is refused for want of room has looked for room.
        let looks = |push: &Push| push.overflow == Overflow::Reject;
        let looks = K::KIND == QueueKind::Bounded && messages.iter().any(looks);
        let poll = looks.then(|| self.handle.room.poll());
        let pushed = self.pushes.submit(messages).await?;
        if let Some(poll) = poll {
            poll.succeeded(None);
        }
        Ok(pushed)
    }

    async fn reschedule(&self, ids: &[MessageId], due: Due) -> Result<Vec<Rescheduled>> {
        self.checked(limits::check_batch(ids.len()))?;
        self.checked(due.check())?;
        let call = self.handle.prepare(&K::SCRIPTS.reschedule);
        let call = with_ids(call.with(&frame::due(due)[..]), ids);
        let mut reply = self.handle.run(&call).await?;
        reply.statuses(ids.len(), |letter| match letter {
            b'm' => Some(Rescheduled::Moved),
            b't' => Some(Rescheduled::TooLate),
            _ => None,
        })
    }

    async fn lease(&self, max: NonZeroUsize, lease_time: Duration) -> Result<Leased> {
        self.settle_and_lease(&[], max, lease_time, None)
            .await
            .map(|(_, leased)| leased)
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        self.checked(limits::check_batch(settlements.len()))?;
        self.checked(Settlement::check_all(settlements))?;
        let (settled, _) = self
            .settle_or_lease(LeaseCall::settling(settlements))
            .await?;
        Ok(settled)
    }

    async fn settle_and_lease(
        &self,
        settlements: &[Settlement],
        max: NonZeroUsize,
        lease_time: Duration,
        holder: Option<Holder>,
    ) -> Result<(Vec<Settled>, Leased)> {
        self.checked(Settlement::check_all(settlements))?;
        self.checked(limits::check_max(max.get()))?;
        self.checked(limits::lease_millis(lease_time))?;
        let request = LeaseCall {
            settlements,
            max: max.get(),
            lease_time,
            holder: holder.as_ref(),
        };
        self.settle_or_lease(request).await
    }

    async fn extend(
        &self,
        extensions: &[Extension],
        lease_time: Duration,
    ) -> Result<Vec<Extended>> {
        self.checked(Extension::check_all(extensions))?;
        let millis = self.checked(limits::lease_millis(lease_time))?;
        let mut call = self.handle.prepare(&K::SCRIPTS.extend).with(millis);
        for extension in extensions {
            let lease = frame::lease(extension.receipt);
            match (&extension.state, &extension.progress) {
                (None, None) => call.push(&lease[..]),
                (state, progress) => {
                    let length = state
                        .as_ref()
                        .map_or(NO_STATE, |state| frame::length(state.len()));
                    let [state, progress] =
                        [state, progress].map(|bytes| bytes.as_deref().unwrap_or_default());
                    call.push([&lease[..], &length, state, progress].concat());
                }
            }
        }
        let receipts = extensions.iter().map(|extension| extension.receipt);
        self.leases.verb().break_up(receipts);
        let mut reply = self.handle.run(&call).await?;
        reply.statuses(extensions.len(), |letter| match letter {
            b'd' => Some(Extended::Extended),
            b'l' => Some(Extended::LeaseLost),
            _ => None,
        })
    }

    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        self.handle.arrivals.wait(timeout, None).await.map(drop)
    }

    async fn wait_to_lease(
        &self,
        lease_time: Duration,
        holder: Option<Holder>,
        timeout: Duration,
    ) -> Result<Leased> {
        let millis = self.checked(limits::lease_millis(lease_time))?;
        let terms = HandoffTerms::new(millis, holder.as_ref(), self.leases.verb().releaser());
        let handed = self.handle.arrivals.wait(timeout, Some(terms)).await?;
        let lease = Duration::from_millis(millis);
        let delivery = handed.and_then(|handed| self.leases.verb().handed_over(handed, lease));
        Ok(Leased::of(delivery.into_iter().collect()))
    }

    async fn depth(&self) -> Result<Depth> {
        self.counters().await.map(|counters| counters.depth)
    }

    async fn counters(&self) -> Result<Counters> {
        // The script reads the dedup marks.
        let call = self.handle.prepare_with_attachments(&K::SCRIPTS.counters);
        self.handle.run(&call).await?.counters()
    }

    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        self.checked(page.check())?;
        let call = self.handle.prepare(&K::SCRIPTS.dead_letters);
        let after = page.after.map_or(0, Cursor::get);
        let call = call.with(after).with(page.limit);
        let read = |mut reply: Reply| {
            let next = cursor(&mut reply)?;
            Ok((reply.rest(|bytes| Dead::read(bytes, K::HEAD))?, next))
        };
        let (dead, next) = self.handle.read_with_bodies(call, read).await?;
        let entries = dead.into_iter().map(Dead::letter).collect();
        Ok(Paged::new(entries, next))
    }

    async fn revive(&self, ids: &[MessageId], revival: Revival) -> Result<Vec<Revived>> {
        self.checked(limits::check_batch(ids.len()))?;
        let call = self.handle.prepare(&K::SCRIPTS.revive);
        let call = call.with(match revival {
            Revival::WithState => "",
            Revival::Fresh => "fresh",
        });
        let call = with_ids(call, ids);
        let mut reply = self.handle.run(&call).await?;
        reply.statuses(ids.len(), |letter| match letter {
            b'r' => Some(Revived::Revived),
            b'n' => Some(Revived::NotFound),
            b'f' => Some(Revived::Full),
            _ => None,
        })
    }

    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        self.checked(limits::check_batch(ids.len()))?;
        let call = with_ids(self.handle.prepare(&K::SCRIPTS.discard), ids);
        self.handle.run(&call).await?.count()
    }

    async fn pause(&self) -> Result<()> {
        let call = self.handle.prepare(&K::SCRIPTS.pause);
        self.handle.run(&call).await?.count().map(drop)
    }

    async fn resume(&self) -> Result<()> {
        let call = self.handle.prepare(&K::SCRIPTS.resume);
        self.handle.run(&call).await?.count().map(drop)
    }

    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        self.handle.confirmer()
    }

    async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        self.checked(limits::check_page(max.get()))?;
        let (mut purged, mut left) = (0, max.get());
        while left > 0 {
            let step = left.min(limits::MAX_BATCH);
            let mut call = self.handle.prepare(&K::SCRIPTS.purge).with(step);
            if left < max.get() {
                call.push("");
            }
            let removed = match self.handle.run(&call).await {
                Ok(mut reply) => reply.count()?,
                // Some messages are purged already.
                Err(error) if purged > 0 => return Err(error.with_outcome(Outcome::Unknown)),
                Err(error) => return Err(error),
            };
            purged += removed;
            left -= step;
            if removed < step as u64 {
                break;
            }
        }
        Ok(purged)
    }

    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        self.checked(limits::check_batch(ids.len()))?;
        let call = with_ids(self.handle.prepare(&K::SCRIPTS.cancel), ids);
        let mut reply = self.handle.run(&call).await?;
        reply.statuses(ids.len(), |letter| match letter {
            b'c' => Some(Cancelled::Cancelled),
            b't' => Some(Cancelled::TooLate),
            b'n' => Some(Cancelled::NeverWas),
            _ => None,
        })
    }

    async fn peek(&self, place: Place, page: Page) -> Result<Paged<Peeked>> {
        self.checked(page.check())?;
        let (listed, lined) = shown_before(page.after);
        let call = self.handle.prepare(&K::SCRIPTS.peek).with(match place {
            Place::Ready => "r",
            Place::Delayed => "d",
            Place::Leased => "l",
        });
        let call = call.with(listed).with(lined).with(page.limit);
        let read = |mut reply: Reply| {
            let now = Timestamp::from_millis(reply.count()?);
            let listed = u64::try_from(reply.number()?).ok();
            let lined = reply.count()?;
            let mut shown = Vec::with_capacity(reply.len() / 4);
            while reply.len() > 0 {
                let (frame, time, lease) = (reply.bytes()?, reply.count()?, reply.bytes()?);
                let time = Timestamp::from_millis(time);
                // Damaged messages are skipped; a lease buries them.
                let message = Shown::read(frame, K::HEAD, place, now, time, lease);
                let end = reply.bytes()?;
                shown.extend(message.map(|message| message.with_end(end, now)));
            }
            let next = listed.map(|listed| shown_by_now(listed, lined));
            Ok((shown, next.transpose()?))
        };
        let (shown, next) = self.handle.read_with_bodies(call, read).await?;
        let entries = shown.into_iter().filter_map(Shown::peeked).collect();
        Ok(Paged::new(entries, next))
    }

    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Found>> {
        self.checked(limits::check_batch(ids.len()))?;
        let call = self
            .handle
            .prepare_with_results(&K::SCRIPTS.find, iter::empty());
        let mut reply = self.handle.run(&with_ids(call, ids)).await?;
        let now = Timestamp::from_millis(reply.count()?);
        let mut found = Vec::with_capacity(ids.len());
        while reply.len() > 0 {
            let (letter, bytes) = (reply.bytes()?, reply.bytes()?);
            let (time, lease) = (Timestamp::from_millis(reply.count()?), reply.bytes()?);
            let one = frame::found(&letter, bytes, K::HEAD, now, time, lease);
            found.push(one.ok_or_else(|| reply.unexpected())?);
        }
        Ok(found)
    }

    async fn wait_for_end(&self, id: MessageId, timeout: Duration) -> Result<()> {
        let marker = self.handle.keys().end_marker(id);
        let waiter = Waiter::new(self.handle.client(), &self.handle.name, &marker);
        waiter.wait(timeout, None).await.map(drop)
    }
}

/// The call with these ids, one argument each.
pub(super) fn with_ids(mut call: ScriptCall, ids: &[MessageId]) -> ScriptCall {
    for id in ids {
        call.push(&frame::wide(id.get())[..]);
    }
    call
}
