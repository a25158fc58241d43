//! Leasing and settling, one call at a time for each queue.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    task::{Context as Poller, Poll},
    time::Duration,
};

use queue_core::{Delivery, Error, Leased, Outcome, Result, Settled, Settlement, limits};
use tokio::time::Instant;

use super::{
    Runner,
    alarm::Alarm,
    feed::{Answer, Call, Feed, Pending},
};
use crate::{
    Stop,
    event::{Event, Verb},
    lease::Lease,
    shares::Wish,
};

/// A lease that brought fewer than were asked for does not say when more will be due. The next
/// look comes so soon after, or with the first result, if that is sooner.
const GLANCE: Duration = Duration::from_millis(10);

/// Between two looks that found nothing, even if the backend says that something is overdue.
const BREATH: Duration = Duration::from_millis(1);

impl Runner {
    /// Sends what is to be sent. Answers whether anything was.
    pub(super) fn send_calls(&mut self, alarm: &mut Alarm) -> bool {
        let in_calls: usize = self
            .feeds
            .iter()
            .flat_map(|feed| &feed.call)
            .map(|call| call.slots)
            .sum();
        let free = if self.stage.is_working() {
            self.pool
                .concurrency
                .saturating_sub(self.jobs.len() + in_calls)
        } else {
            0
        };
        let mut allowed = self.allowed(alarm);
        let free = free.min(allowed);
        let prompt = free > 0 && self.is_prompt(free, alarm);
        let ripe: Vec<bool> = (0..self.feeds.len())
            .map(|index| self.is_ripe(&self.feeds[index], alarm))
            .collect();
        let wishes: Vec<Wish> = self
            .feeds
            .iter()
            .zip(&ripe)
            .map(|(feed, ripe)| wish(feed, *ripe, prompt, alarm))
            .collect();
        let given = self.shares.divide(free, &wishes);
        let mut sent = false;
        for (index, slots) in given.into_iter().enumerate() {
            let feed = &self.feeds[index];
            if feed.call.is_none() && (slots > 0 || ripe[index]) {
                allowed -= self.send(index, slots, allowed, alarm.now);
                sent = true;
            }
        }
        sent
    }

    /// Whether the free slots are to be offered now, or wait for company.
    fn is_prompt(&self, free: usize, alarm: &mut Alarm) -> bool {
        let Some(freed) = self.freed else {
            return true;
        };
        self.jobs.is_empty() || free >= self.company() || alarm.has_come(freed + self.linger())
    }

    /// Whether a queue's results are to be settled now, or wait for company.
    fn is_ripe(&self, feed: &Feed, alarm: &mut Alarm) -> bool {
        let Some(oldest) = feed.pending.front() else {
            return false;
        };
        if feed.call.is_some() || !may_try(feed.call_outage.until(), alarm) {
            return false;
        }
        self.jobs.is_empty()
            || !self.stage.is_working()
            || feed.pending.len() >= self.company()
            || alarm.has_come(oldest.since + self.linger())
    }

    /// So many need not wait for others.
    fn company(&self) -> usize {
        self.pool.concurrency.div_ceil(8).min(limits::MAX_BATCH)
    }

    fn linger(&self) -> Duration {
        self.pool.linger.min(self.usual / 16)
    }

