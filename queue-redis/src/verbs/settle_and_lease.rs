//! `settle_and_lease`: settles deliveries, then leases messages. `settle` and `lease` are its halves.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use queue_core::{
    Delivery, Disposition, Error, Holder, Leased, Outcome, Receipt, Result, Settled, Settlement,
    Token, limits,
};
use redis_link::ScriptCall;

use super::batch_leases::{BatchLease, BatchLeases};
use crate::{
    frame::{self, DAMAGED, Frame},
    queue::Handle,
    reply::Reply,
    script::Script,
    waiting::ReleaseUnwanted,
};

/// The number that a reply has in place of the time until the next change, if messages were leased.
struct LeasedAs {
    /// Whether the messages were leased as one batch lease.
    is_batch: bool,
    /// The stored number of attempts, if the stored configuration is not the handle's.
    max_attempts: Option<u32>,
}

impl LeasedAs {
    /// Reads -1 or -2, less twice the number of attempts.
    fn read(number: i64) -> Self {
        let past = number.saturating_neg().saturating_sub(1);
        let max_attempts = u32::try_from(past / 2).ok();
        Self {
            is_batch: past % 2 == 1,
            max_attempts: max_attempts.filter(|attempts| *attempts > 0),
        }
    }
}

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

/// Sends the `settle_and_lease` requests of one queue.
#[derive(Debug)]
pub(crate) struct SettleAndLease {
    handle: Arc<Handle>,
    script: &'static Script,
    head: usize,
    batch_leases: BatchLeases,
    /// The stored number of attempts, by the last reply that brought messages; before it, by the handle's configuration.
    max_attempts: AtomicU32,
    releaser: Arc<dyn ReleaseUnwanted>,
}

impl SettleAndLease {
    /// The requests of one queue; `head` is the number of bytes of a frame before headers and body.
    pub(super) fn new(handle: &Arc<Handle>, script: &'static Script, head: usize) -> Self {
        Self {
            handle: Arc::clone(handle),
            script,
            head,
            batch_leases: BatchLeases::default(),
            max_attempts: AtomicU32::new(handle.max_attempts()),
            releaser: Arc::new(Releaser {
                script,
                head,
                keys: handle.keys().without_results().to_vec(),
                config: handle.config().to_owned(),
            }),
        }
    }

