//! `settle_and_lease` of several callers in one call.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::{self, BoxFuture, FutureExt};
use queue_core::{
    Delivery, Disposition, Error, Holder, Leased, Outcome, Receipt, Result, Running, Settled,
    Settlement, Token, limits,
};
use redis_link::batching::{Batcher, SMALL, SendBatch};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    time::Instant,
};

use super::{
    Handle,
    batch_leases::{BatchLease, BatchLeases},
};
use crate::{
    frame::{self, DAMAGED, Frame},
    script::Script,
};

/// A reply has this instead of the time until the next change if the messages were leased as one batch lease.
const AS_A_RUN: i64 = -2;

/// The reply to one caller.
pub(crate) type SettledAndLeased = (Vec<Settled>, Leased);

/// A caller's request: to settle these, and then to lease up to `max` messages, or none if `max` is zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeaseCall<'a> {
    pub(super) settlements: &'a [Settlement],
    pub(super) max: usize,
    pub(super) lease_time: Duration,
    pub(super) holder: Option<&'a Holder>,
}

impl<'a> LeaseCall<'a> {
    /// A call that leases nothing.
    pub(super) const fn settling(settlements: &'a [Settlement]) -> Self {
        Self {
            settlements,
            max: 0,
            lease_time: Duration::ZERO,
            holder: None,
        }
    }
}

/// A request that may be batched with others: it only acks, and then leases.
#[derive(Debug, Clone)]
pub(crate) struct BatchedCall {
    acks: Vec<Settlement>,
    max: usize,
    lease_time: Duration,
    holder: Option<Holder>,
}

impl BatchedCall {
    /// This request, if it may be batched and gains from it.
    pub(super) fn of(turn: LeaseCall<'_>) -> Option<Self> {
        let acks = |each: &Settlement| each.disposition == Disposition::Ack;
        let is_small = turn.settlements.len() <= SMALL && turn.max <= SMALL;
        (is_small && turn.settlements.iter().all(acks)).then(|| Self {
            acks: turn.settlements.to_vec(),
            max: turn.max,
            lease_time: turn.lease_time,
            holder: turn.holder.cloned(),
        })
    }

    fn as_call(&self) -> LeaseCall<'_> {
        LeaseCall {
            settlements: &self.acks,
            max: self.max,
            lease_time: self.lease_time,
            holder: self.holder.as_ref(),
        }
    }

    /// Whether both requests fit one call: same lease time, same holder.
    fn agrees_with(&self, other: &Self) -> bool {
        self.max == 0
            || other.max == 0
            || self.lease_time == other.lease_time && self.holder == other.holder
    }
}

/// Sends the `settle_and_lease` requests of one queue, each in its own call or several in one.
///
/// Only acks and leases are combined, and only if every lease gets as many messages as it asks for. So the replies are
/// the same as if the callers had called one after another. Acks do not change which messages are ready, and no reply
/// contains the time until the next change.
pub(crate) struct LeaseSender {
    handle: Arc<Handle>,
    script: &'static Script,
    head: usize,
    runs: BatchLeases,
}

impl LeaseSender {
    /// The batcher of one queue; `head` is the number of bytes of a frame before headers and body.
    pub(super) fn new(handle: &Arc<Handle>, script: &'static Script, head: usize) -> Batcher<Self> {
        let here = Self {
            handle: Arc::clone(handle),
            script,
            head,
            runs: BatchLeases::default(),
        };
        let patience = handle.client().response_timeout();
        Batcher::new(here, patience, Arc::clone(handle.backend().spawn()))
    }

    /// Sends a request in a call of its own.
    pub(super) async fn send_direct(&self, turn: LeaseCall<'_>) -> Result<SettledAndLeased> {
        let answer = self.call(turn, false).await?;
        answer.ok_or_else(Error::unanswered)
    }

