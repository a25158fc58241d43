//! Leasing, which all queues but rings share.

use std::{fmt::Debug, future::Future, num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::confirmation::confirm;
use super::patience::Patience;
use crate::{
    Cancelled, Confirmed, Confirmer, Counters, DeadLetter, Delivery, Depth, Error, Extended,
    Holder, Leased, MessageId, Outcome, Page, Paged, Peeked, Place, Receipt, Result, Revived,
    Settled, Settlement, limits,
};

/// Leases messages and settles them.
///
/// **Atomicity.** Every call acts at one instant of the backend's time. The entries of a batch act
/// one after another, as if sent singly, with nothing in between (L4).
///
/// **Reclaiming.** Every call that reads or changes messages first takes back expired leases, by
/// (deadline, id), then promotes due messages, by (due, id), then ends the outdated ones, whose time
/// to live is over, by (end, id), at most 128 of each (L7, L11, L17). From its deadline on, a message
/// counts as ready, reclaimed yet or not. A message whose lease expired on its last attempt goes to
/// the dead letters (L6).
///
/// **Crash.** A consumer that dies with a lease delays the message until its deadline and costs it
/// an attempt; no message is lost (L2, L5, L12).
///
/// **Dropped future.** No message is lost (L8). A dropped `lease` or `settle_and_lease` may have leased
/// messages that nobody will settle: they come back at their deadline, with an attempt charged. A
/// dropped write may or may not have taken effect.
///
/// **Errors.** `Invalid` for an argument beyond the limits, before anything is done;
/// `Unavailable` with [`Outcome`](crate::Outcome) saying whether the call may have taken effect.
#[async_trait]
pub trait Leasing: Debug + Send + Sync + 'static {
    /// Leases up to `max` ready messages for `lease_time`, from now (L10), and never waits.
    ///
    /// They come in the kind's delivery order. There may be fewer than `max`: only ready messages,
    /// and no more than 8 MiB of bodies and headers (but always one). A paused queue hands out
    /// none; nor does one with more than 128 outdated messages, until further calls have ended them
    /// (L17).
    ///
    /// # Errors
    ///
    /// `Invalid` if `max` is over 128, or `lease_time` is zero or over 24 h.
    async fn lease(&self, max: NonZeroUsize, lease_time: Duration) -> Result<Leased>;

    /// Ends leases, each in its own way; answers one by one, in the same order.
    ///
    /// A receipt that is not the message's live lease changes nothing and answers
    /// [`Settled::LeaseLost`] (L4); so does the second of two equal receipts in a batch.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch, more than 128 entries, or a delay that is too long: then
    /// none of them was settled.
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>>;

    /// [`settle`](Self::settle), then [`lease`](Self::lease), in one round trip where the backend
    /// can. `settlements` may be empty. The leases carry the holder's name, which a
    /// [`peek`](Self::peek) shows.
    ///
    /// The default body does one after the other; if the lease then fails, so does the call, though
    /// the settlements took effect: the error is [`Unknown`](crate::Outcome::Unknown). It has no
    /// place for the holder's name and drops it: a backend overrides this method to keep the name
    /// with the leases (L16), and to save a round trip.
    ///
    /// # Errors
    ///
    /// Those of both. The call finds an `Invalid` argument to either before it does anything.
    async fn settle_and_lease(
        &self,
        settlements: &[Settlement],
        max: NonZeroUsize,
        lease_time: Duration,
        holder: Option<Holder>,
    ) -> Result<(Vec<Settled>, Leased)> {
        let _ = holder;
        Settlement::check_all(settlements)?;
        limits::check_max(max.get())?;
        limits::lease_millis(lease_time)?;
        if settlements.is_empty() {
            return Ok((Vec::new(), self.lease(max, lease_time).await?));
        }
        let settled = self.settle(settlements).await?;
        match self.lease(max, lease_time).await {
            Ok(leased) => Ok((settled, leased)),
            Err(error) => Err(error.with_outcome(Outcome::Unknown)),
        }
    }

    /// Sets the deadline of live leases to now + `lease_time`, also when that is sooner (L10).
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch, more than 128 entries, or a `lease_time` that is zero or over 24 h.
    async fn extend(&self, receipts: &[Receipt], lease_time: Duration) -> Result<Vec<Extended>>;

    /// Waits for a hint that a message may be ready, no longer than `timeout`. It moves nothing.
    ///
    /// It may return for no reason, and may miss a hint: so the caller looks again, at the latest
    /// after the time that the last [`lease`](Self::lease) answered as [`next`](Leased::next). A
    /// hint that came since this caller last looked ends the wait at once. A dropped wait passes
    /// its hint on. A hint wakes one of several waiting callers.
    ///
    /// # Errors
    ///
    /// If hints cannot come; the kind says why. Looking may work all the same: the caller falls
    /// back on its timer.
    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()>;

    /// [`wait_for_arrival`](Self::wait_for_arrival), where the backend may also hand a message over at once:
    /// whoever puts one in leases it to this caller in the same step, and the answer brings it, without a
    /// second round trip. The caller looks again if the answer brings none; the backend need never bring one.
    ///
    /// A message comes so only as a lease of one message would have brought it at that instant: it is the
    /// first in order, and no queue that is paused hands one over. Its lease is for `lease_time` from then (L10), so
    /// it lasts at least until `lease_time` after this call began: a caller that keeps an eye on deadlines waits for
    /// a part of `lease_time` at a time.
    ///
    /// **Dropped future.** A message that was handed over meanwhile is released at once, uncharged (L8). If
    /// the process dies, or the backend cannot reach its server, it comes back at its deadline, with an
    /// attempt charged, as after a lost reply to a [`lease`](Self::lease).
    ///
    /// The default body waits, and brings none.
    ///
    /// # Errors
    ///
    /// Those of [`wait_for_arrival`](Self::wait_for_arrival). `Invalid` if `lease_time` is zero or over 24 h.
    async fn wait_to_lease(
        &self,
        lease_time: Duration,
        holder: Option<Holder>,
        timeout: Duration,
    ) -> Result<Leased> {
        let _ = holder;
        limits::lease_millis(lease_time)?;
        self.wait_for_arrival(timeout).await?;
        Ok(Leased::nothing(None))
    }

    /// How many messages are ready, delayed, leased and dead.
    async fn depth(&self) -> Result<Depth>;

    /// The queue's counts since it was created, with its depth at the same instant.
    async fn counters(&self) -> Result<Counters>;

    /// The dead letters, oldest first, a page at a time (L13). The cursor stays valid while dead
    /// letters come and go.
    ///
    /// # Errors
    ///
    /// `Invalid` for a page of zero or over 1,000 entries.
    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>>;

    /// Puts dead letters back: with the same id and priority, attempts anew, at the tail of the
    /// ready (on a delay queue: due now). A full bounded queue refuses (L13). A distinct key does
    /// not come back.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch or more than 128 ids.
    async fn revive(&self, ids: &[MessageId]) -> Result<Vec<Revived>>;

    /// Removes dead letters for good; answers how many there were.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch or more than 128 ids.
    async fn discard(&self, ids: &[MessageId]) -> Result<u64>;

    /// Stops handing out messages: until [`resume`](Self::resume), every lease answers nothing.
    /// Pushing, settling and extending go on, and leases still expire. Stored with the queue, for
    /// all its clients.
    async fn pause(&self) -> Result<()>;

    /// Hands out messages again, and wakes waiting consumers.
    async fn resume(&self) -> Result<()>;

    /// Removes up to `max` messages that are ready, in delivery order, then delayed, by (due, id);
    /// answers how many. It goes by steps of at most 128, each atomic. Leased messages stay, and so do dead letters and dedup marks, but for a
    /// mark that ends with its message (L9).
    ///
    /// # Errors
    ///
    /// `Invalid` if `max` is over 1,000.
    async fn purge(&self, max: NonZeroUsize) -> Result<u64>;

    /// Takes undelivered messages out for good, ready or delayed; answers one by one. For a leased,
    /// dead or gone message it is too late (L15).
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch or more than 128 ids.
    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>>;

    /// Shows the messages of one place, a page at a time, and changes nothing of them (L16). A page
    /// has no more than 8 MiB of bodies and headers (but always one message).
    ///
    /// A page goes on where the one before it ended; if messages come, go or move meanwhile, one may
    /// be shown twice, and one not at all.
    ///
    /// To stop a job that runs, an operator settles it with the receipt shown here: a
    /// [`bury`](Settlement::bury) puts it among the dead letters, an [`ack`](Settlement::ack) ends it
    /// for good. Its holder learns of it with its next call, since its lease is lost (L4): a worker
    /// tells the handler at the next heartbeat. What the handler has done by then stays done.
    ///
    /// # Errors
    ///
    /// `Invalid` for a page of zero or over 1,000 entries.
    async fn peek(&self, place: Place, page: Page) -> Result<Paged<Peeked>>;

    /// What confirms this handle's calls, if anything does (R2): callers use
    /// [`confirmed`](LeasingExt::confirmed). By default nothing does.
    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        None
    }
}