    /// Releases messages that were handed over to callers that are gone.
    pub(super) fn releaser(&self) -> Arc<dyn ReleaseUnwanted> {
        Arc::clone(&self.releaser)
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Sends a request in a call of its own.
    pub(super) async fn send_direct(&self, request: LeaseCall<'_>) -> Result<SettledAndLeased> {
        let answer = self.send(request, false).await?;
        answer.ok_or_else(Error::unanswered)
    }

    /// Sends a request. With `all_or_nothing`, does nothing and returns `None` if fewer messages are ready than it asks
    /// for.
    pub(super) async fn send(
        &self,
        request: LeaseCall<'_>,
        all_or_nothing: bool,
    ) -> Result<Option<SettledAndLeased>> {
        let settlements = request.settlements;
        let lease_time = limits::lease_millis(request.lease_time).unwrap_or(0);
        let split = self.batch_leases.split(settlements);
        let mut call = self.begin(settlements);
        match all_or_nothing {
            true => call.push(format!("-{}", request.max)),
            false => call.push(request.max),
        }
        call.push(lease_time);
        call.push(request.holder.map_or("", Holder::as_str));
        call.push(i32::from(self.batch_leases.may_lease(request.max)));
        for part in &split.parts {
            call.push(part.argument());
        }
        for settlement in split.singles(settlements) {
            call.push(&settlement_argument(settlement)[..]);
        }
        let reply = self.handle.run(&call).await;
        let mut reply = reply.inspect_err(|_| self.batch_leases.note_again(&split))?;
        if reply.is_status("FEW") {
            self.batch_leases.note_again(&split);
            return Ok(None);
        }
        let settled = reply.statuses(settlements.len(), |letter| match letter {
            b'd' => Some(Settled::Done),
            b'x' => Some(Settled::Dead),
            b'l' => Some(Settled::LeaseLost),
            _ => None,
        })?;
        let settled = split.restore(settled);
        let leased = self
            .leased(reply, Duration::from_millis(lease_time))
            .await?;
        Ok(Some((settled, leased)))
    }

    /// Begins the call; it sends the keys of results only if it stores any.
    fn begin(&self, settlements: &[Settlement]) -> ScriptCall {
        let kept = settlements.iter();
        let kept = kept.filter(|each| matches!(each.disposition, Disposition::AckWith(_)));
        let mut kept = kept.map(|settlement| settlement.receipt.id).peekable();
        match kept.peek() {
            None => self.handle.prepare(self.script),
            Some(_) => self.handle.prepare_with_results(self.script, kept),
        }
    }

    /// Reads the part of a reply behind the settlements: the first token, the time until the next change, and the
    /// frames of the messages.
    async fn leased(&self, mut reply: Reply, lease_time: Duration) -> Result<Leased> {
        let first = reply.count()?;
        let changes = reply.number()?;
        let next = u64::try_from(changes).ok().map(Duration::from_millis);
        let mut frames = reply
            .rest_into(|bytes, next, frames| Frame::read_all(bytes, next, self.head, frames))?;
        let leased_as = LeasedAs::read(changes);
        if leased_as.is_batch
            && let Some(lease) =
                BatchLease::new(Token::new(first), frames.iter().map(|frame| frame.id))
        {
            self.batch_leases.note(lease);
        }
        let own = || self.handle.max_attempts();
        let max_attempts = leased_as.max_attempts.unwrap_or_else(own);
        if !frames.is_empty() {
            self.max_attempts.store(max_attempts, Ordering::Relaxed);
        }
        let brought = self.bring_bodies(&mut frames, first).await;
        // The settlements are done, and the leases expire.
        brought.map_err(|error| error.with_outcome(Outcome::Unknown))?;
        let (mut deliveries, mut damaged) = (Vec::with_capacity(frames.len()), Vec::new());
        for (frame, token) in frames.into_iter().zip(first..) {
            let receipt = Receipt::new(frame.id, Token::new(token));
            match frame.delivery(token, lease_time, max_attempts) {
                Some(delivery) => deliveries.push(delivery),
                None => damaged.push(Settlement::bury(receipt, DAMAGED)),
            }
        }
        let mut leased = Leased::of(deliveries);
        leased.next = next;
        if !damaged.is_empty() {
            self.bury(&damaged).await;
            // There may be others behind the damaged messages.
            if leased.deliveries.is_empty() {
                leased.next = Some(Duration::ZERO);
            }
        }
        Ok(leased)
    }

    /// The message that `lua/lib/wake_up.lua` leased for `lease_time`: the token, and the frame. `None` if it
    /// cannot be read; then its lease expires, and the next client that leases it buries it. After a change of the number
    /// of attempts, the delivery uses the old number until this handle has leased a message itself.
    pub(super) fn handed_over(&self, mut handed: Bytes, lease_time: Duration) -> Option<Delivery> {
        let token = frame::token(&mut handed)?;
        let max_attempts = self.max_attempts.load(Ordering::Relaxed);
        Frame::read(handed, self.head)?.delivery(token, lease_time, max_attempts)
    }

    /// Notes that these leases are settled other than by an ack.
    pub(super) fn break_up(&self, receipts: impl Iterator<Item = Receipt>) {
        self.batch_leases.break_up(receipts);
    }

    /// Releases at once messages whose callers are gone. If this fails, their leases expire.
    pub(super) async fn release(&self, deliveries: Vec<Delivery>) {
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
}

/// Releases messages that were handed over to callers that are gone, over a connection of whoever calls it.
#[derive(Debug)]
struct Releaser {
    script: &'static Script,
    head: usize,
    /// With those of dedup marks and of times to live, which end with a message: a release may end one (L17).
    keys: Vec<String>,
    config: String,
}

impl ReleaseUnwanted for Releaser {
    fn release(&self, mut handed: Bytes, now: &str) -> Option<ScriptCall> {
        let token = Token::new(frame::token(&mut handed)?);
        let id = Frame::read(handed, self.head)?.id;
        let release = Settlement::release(Receipt::new(id, token));
        let call = ScriptCall::new(self.script, &self.keys, now).with(&self.config);
        // No lease: of no messages, for no time, for nobody, and of no batch.
        let call = call.with(0).with(0).with("").with(0);
        Some(call.with(&settlement_argument(&release)[..]))
    }
}

/// A settlement as `lua/leasing/settle.lua` reads it. Its delays were checked before.
fn settlement_argument(settlement: &Settlement) -> Vec<u8> {
    let delay = |delay: &Duration| frame::wide(limits::delay_millis(*delay).unwrap_or(0)).to_vec();
    let (what, rest) = match &settlement.disposition {
        Disposition::Ack => (b'a', Vec::new()),
        Disposition::AckWith(kept) => {
            let time = limits::result_millis(kept.time).unwrap_or(0);
            let mut rest = frame::wide(time).to_vec();
            rest.extend_from_slice(&kept.at_most.get().to_be_bytes());
            rest.extend_from_slice(&kept.result);
            (b'k', rest)
        }
        retry @ Disposition::Retry { delay: after, .. } => {
            let mut rest = delay(after);
            rest.extend_from_slice(retry.failure().unwrap_or_default().as_bytes());
            (b'r', rest)
        }
        Disposition::Defer { delay: after } => (b'd', delay(after)),
        Disposition::Release => (b'l', Vec::new()),
        Disposition::Bury { reason } => (b'b', limits::cut_reason(reason).as_bytes().to_vec()),
    };
    let state = settlement.state.as_ref().map_or(0, |state| 5 + state.len());
    let mut argument = Vec::with_capacity(state + 15 + rest.len());
    if let Some(state) = &settlement.state {
        argument.push(b's');
        argument.extend_from_slice(&frame::length(state.len()));
        argument.extend_from_slice(state);
    }
    argument.push(what);
    argument.extend_from_slice(&frame::lease(settlement.receipt));
    argument.extend_from_slice(&rest);
    argument
}
