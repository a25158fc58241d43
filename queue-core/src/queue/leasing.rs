//! Leasing, which all queues but rings share.

use std::{fmt::Debug, future::Future, num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{confirmation::confirm, patience::Patience};
use crate::{
    Cancelled, Confirmed, Confirmer, Counters, DeadLetter, Delivery, Depth, Due, Error, Extended,
    Extension, Found, Holder, Leased, MessageId, Outcome, Page, Paged, Peeked, Place, Push, Pushed,
    Receipt, Rescheduled, Result, Revival, Revived, Settled, Settlement, TokioSpawn, limits,
};

/// How long the end of a message without a result may go unnoticed, because no hint of it comes.
const LONGEST_UNSEEN_END: Duration = Duration::from_secs(1);

/// Leases messages and settles them.
///
/// **Atomicity.** Every call acts at one instant of the backend's time. The entries of a batch act one after
/// another, as if sent singly, with no other call in between (L4).
///
/// **Reclaiming.** Every call that reads or changes messages first reclaims expired leases, by (deadline,
/// id). Then it promotes due messages, by (due, id). Then it ends outdated messages, whose time to live is
/// over, by (end, id). It takes at most 128 of each (L7, L11, L17). From its deadline on, a message counts as
/// ready, reclaimed yet or not. A message whose lease expired on its last attempt goes to the dead letters
/// (L6).
///
/// **Crash.** A consumer that dies with a lease delays the message until its deadline and costs it
/// an attempt; no message is lost (L2, L5, L12).
///
/// **Dropped future.** No message is lost (L8). A dropped `lease` or `settle_and_lease` may have leased
/// messages that nobody will settle: they come back at their deadline, with an attempt charged. A
/// dropped write may or may not have taken effect.
///
/// **Errors.** `Invalid` for an argument beyond the limits, before anything is done; `Unavailable`, whose
/// [`Outcome`](crate::Outcome) says whether the call may have taken effect.
#[async_trait]
pub trait Leasing: Debug + Send + Sync + 'static {
    /// Puts messages in, in the batch's order; returns one result for each.
    ///
    /// The batch is one atomic step: all or nothing, but for the entries that have a result of their own. The first of
    /// these rules that applies to an entry decides. A duplicate of a dedup key changes nothing (L9). An entry whose
    /// distinct key an undelivered message holds replaces that message, also in a full queue (B7). With room, the
    /// queue accepts the entry. Without room, which only a bounded queue lacks, the entry's
    /// [`overflow`](Push::overflow) decides.
    ///
    /// A message that is due joins the tail: of the queue, of its priority, or of its group. A delayed one joins when
    /// it is due. The queue wakes a waiting consumer (D5). Equal bodies are different messages (D3).
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch, more than 128 entries or 8 MiB, a body over the limit, a bad key or time, and an
    /// option that the kind does not have. The queue then did nothing. The outcome of a dropped or unanswered push is
    /// unknown: repeat it with a dedup key (L8).
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>>;

    /// Gives undelivered delayed messages another due time, sooner or later; returns one result for each (D4). A delayed
    /// message was pushed with a due time, or waits after a retry or a defer. On a delay queue a message that is due
    /// but not leased is moved, too.
    ///
    /// A message that is due now is ready for the next lease, behind the messages that are ready then, and the queue
    /// wakes a waiting consumer. It keeps its attempts, its reason, its priority and its group.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch, more than 128 ids, or a due time that is too far away.
    async fn reschedule(&self, ids: &[MessageId], due: Due) -> Result<Vec<Rescheduled>>;

    /// Leases up to `max` ready messages for `lease_time`, counted from now (L10), and never waits.
    ///
    /// The messages come in the kind's delivery order. There may be fewer than `max`: only ready messages,
    /// and no more than 8 MiB of bodies, headers and states (but always one message). A paused queue hands out none.
    /// A queue with more than 128 outdated messages hands out none either, until further calls have ended
    /// them (L17).
    ///
    /// # Errors
    ///
    /// `Invalid` if `max` is over 128, or `lease_time` is zero or over 24 h.
    async fn lease(&self, max: NonZeroUsize, lease_time: Duration) -> Result<Leased>;

    /// Ends each lease as its settlement says; returns one result for each, in the same order.
    ///
    /// A receipt that is not the message's live lease changes nothing and gets [`Settled::LeaseLost`] (L4);
    /// so does the second of two equal receipts in a batch. A settlement may store a state with its message, in the
    /// same step (L21).
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch, more than 128 entries, a delay that is too long, a state of more than 64 KiB, or an
    /// ack with a state. No lease was settled then.
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>>;

    /// [`settle`](Self::settle), then [`lease`](Self::lease), in one round trip where the backend
    /// can. `settlements` may be empty. The leases carry the holder's name, which a
    /// [`peek`](Self::peek) shows.
    ///
    /// The default body settles, then leases. If the lease fails, the call fails though the settlements took
    /// effect: the error's outcome is [`Unknown`](crate::Outcome::Unknown). The default body drops the
    /// holder's name. A backend overrides this method to keep the name with the leases (L16), and to save a
    /// round trip.
    ///
    /// # Errors
    ///
    /// The errors of both. The arguments of both are checked before anything is done.
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

    /// Sets the deadline of live leases to now + `lease_time`, also when that is sooner (L10), and stores the
    /// progress (L19) and the state (L21) that came with an extension.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch, more than 128 entries, a `lease_time` that is zero or over 24 h, a progress that
    /// is empty or over 1,024 bytes, or a state of more than 64 KiB.
    async fn extend(&self, extensions: &[Extension], lease_time: Duration)
    -> Result<Vec<Extended>>;

    /// Waits for a hint that a message may be ready, no longer than `timeout`. It moves nothing.
    ///
    /// The wait may end without a hint, and may miss a hint. So the caller polls again, at the latest after
    /// the time that the last [`lease`](Self::lease) returned as [`next`](Leased::next). A hint that came
    /// since this caller's last poll ends the wait at once. A dropped wait passes its hint on. A hint wakes
    /// one of several waiting callers.
    ///
    /// # Errors
    ///
    /// An error if hints cannot come; its kind says why. A lease may work all the same: the caller falls back
    /// on its timer.
    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()>;

    /// [`wait_for_arrival`](Self::wait_for_arrival), where the backend may also hand a message over: the call
    /// that makes a message ready leases it to this caller in the same step. The wait then returns the
    /// message, without a second round trip. The caller polls again if the wait returns none; a backend need
    /// never hand one over.
    ///
    /// A message is handed over only if a lease of one message would have returned it at that instant: it is
    /// the first in order, and a paused queue hands none over. Its lease runs for `lease_time` from then
    /// (L10), so it ends no sooner than `lease_time` after this call began. A caller that watches deadlines
    /// waits for a part of `lease_time` at a time.
    ///
    /// **Dropped future.** A message that was handed over meanwhile is released at once, uncharged (L8). If
    /// the process dies, or the backend cannot reach its server, the message comes back at its deadline, with
    /// an attempt charged, as after a lost reply to a [`lease`](Self::lease).
    ///
    /// The default body waits, and returns no message.
    ///
    /// # Errors
    ///
    /// The errors of [`wait_for_arrival`](Self::wait_for_arrival). `Invalid` if `lease_time` is zero or over
    /// 24 h.
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

    /// Puts dead letters back at the tail of the ready messages (on a delay queue: due now), with the same id
    /// and priority and no attempt spent. A full bounded queue refuses (L13). A distinct key does not come
    /// back. The messages keep their states, or start [fresh](Revival::Fresh) (L21).
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch or more than 128 ids.
    async fn revive(&self, ids: &[MessageId], revival: Revival) -> Result<Vec<Revived>>;

    /// Removes dead letters for good; returns how many it removed.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch or more than 128 ids.
    async fn discard(&self, ids: &[MessageId]) -> Result<u64>;

    /// Stops handing out messages: until [`resume`](Self::resume), every lease is empty. Pushing, settling
    /// and extending go on, and leases still expire. The pause is stored with the queue, for all its clients.
    async fn pause(&self) -> Result<()>;

    /// Hands out messages again, and wakes waiting consumers.
    async fn resume(&self) -> Result<()>;

    /// Removes up to `max` messages: ready ones in delivery order, then delayed ones by (due, id). Returns
    /// how many it removed. It takes steps of at most 128 messages, each atomic. Leased messages, dead
    /// letters and dedup marks stay, except a mark that ends with its message (L9).
    ///
    /// # Errors
    ///
    /// `Invalid` if `max` is over 1,000.
    async fn purge(&self, max: NonZeroUsize) -> Result<u64>;

    /// Removes undelivered messages for good, ready or delayed; returns one result for each. For a leased,
    /// dead or gone message it is too late (L15).
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch or more than 128 ids.
    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>>;

    /// Shows the messages of one place, a page at a time, and changes none of them (L16). A page has no more
    /// than 8 MiB of bodies and headers (but always one message).
    ///
    /// A page begins where the page before it ended. If messages come, go or move meanwhile, a message may be
    /// shown twice or not at all.
    ///
    /// To stop a job that runs, an operator settles it with the receipt shown here: a
    /// [`bury`](Settlement::bury) puts it among the dead letters, an [`ack`](Settlement::ack) ends it for
    /// good. The holder's next call gets `LeaseLost` (L4): a worker notifies the handler at the next
    /// heartbeat. Effects that the handler had by then remain.
    ///
    /// # Errors
    ///
    /// `Invalid` for a page of zero or over 1,000 entries.
    async fn peek(&self, place: Place, page: Page) -> Result<Paged<Peeked>>;

    /// Finds out what became of messages; returns one answer for each id, and changes nothing (L18). The cost
    /// grows with the number of leases.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch or more than 128 ids.
    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Found>>;

    /// Waits for a hint that a message may be dead, done or gone, no longer than `timeout`. Ends at once if it
    /// is so already.
    ///
    /// An ack with a result ends the wait, unless the hint is lost. Another end may go unnoticed. So the
    /// caller polls again from time to time: [`wait_until_over`](LeasingExt::wait_until_over) does.
    ///
    /// The default body sleeps for a quarter of a second, or for `timeout` if that is shorter.
    ///
    /// # Errors
    ///
    /// An error if hints cannot come; its kind says why.
    async fn wait_for_end(&self, id: MessageId, timeout: Duration) -> Result<()> {
        let _ = id;
        TokioSpawn::current()?;
        tokio::time::sleep(timeout.min(Duration::from_millis(250))).await;
        Ok(())
    }

    /// The confirmer of this handle's calls, if it has one (R2): callers use
    /// [`confirmed`](LeasingExt::confirmed). `None` by default.
    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        None
    }
}