    /// With `all_or_nothing`, does nothing and returns `None` if fewer messages are ready than it asks for.
    async fn call(
        &self,
        turn: LeaseCall<'_>,
        all_or_nothing: bool,
    ) -> Result<Option<SettledAndLeased>> {
        let LeaseCall {
            settlements,
            max,
            lease_time,
            holder,
        } = turn;
        let millis = limits::lease_millis(lease_time).unwrap_or(0);
        let order = self.runs.order(settlements);
        let mut call = self.handle.prepare(self.script);
        match all_or_nothing {
            true => call.push(format!("-{max}")),
            false => call.push(max),
        }
        call.push(millis);
        call.push(holder.map_or("", Holder::as_str));
        call.push(i32::from(self.runs.may_lease(max)));
        for part in &order.parts {
            call.push(part.argument());
        }
        for settlement in order.singles(settlements) {
            call.push(&settlement_argument(settlement)[..]);
        }
        let reply = self.handle.run(&call).await;
        let mut reply = reply.inspect_err(|_| self.runs.note_again(&order))?;
        if reply.is_status("FEW") {
            self.runs.note_again(&order);
            return Ok(None);
        }
        let settled = reply.statuses(settlements.len(), |letter| match letter {
            b'd' => Some(Settled::Done),
            b'x' => Some(Settled::Dead),
            b'l' => Some(Settled::LeaseLost),
            _ => None,
        })?;
        let settled = order.restore(settled);
        let first = reply.count()?;
        let changes = reply.number()?;
        let next = u64::try_from(changes).ok().map(Duration::from_millis);
        let mut frames = reply
            .rest_into(|bytes, next, frames| Frame::read_all(bytes, next, self.head, frames))?;
        if changes == AS_A_RUN
            && let Some(run) =
                BatchLease::new(Token::new(first), frames.iter().map(|frame| frame.id))
        {
            self.runs.note(run);
        }
        let brought = self.bring_bodies(&mut frames, first).await;
        // The settlements are done, and the leases expire.
        brought.map_err(|error| error.with_outcome(Outcome::Unknown))?;
        let lease = Duration::from_millis(millis);
        let (mut deliveries, mut damaged) = (Vec::with_capacity(frames.len()), Vec::new());
        for (frame, token) in frames.into_iter().zip(first..) {
            let receipt = Receipt::new(frame.id, Token::new(token));
            match frame.delivery(token, lease) {
                Some(delivery) => deliveries.push(delivery),
                None => damaged.push(Settlement::bury(receipt, DAMAGED)),
            }
        }
        let mut leased = Leased { deliveries, next };
        if !damaged.is_empty() {
            self.bury(&damaged).await;
            // There may be others behind the damaged messages.
            if leased.deliveries.is_empty() {
                leased.next = Some(Duration::ZERO);
            }
        }
        Ok(Some((settled, leased)))
    }

    /// The message that `lua/shared/hand_over.lua` leased for `lease_time`: the token, and the frame. `None` if it
    /// cannot be read; then its lease expires, and the next client that leases it buries it.
    pub(super) fn handed_over(&self, mut handed: Bytes, lease_time: Duration) -> Option<Delivery> {
        let token = frame::token(&mut handed)?;
        Frame::read(handed, self.head)?.delivery(token, lease_time)
    }

    /// Notes that these leases are settled other than by an ack.
    pub(super) fn split(&self, receipts: impl Iterator<Item = Receipt>) {
        self.runs.part(receipts);
    }

    /// Releases at once messages whose callers are gone. If this fails, their leases expire.
    async fn release(&self, deliveries: Vec<Delivery>) {
        let releases = deliveries.iter();
        let releases: Vec<_> = releases
            .map(|delivery| Settlement::release(delivery.receipt))
            .collect();
        for settlements in releases.chunks(limits::MAX_BATCH) {
            drop(self.send_direct(LeaseCall::settling(settlements)).await);
        }
    }

    /// Buries unreadable messages, so that they block nothing. If this fails, their leases expire, and the next client
    /// that leases them buries them.
    fn bury<'a>(&'a self, damaged: &'a [Settlement]) -> BoxFuture<'a, ()> {
        let buried = self.send_direct(LeaseCall::settling(damaged));
        buried.map(drop).boxed()
    }

    /// Fetches the large bodies of the leased messages, whose tokens begin at `first`.
    async fn bring_bodies(&self, frames: &mut [Frame], first: u64) -> Result<()> {
        if self
            .handle
            .bring_bodies(frames.iter_mut().map(AsMut::as_mut))
            .await?
        {
            return Ok(());
        }
        let leased = frames.iter().zip(first..);
        let missing = leased.filter(|(frame, _)| frame.content.is_apart());
        let receipts = missing.map(|(frame, token)| Receipt::new(frame.id, Token::new(token)));
        self.handle.check_leased(receipts).await
    }