    /// Sends results, and asks for so many slots' messages, but for no more than are allowed;
    /// answers for how many.
    ///
    /// After a failure it asks for nothing until a call has succeeded: a lease whose reply is lost
    /// costs its messages an attempt and its time, each time it is tried.
    fn send(&mut self, index: usize, slots: usize, allowed: usize, now: Instant) -> usize {
        let feed = &mut self.feeds[index];
        let failing = feed.call_outage.until().is_some();
        let slots = if failing { 0 } else { slots };
        let count = feed.pending.len().min(limits::MAX_BATCH);
        let batch: Vec<Pending> = feed.pending.drain(..count).collect();
        let max = slots
            .saturating_mul(feed.terms.batch)
            .min(feed.reach.most())
            .min(allowed);
        let slots = max.div_ceil(feed.terms.batch);
        let (queue, ttl) = (Arc::clone(&feed.queue), feed.terms.lease);
        let asked = NonZeroUsize::new(max);
        let future = Box::pin(async move {
            let settlements: Vec<Settlement> = batch
                .iter()
                .map(|pending| pending.settlement.clone())
                .collect();
            let result = match asked {
                // After a failure, something that moves nothing.
                None if settlements.is_empty() => queue.depth().await.map(|_| (Vec::new(), None)),
                None => queue
                    .settle(&settlements)
                    .await
                    .map(|settled| (settled, None)),
                Some(max) if settlements.is_empty() => {
                    let leased = queue.lease(max, ttl).await;
                    leased.map(|leased| (Vec::new(), Some(leased)))
                }
                Some(max) => {
                    let turned = queue.turn(&settlements, max, ttl).await;
                    turned.map(|(settled, leased)| (settled, Some(leased)))
                }
            };
            Answer { batch, result }
        });
        if slots > 0 {
            // This call looks by itself; a hint that comes meanwhile ends the next wait at once.
            feed.wait = None;
            self.freed = None;
        }
        feed.call = Some(Call {
            future,
            sent: now,
            slots,
            max,
        });
        self.events
            .emit(&feed.name, &Event::Called { verb: Verb::Turn });
        max
    }

    pub(super) fn poll_call(&mut self, index: usize, cx: &mut Poller<'_>, now: Instant) -> bool {
        let Some(call) = &mut self.feeds[index].call else {
            return false;
        };
        let Poll::Ready(Answer { batch, result }) = call.future.as_mut().poll(cx) else {
            return false;
        };
        let (sent, max) = (call.sent, call.max);
        let took = now.saturating_duration_since(sent);
        // A call that only settles shows nothing of leasing, which may fail on a full server.
        let whole = call.slots > 0 || !self.stage.is_working();
        self.feeds[index].call = None;
        match result {
            Ok((settled, leased)) => {
                let complete = self.settled(index, batch, settled, now);
                if whole || complete.is_err() {
                    self.note_result(index, Verb::Turn, complete.as_ref().err(), now);
                } else {
                    self.feeds[index].call_outage.try_now();
                }
                if let Some(leased) = leased {
                    self.leased(index, leased, max, sent, now);
                }
            }
            Err(error) => {
                let unknown = error.outcome() == Outcome::Unknown;
                if unknown && max > 0 {
                    let feed = &mut self.feeds[index];
                    feed.reach.lost(max, took, feed.terms.lease);
                }
                self.put_back(index, batch, unknown, now);
                self.note_result(index, Verb::Turn, Some(&error), now);
            }
        }
        true
    }

    fn settled(
        &mut self,
        index: usize,
        batch: Vec<Pending>,
        settled: Vec<Settled>,
        now: Instant,
    ) -> Result<()> {
        let name = Arc::clone(&self.feeds[index].name);
        let mut answers = settled.into_iter();
        let mut unanswered = Vec::new();
        for pending in batch {
            let Some(settled) = answers.next() else {
                unanswered.push(pending);
                continue;
            };
            self.events.emit(
                &name,
                &Event::Settled {
                    lease: &pending.lease,
                    disposition: &pending.settlement.disposition,
                    settled,
                    doubtful: pending.doubtful,
                },
            );
        }
        if unanswered.is_empty() {
            return Ok(());
        }
        self.put_back(index, unanswered, true, now);
        Err(Error::unanswered())
    }

    /// To be sent again, unless the lease is over.
    fn put_back(&mut self, index: usize, batch: Vec<Pending>, doubtful: bool, now: Instant) {
        let feed = &mut self.feeds[index];
        for mut pending in batch.into_iter().rev() {
            pending.doubtful |= doubtful;
            if now >= pending.lease.deadline() {
                self.events.emit(&feed.name, &pending.unsettled());
                continue;
            }
            feed.pending.push_front(pending);
        }
    }