/// Conveniences for callers of any leasing queue.
///
/// **Waiting.** A call with a timeout looks, waits for a hint, and looks again, until it has found
/// something or the time is over; a timeout of zero is one look. Transient errors do not end it
/// sooner: it tries again, after the pause that the error [asks for](Error::retry_after) and longer
/// each time, up to a second. When the time is over and its last look failed, it answers that
/// look's error, since nobody knows then whether there is anything. A permanent error ends it at
/// once. If hints fail, the call does not: it looks more often instead. At the end of the time it
/// cuts a look under way, but not before that look has had a second; it never cuts the look of a
/// zero timeout, which only the backend's own timeouts bound. A call that waits takes timers:
/// outside of a tokio runtime it answers `Configuration`, at once.
///
/// The methods on one receipt turn `LeaseLost` into an error of that kind, so that `?` stops the
/// work on a message whose lease is lost.
pub trait LeasingExt: Leasing {
    /// Leases up to `max` messages, waiting for one up to `timeout`; empty if none came.
    ///
    /// Dropping it loses nothing: a message that was handed over while it waited goes back at once (L8). A
    /// `lease` under way when it is dropped, or cut at the end of the time, may cost that lease's time.
    ///
    /// # Errors
    ///
    /// Those of [`lease`](Leasing::lease): a permanent one at once, a transient one when the time
    /// is over. `Invalid` if `max` is zero.
    fn receive(
        &self,
        max: usize,
        lease_time: Duration,
        timeout: Duration,
    ) -> impl Future<Output = Result<Vec<Delivery>>> + Send {
        async move {
            let max = nonzero("max", max)?;
            let mut patience = Patience::new(timeout);
            loop {
                let Some(leased) = patience.look(true, self.lease(max, lease_time)).await? else {
                    continue;
                };
                if !leased.is_empty() || patience.is_over() {
                    return Ok(leased.deliveries);
                }
                let waited = patience
                    .wait(leased.next, |longest| {
                        self.wait_to_lease(lease_time, None, longest)
                    })
                    .await;
                if let Some(leased) = waited.filter(|leased| !leased.is_empty()) {
                    return Ok(leased.deliveries);
                }
            }
        }
    }