/// Conveniences for callers of any leasing queue.
///
/// **Waiting.** A call with a timeout polls, waits for a hint, and polls again, until it has found something
/// or the timeout is over. A timeout of zero is one poll.
///
/// Transient errors do not end the call sooner: it tries again, after the pause that the error [asks
/// for](Error::retry_after) and longer each time, up to a second. If the last poll before the timeout failed,
/// the call returns that poll's error, because it does not know whether there is anything. A permanent error
/// ends the call at once. If hints fail, the call does not fail: it polls more often instead.
///
/// At the timeout the call cuts a poll under way, but not before that poll has had a second. It never cuts
/// the poll of a zero timeout, which only the backend's own timeouts bound. A call that waits needs timers:
/// outside of a tokio runtime it returns `Configuration` at once.
///
/// The methods on one receipt turn `LeaseLost` into an error of that kind, so that `?` stops the
/// work on a message whose lease is lost.
pub trait LeasingExt: Leasing {
    /// Puts one message in.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Leasing::push).
    fn push_one(&self, message: impl Into<Push>) -> impl Future<Output = Result<Pushed>> + Send {
        let message = message.into();
        async move { only(self.push(&[message]).await?) }
    }

    /// Puts any number of messages in, split into batches of at most 128 and 8 MiB.
    ///
    /// The splits are neither atomic nor contiguous: other producers' messages may come between,
    /// and an error or a drop half-way leaves the earlier ones pushed.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Leasing::push). After the first batch, an error's outcome is unknown.
    fn push_all(&self, messages: &[Push]) -> impl Future<Output = Result<Vec<Pushed>>> + Send {
        async move {
            let mut pushed = Vec::with_capacity(messages.len());
            for chunk in chunks(messages, Push::size) {
                let answered = self.push(chunk).await;
                let answered = answered.map_err(|error| half_way(error, !pushed.is_empty()));
                pushed.append(&mut answered?);
            }
            Ok(pushed)
        }
    }