    fn leased(&mut self, index: usize, leased: Leased, max: usize, sent: Instant, now: Instant) {
        let poll = self.pool.poll;
        let feed = &mut self.feeds[index];
        let count = leased.deliveries.len();
        let took = now.saturating_duration_since(sent);
        feed.reach.answered(count, took, feed.terms.lease);
        feed.look = now
            + match count {
                0 => leased
                    .next
                    .map_or(poll, |next| next.clamp(BREATH, poll.max(BREATH))),
                some if some < max => GLANCE.min(poll),
                _ => Duration::ZERO,
            };
        let name = Arc::clone(&feed.name);
        for delivery in &leased.deliveries {
            self.events.emit(&name, &Event::Leased { delivery });
        }
        if !self.stage.is_working() {
            let feed = &mut self.feeds[index];
            feed.pending
                .extend(leased.deliveries.iter().map(|delivery| Pending {
                    settlement: Settlement::release(delivery.receipt),
                    lease: Lease::new(delivery, sent, None),
                    since: now,
                    doubtful: false,
                }));
            return;
        }
        let size = self.feeds[index].terms.batch;
        let mut rest = leased.deliveries;
        rest.retain(|delivery| self.is_in_time(index, delivery, sent, now));
        self.shares.charge(index, rest.len().div_ceil(size));
        #[cfg(feature = "rate-limit")]
        if let Some(rate) = &self.rate {
            rate.charge(rest.len());
        }
        while !rest.is_empty() {
            let later = rest.split_off(size.min(rest.len()));
            self.start(index, rest, sent);
            rest = later;
        }
    }

    /// Whether a delivery came before its lease was over. If not, no handler is to begin what
    /// somebody else may be at.
    fn is_in_time(&self, index: usize, delivery: &Delivery, sent: Instant, now: Instant) -> bool {
        let lease = Lease::new(delivery, sent, None);
        if now < lease.deadline() {
            return true;
        }
        lease.tell(Stop::LeaseLost);
        let (name, lease, stop) = (&self.feeds[index].name, &*lease, Stop::LeaseLost);
        self.events.emit(name, &Event::Told { lease, stop });
        self.events.emit(name, &Event::Discarded { lease });
        false
    }

    /// A verb succeeded or failed.
    pub(super) fn note_result(
        &mut self,
        index: usize,
        verb: Verb,
        error: Option<&Error>,
        now: Instant,
    ) {
        let feed = &mut self.feeds[index];
        let outage = match verb {
            Verb::Turn => &mut feed.call_outage,
            Verb::Extend => &mut feed.beat_outage,
            Verb::Wait => &mut feed.wait_outage,
        };
        if let Some(error) = error {
            let until = outage.failed(now, error);
            self.events.emit(&feed.name, &Event::Failed { verb, error });
            if verb == Verb::Wait {
                // Without hints there is the timer.
                feed.look = feed.look.min(until);
            }
        } else if let Some(since) = outage.succeeded() {
            let after = now.saturating_duration_since(since);
            self.events
                .emit(&feed.name, &Event::Recovered { verb, after });
        }
        // Without a handler there is nothing to extend, and nothing that would show it works again.
        if error.is_none() && verb == Verb::Turn && self.feeds[index].jobs == 0 {
            self.forget_beats(index, now);
        }
    }
}

fn wish(feed: &Feed, ripe: bool, prompt: bool, alarm: &mut Alarm) -> Wish {
    if let Some(call) = &feed.call {
        // Nobody waits for what only asks whether the backend is back.
        let hungry = feed.look <= alarm.now && !feed.call_outage.is_failing();
        return if call.slots > 0 || hungry {
            Wish::Later
        } else {
            Wish::Nothing
        };
    }
    if !may_try(feed.call_outage.until(), alarm) {
        return Wish::Nothing;
    }
    // Whoever settles looks as well: it costs nothing more.
    if (alarm.has_come(feed.look) && prompt) || ripe {
        let fitting = (feed.reach.most() / feed.terms.batch).max(1);
        return Wish::Slots(feed.appetite().min(fitting));
    }
    Wish::Nothing
}

/// Whether an outage lets it be tried.
pub(super) fn may_try(until: Option<Instant>, alarm: &mut Alarm) -> bool {
    until.is_none_or(|until| alarm.has_come(until))
}