    /// Leases one message, waiting for it up to `timeout`; `None` if none came.
    ///
    /// # Errors
    ///
    /// Those of [`receive`](Self::receive).
    fn receive_one(
        &self,
        lease_time: Duration,
        timeout: Duration,
    ) -> impl Future<Output = Result<Option<Delivery>>> + Send {
        async move { Ok(self.receive(1, lease_time, timeout).await?.pop()) }
    }

    /// Makes calls of this handle, and waits until what they changed has as many copies as the handle's
    /// [`Confirmation`](crate::Confirmation) asks for (R2). Too few in time is no error: the answer
    /// says so, beside what the calls answered.
    ///
    /// ```
    /// use queue_core::{LeasingExt, ReliableQueue, ReliableQueueExt, Result};
    ///
    /// # async fn example(charges: &dyn ReliableQueue) -> Result<()> {
    /// let pushed = charges.confirmed(|charges| charges.push_one("order 42")).await?;
    /// if !pushed.is_confirmed() {
    ///     eprintln!("message {}: {}", pushed.answer.id(), pushed.copies);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The calls take effect as they would without: others may receive the message before it is
    /// confirmed, and the answer says nothing of calls of another handle. One wait covers all calls that
    /// were answered before it. Dropping it drops the calls or the wait, and nothing else.
    ///
    /// # Errors
    ///
    /// Those of the calls. `Configuration` if the handle confirms nothing, before anything is done.
    fn confirmed<'a, A, F>(
        &'a self,
        calls: impl FnOnce(&'a Self) -> F,
    ) -> impl Future<Output = Result<Confirmed<A>>> + Send
    where
        A: Send,
        F: Future<Output = Result<A>> + Send + 'a,
    {
        confirm(self.confirmer(), calls(self))
    }