    /// Gives one undelivered message another due time, or says that it is too late (D4).
    ///
    /// # Errors
    ///
    /// The errors of [`reschedule`](Leasing::reschedule).
    fn reschedule_one(
        &self,
        id: MessageId,
        due: impl Into<Due>,
    ) -> impl Future<Output = Result<Rescheduled>> + Send {
        let due = due.into();
        async move { only(self.reschedule(&[id], due).await?) }
    }

    /// Leases up to `max` messages, waiting for one up to `timeout`; empty if none came.
    ///
    /// Dropping the future loses nothing: a message that was handed over while it waited goes back at once
    /// (L8). If a `lease` is under way when the future is dropped, or is cut at the timeout, its messages may
    /// stay leased until their deadline.
    ///
    /// # Errors
    ///
    /// The errors of [`lease`](Leasing::lease): a permanent error at once, a transient one at the timeout.
    /// `Invalid` if `max` is zero.
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
    /// The errors of [`receive`](Self::receive).
    fn receive_one(
        &self,
        lease_time: Duration,
        timeout: Duration,
    ) -> impl Future<Output = Result<Option<Delivery>>> + Send {
        async move { Ok(self.receive(1, lease_time, timeout).await?.pop()) }
    }

    /// Makes calls of this handle, and waits until their changes have as many copies as the handle's
    /// [`Confirmation`](crate::Confirmation) asks for (R2). Too few copies in time is no error: the result
    /// says so, beside the answer of the calls.
    ///
    /// ```
    /// use queue_core::{LeasingExt, ReliableQueue, Result};
    ///
    /// # async fn example(charges: &dyn ReliableQueue) -> Result<()> {
    /// let pushed = charges.confirmed(|charges| charges.push_one("order 42")).await?;
    /// if !pushed.is_confirmed() {
    ///     eprintln!("{:?}: {}", pushed.answer, pushed.copies);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The calls take effect as they would without a confirmation: others may receive the message before it
    /// is confirmed. The result says nothing of calls of another handle. One wait covers all calls that ended
    /// before it. Dropping the future drops the calls or the wait, and nothing else.
    ///
    /// # Errors
    ///
    /// The errors of the calls. `Configuration` if the handle confirms nothing, before anything is done.
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