    async fn send_combined(&self, call: &CombinedCall<'_>) -> Vec<Result<SettledAndLeased>> {
        let CombinedCall {
            shares,
            acks,
            max,
            leasing,
        } = call;
        if let [share] = shares[..] {
            return vec![self.send_direct(share.as_call()).await];
        }
        let turn = LeaseCall {
            settlements: acks,
            max: *max,
            lease_time: leasing.map_or(Duration::ZERO, |share| share.lease_time),
            holder: leasing.and_then(|share| share.holder.as_ref()),
        };
        match self.call(turn, *max > 0).await {
            Ok(Some((settled, leased))) => deal(shares, settled, leased),
            Ok(None) => {
                future::join_all(shares.iter().map(|share| self.send_direct(share.as_call()))).await
            }
            Err(error) => shares.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

/// Requests that are sent in one call.
#[derive(Debug, Default)]
struct CombinedCall<'a> {
    shares: Vec<&'a BatchedCall>,
    acks: Vec<Settlement>,
    max: usize,
    /// The first request that leases; the other leasing requests agree with it.
    leasing: Option<&'a BatchedCall>,
}

impl<'a> CombinedCall<'a> {
    fn of(share: &'a BatchedCall) -> Self {
        let mut call = Self::default();
        call.add(share);
        call
    }

    fn fits(&self, share: &BatchedCall) -> bool {
        self.leasing
            .is_none_or(|leasing| leasing.agrees_with(share))
            && self.acks.len() + share.acks.len() <= limits::MAX_BATCH
            && self.max + share.max <= limits::MAX_BATCH
    }

    fn add(&mut self, share: &'a BatchedCall) {
        self.shares.push(share);
        self.acks.extend_from_slice(&share.acks);
        self.max += share.max;
        if share.max > 0 {
            self.leasing.get_or_insert(share);
        }
    }
}

/// Gives each request the number of messages that it asked for, in the order of arrival.
fn deal(
    shares: &[&BatchedCall],
    settled: Vec<Settled>,
    leased: Leased,
) -> Vec<Result<SettledAndLeased>> {
    let mut settled = settled.into_iter();
    let mut deliveries = leased.deliveries.into_iter();
    let deal = |share: &&BatchedCall| {
        let settled = settled.by_ref().take(share.acks.len()).collect();
        let leased = Leased {
            deliveries: deliveries.by_ref().take(share.max).collect(),
            next: None,
        };
        Ok((settled, leased))
    };
    shares.iter().map(deal).collect()
}

/// Releases messages that were handed over to callers that are gone.
#[derive(Debug, Default)]
pub(super) struct Releaser(OnceLock<(UnboundedSender<Bytes>, Running)>);

impl Releaser {
    /// The channel for such messages. The first call starts the task that releases them.
    pub(super) fn unwanted(&self, leases: &Arc<Batcher<LeaseSender>>) -> UnboundedSender<Bytes> {
        let (unwanted, _running) = self.0.get_or_init(|| {
            let (unwanted, returned) = mpsc::unbounded_channel();
            let task = release_all(Arc::downgrade(leases), returned);
            let spawn = leases.sender().handle.backend().spawn();
            (unwanted, spawn.spawn(Box::pin(task)))
        });
        unwanted.clone()
    }
}

async fn release_all(leases: Weak<Batcher<LeaseSender>>, mut returned: UnboundedReceiver<Bytes>) {
    let mut some = Vec::new();
    while returned.recv_many(&mut some, limits::MAX_BATCH).await > 0 {
        let Some(leases) = leases.upgrade() else {
            return;
        };
        let sender = leases.sender();
        let handed = some.drain(..);
        let deliveries = handed.filter_map(|handed| sender.handed_over(handed, Duration::ZERO));
        sender.release(deliveries.collect()).await;
    }
}

#[async_trait]
impl SendBatch for LeaseSender {
    type Request = BatchedCall;
    /// One request may fail while others succeed.
    type Reply = Result<SettledAndLeased>;

    async fn send_batch(&self, shares: &[BatchedCall]) -> Result<Vec<Result<SettledAndLeased>>> {
        let mut calls: Vec<CombinedCall<'_>> = Vec::new();
        for share in shares {
            match calls.last_mut().filter(|call| call.fits(share)) {
                Some(call) => call.add(share),
                None => calls.push(CombinedCall::of(share)),
            }
        }
        let answers = future::join_all(calls.iter().map(|call| self.send_combined(call))).await;
        Ok(answers.into_iter().flatten().collect())
    }

    fn size(share: &BatchedCall) -> usize {
        size_of_val(&share.acks[..])
    }

    async fn give_back(&self, answers: Vec<Result<SettledAndLeased>>) {
        let leased = answers.into_iter().flatten();
        let deliveries = leased.flat_map(|(_, leased)| leased.deliveries);
        self.release(deliveries.collect()).await;
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

/// A settlement as `lua/shared/settle.lua` reads it. Its delays were checked before.
fn settlement_argument(settlement: &Settlement) -> Vec<u8> {
    let delay = |delay: &Duration| frame::wide(limits::delay_millis(*delay).unwrap_or(0)).to_vec();
    let (what, rest) = match &settlement.disposition {
        Disposition::Ack => (b'a', Vec::new()),
        retry @ Disposition::Retry { delay: after, .. } => {
            let mut rest = delay(after);
            rest.extend_from_slice(retry.failure().unwrap_or_default().as_bytes());
            (b'r', rest)
        }
        Disposition::Defer { delay: after } => (b'd', delay(after)),
        Disposition::Release => (b'l', Vec::new()),
        Disposition::Bury { reason } => (b'b', limits::cut_reason(reason).as_bytes().to_vec()),
    };
    let mut argument = Vec::with_capacity(15 + rest.len());
    argument.push(what);
    argument.extend_from_slice(&frame::lease(settlement.receipt));
    argument.extend_from_slice(&rest);
    argument
}