    /// Settles one lease.
    ///
    /// # Errors
    ///
    /// `LeaseLost` if the receipt is not the message's live lease (L4).
    fn settle_one(&self, settlement: Settlement) -> impl Future<Output = Result<Settled>> + Send {
        async move {
            let receipt = settlement.receipt;
            match only(self.settle(&[settlement]).await?)? {
                Settled::LeaseLost => Err(Error::lease_lost(receipt)),
                settled => Ok(settled),
            }
        }
    }

    /// Done: the message is gone (L3).
    ///
    /// # Errors
    ///
    /// `LeaseLost` if the receipt is not the message's live lease. After an error of unknown
    /// outcome this may mean that the first ack took effect.
    fn ack(&self, receipt: Receipt) -> impl Future<Output = Result<()>> + Send {
        async move { self.settle_one(Settlement::ack(receipt)).await.map(drop) }
    }

    /// Takes one undelivered message out for good (L15).
    ///
    /// # Errors
    ///
    /// Those of [`cancel`](Leasing::cancel).
    fn cancel_one(&self, id: MessageId) -> impl Future<Output = Result<Cancelled>> + Send {
        async move { only(self.cancel(&[id]).await?) }
    }

    /// Sets one lease's deadline to now + `lease_time` (L10).
    ///
    /// # Errors
    ///
    /// `LeaseLost` if the receipt is not the message's live lease.
    fn extend_one(
        &self,
        receipt: Receipt,
        lease_time: Duration,
    ) -> impl Future<Output = Result<()>> + Send {
        async move {
            match only(self.extend(&[receipt], lease_time).await?)? {
                Extended::Extended => Ok(()),
                Extended::LeaseLost => Err(Error::lease_lost(receipt)),
            }
        }
    }

    /// Removes all ready and delayed messages, in chunks, each atomic; answers how many there were.
    ///
    /// It goes on while others push, so stop them first if it is to end with an empty queue.
    /// Dropping it leaves the rest in the queue.
    ///
    /// # Errors
    ///
    /// Those of [`purge`](Leasing::purge); earlier chunks stay removed. After the first chunk, an error's
    /// outcome is unknown.
    fn purge_all(&self) -> impl Future<Output = Result<u64>> + Send {
        async move {
            let chunk = nonzero("chunk", limits::MAX_PAGE)?;
            let mut removed = 0;
            loop {
                let purged = self.purge(chunk).await;
                match purged.map_err(|error| half_way(error, removed > 0))? {
                    0 => return Ok(removed),
                    more => removed += more,
                }
            }
        }
    }
}

impl<Q: Leasing + ?Sized> LeasingExt for Q {}

/// Turns a caller's count into the type that backends take.
pub(crate) fn nonzero(what: &str, count: usize) -> Result<NonZeroUsize> {
    NonZeroUsize::new(count).ok_or_else(|| Error::invalid(format!("{what} is 0: at least 1")))
}

/// The answer to a batch of one entry.
pub(crate) fn only<A>(mut answers: Vec<A>) -> Result<A> {
    answers.pop().ok_or_else(Error::unanswered)
}

/// The error of a split, whose outcome is unknown if others took effect before it.
pub(crate) fn half_way(error: Error, others_done: bool) -> Error {
    match others_done {
        true => error.with_outcome(Outcome::Unknown),
        false => error,
    }
}

/// Splits a batch at the limits of one call: 128 entries and 8 MiB.
pub(crate) fn chunks<T>(entries: &[T], size: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let count = limits::fitting(rest.iter().map(&size), limits::MAX_BATCH);
        let (chunk, later) = rest.split_at(count);
        rest = later;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_keep_order_and_stay_within_one_calls_limits() {
        let sizes: Vec<usize> = (0..300)
            .map(|n| {
                if n % 50 == 0 {
                    limits::MAX_BATCH_BYTES
                } else {
                    1
                }
            })
            .collect();
        let split: Vec<&[usize]> = chunks(&sizes, |size| *size).collect();
        assert_eq!(split.concat(), sizes);
        for chunk in &split {
            assert!(chunk.len() <= limits::MAX_BATCH);
            assert!(chunk.iter().sum::<usize>() <= limits::MAX_BATCH_BYTES);
        }
        assert_eq!(chunks(&[], |size: &usize| *size).count(), 0);
        assert_eq!(chunks(&[1; 129], |size| *size).count(), 2);
    }
}