    /// Settles the lease as done: the message is gone (L3).
    ///
    /// # Errors
    ///
    /// `LeaseLost` if the receipt is not the message's live lease. After an error of unknown
    /// outcome this may mean that the first ack took effect.
    fn ack(&self, receipt: Receipt) -> impl Future<Output = Result<()>> + Send {
        async move { self.settle_one(Settlement::ack(receipt)).await.map(drop) }
    }

    /// Finds out what became of one message (L18).
    ///
    /// # Errors
    ///
    /// The errors of [`find`](Leasing::find).
    fn find_one(&self, id: MessageId) -> impl Future<Output = Result<Found>> + Send {
        async move { only(self.find(&[id]).await?) }
    }

    /// Waits up to `timeout` until a message is dead, done or gone, and returns what
    /// [`find`](Leasing::find) then says. [`Found::Present`] if the time is over before.
    ///
    /// A result comes without polling where the backend can. A message that dies or is gone otherwise is
    /// noticed within a second. Dropping the future changes nothing. Typed handles read the result by
    /// [`wait_for_result`](crate::Typed::wait_for_result).
    ///
    /// # Errors
    ///
    /// The errors of [`find`](Leasing::find).
    fn wait_until_over(
        &self,
        id: MessageId,
        timeout: Duration,
    ) -> impl Future<Output = Result<Found>> + Send {
        async move {
            let mut patience = Patience::new(timeout);
            loop {
                let Some(found) = patience.look(true, self.find_one(id)).await? else {
                    continue;
                };
                if found.is_over() || patience.is_over() {
                    return Ok(found);
                }
                patience
                    .wait(Some(LONGEST_UNSEEN_END), |longest| {
                        self.wait_for_end(id, longest)
                    })
                    .await;
            }
        }
    }

    /// Removes one undelivered message for good (L15).
    ///
    /// # Errors
    ///
    /// The errors of [`cancel`](Leasing::cancel).
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
            match only(self.extend(&[receipt.into()], lease_time).await?)? {
                Extended::Extended => Ok(()),
                Extended::LeaseLost => Err(Error::lease_lost(receipt)),
            }
        }
    }

    /// Removes all ready and delayed messages, in chunks, each atomic; returns how many it removed.
    ///
    /// It goes on while others push. Stop producers first if the queue must be empty at the end. Dropping the
    /// future leaves the rest in the queue.
    ///
    /// # Errors
    ///
    /// The errors of [`purge`](Leasing::purge); earlier chunks stay removed. After the first chunk, an
    /// error's outcome is unknown.
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

/// The error of one split. Its outcome is unknown if earlier splits took effect.
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
