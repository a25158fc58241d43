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
    in_flight::{CallAnswer, CallInFlight, LeasedBody, Pending},
    served::ServedQueue,
};
use crate::{
    Stop,
    event::{CallKind, Event},
    later::after,
    lease::Lease,
    shares::Demand,
};

/// A lease that returned fewer messages than asked for does not say when more will be due. The worker polls
/// again after this time, or with the first result, if that is sooner.
const NEXT_POLL: Duration = Duration::from_millis(10);

/// The shortest time between two polls that found nothing, even if the backend says that something is
/// overdue.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

impl Runner {
    /// Sends the calls whose time has come. Returns true if it sent any.
    pub(super) fn send_calls(&mut self, alarm: &mut Alarm) -> bool {
        let mut allowed = self.allowed(alarm);
        let free = self.free_slots().min(allowed);
        if free == 0 && self.queues.iter().all(|served| served.is_busy(alarm.now)) {
            return false;
        }
        let lease_now = free > 0 && self.may_lease_now(free, alarm);
        let settle_now: Vec<bool> = (0..self.queues.len())
            .map(|index| self.must_settle_now(&self.queues[index], alarm))
            .collect();
        let demands: Vec<Demand> = self
            .queues
            .iter()
            .zip(&settle_now)
            .map(|(served, settle_now)| demand(served, *settle_now, lease_now, alarm))
            .collect();
        let given = self.shares.divide(free, &demands);
        let mut sent = false;
        for (index, slots) in given.into_iter().enumerate() {
            let served = &self.queues[index];
            let fills = allowed > 0 && self.may_fill_now(served, alarm);
            if served.call.is_none() && (slots > 0 || settle_now[index] || fills) {
                allowed -= self.send(index, slots, allowed, alarm.now);
                sent = true;
            }
        }
        sent
    }

    /// Whether to offer the free slots now, or to wait until more are free.
    fn may_lease_now(&self, free: usize, alarm: &mut Alarm) -> bool {
        let Some(freed) = self.freed else {
            return true;
        };
        self.jobs.is_empty() || free >= self.enough() || alarm.has_come(freed + self.linger())
    }

    /// Whether to ask for messages that a waiting batch lacks.
    fn may_fill_now(&self, served: &ServedQueue, alarm: &mut Alarm) -> bool {
        self.may_lease()
            && served.room() > 0
            && served.call.is_none()
            && may_try(served.call_outage.until(), alarm)
            && alarm.has_come(served.next_poll)
    }

    /// Whether to settle a queue's results now, or to wait for more of them.
    fn must_settle_now(&self, served: &ServedQueue, alarm: &mut Alarm) -> bool {
        if served.call.is_some() || !may_try(served.call_outage.until(), alarm) {
            return false;
        }
        if served.alone.is_some() {
            return true;
        }
        let Some(oldest) = served.pending.front() else {
            return false;
        };
        self.jobs.is_empty()
            || !self.is_working()
            || served.pending.len() >= self.enough()
            || alarm.has_come(oldest.since + self.linger())
    }

    /// The number of free slots or results that need not wait for more.
    fn enough(&self) -> usize {
        self.settings.concurrency.div_ceil(8).min(limits::MAX_BATCH)
    }

    fn linger(&self) -> Duration {
        self.settings.linger.min(self.average_time / 16)
    }

    /// Sends results, and asks for messages for `slots` slots, but for no more than `allowed`. Returns how
    /// many messages it asked for.
    ///
    /// After a failure it asks for no messages until a call has succeeded: each lease whose reply is lost
    /// costs its messages an attempt and the lease's time.
    fn send(&mut self, index: usize, slots: usize, allowed: usize, now: Instant) -> usize {
        let alone = self.next_alone(index, now);
        let served = &mut self.queues[index];
        let failing = served.call_outage.until().is_some();
        let (slots, room) = match failing || alone.is_some() {
            true => (0, 0),
            false => (slots, served.room()),
        };
        let batch: Vec<Pending> = match alone {
            Some(alone) => vec![alone],
            None => {
                let count = served.pending.len().min(limits::MAX_BATCH);
                served.pending.drain(..count).collect()
            }
        };
        let max = slots
            .saturating_mul(served.terms.batch)
            .saturating_add(room)
            .min(served.reach.most())
            .min(allowed);
        let slots = max.saturating_sub(room).div_ceil(served.terms.batch);
        planted!(BatchTakesMoreSlots => slots = max);
        let (queue, lease_time) = (Arc::clone(&served.queue), served.terms.lease);
        let holder = Some(self.holder.clone());
        let asked = NonZeroUsize::new(max);
        let future = Box::pin(async move {
            let settlements: Vec<Settlement> = batch
                .iter()
                .map(|pending| pending.settlement.clone())
                .collect();
            let result = match asked {
                // After a failure, it makes a call that moves nothing.
                None if settlements.is_empty() => queue.depth().await.map(|_| (Vec::new(), None)),
                None => queue
                    .settle(&settlements)
                    .await
                    .map(|settled| (settled, None)),
                // Also if there is nothing to settle, because a `lease` carries no holder's name.
                Some(max) => {
                    let answer = queue
                        .settle_and_lease(&settlements, max, lease_time, holder)
                        .await;
                    answer.map(|(settled, leased)| (settled, Some(leased)))
                }
            };
            CallAnswer { batch, result }
        });
        if max > 0 {
            // This call polls; a hint that comes meanwhile ends the next wait at once.
            served.wait = None;
        }
        if slots > 0 {
            self.freed = None;
        }
        served.call = Some(CallInFlight {
            future,
            sent: now,
            slots,
            max,
        });
        self.events.emit(
            &served.name,
            &Event::Called {
                verb: CallKind::SettleAndLease,
            },
        );
        max
    }

    pub(super) fn poll_call(&mut self, index: usize, cx: &mut Poller<'_>, now: Instant) -> bool {
        let Some(call) = &mut self.queues[index].call else {
            return false;
        };
        let Poll::Ready(CallAnswer { batch, result }) = call.future.as_mut().poll(cx) else {
            return false;
        };
        let (sent, max) = (call.sent, call.max);
        let took = now.saturating_duration_since(sent);
        // A call that only settles proves nothing about leasing, which may fail on a full server.
        let whole = call.max > 0 || !self.is_working();
        self.queues[index].call = None;
        match result {
            Ok((settled, leased)) => {
                self.settled_alone(index, &batch);
                let complete = self.settled(index, batch, settled, now);
                if whole || complete.is_err() {
                    self.note_result(
                        index,
                        CallKind::SettleAndLease,
                        complete.as_ref().err(),
                        now,
                    );
                } else {
                    self.queues[index].call_outage.try_now();
                }
                if let Some(leased) = leased {
                    self.leased(index, leased, max, sent, now);
                }
            }
            Err(error) => {
                let unknown = error.outcome() == Outcome::Unknown;
                if unknown && max > 0 {
                    let served = &mut self.queues[index];
                    served.reach.lost(max, took, served.terms.lease);
                }
                self.refused(index, batch, &error, now);
            }
        }
        self.end_alone(index, now);
        true
    }

    fn settled(
        &mut self,
        index: usize,
        batch: Vec<Pending>,
        settled: Vec<Settled>,
        now: Instant,
    ) -> Result<()> {
        let name = Arc::clone(&self.queues[index].name);
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
                    reason: pending.reason.as_deref(),
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

    /// Queues results to be sent again, unless their lease is over.
    pub(super) fn put_back(
        &mut self,
        index: usize,
        batch: Vec<Pending>,
        doubtful: bool,
        now: Instant,
    ) {
        let served = &mut self.queues[index];
        for mut pending in batch.into_iter().rev() {
            pending.doubtful |= doubtful;
            if now >= pending.lease.deadline() {
                self.events.emit(&served.name, &pending.unsettled());
                continue;
            }
            served.pending.push_front(pending);
        }
    }

    fn leased(&mut self, index: usize, leased: Leased, max: usize, sent: Instant, now: Instant) {
        let poll = self.settings.poll;
        let served = &mut self.queues[index];
        let count = leased.deliveries.len();
        let took = now.saturating_duration_since(sent);
        served.reach.answered(count, took, served.terms.lease);
        let pause = match count {
            0 => leased
                .next
                .map_or(poll, |next| next.clamp(SHORTEST_PAUSE, poll)),
            some if some < max => NEXT_POLL.min(poll),
            _ => Duration::ZERO,
        };
        served.next_poll = after(now, pause);
        let may_start = self.is_working();
        self.take_deliveries(index, leased.deliveries, sent, now, may_start);
    }

    /// Starts handlers, or releases all if none may start. The leases began after `sent`.
    pub(super) fn take_deliveries(
        &mut self,
        index: usize,
        deliveries: Vec<Delivery>,
        sent: Instant,
        now: Instant,
        may_start: bool,
    ) {
        let served = &mut self.queues[index];
        let hold = served.terms.hold;
        let leased = deliveries.into_iter().map(|delivery| {
            let job = served.handler.job_type(&delivery.headers).cloned();
            let lease = Lease::new(&delivery, sent, hold, job);
            let event = Event::Leased { lease: &lease };
            self.events.emit(&served.name, &event);
            LeasedBody {
                body: delivery.body,
                lease,
            }
        });
        let mut rest: Vec<LeasedBody> = leased.collect();
        if !may_start {
            let released = rest.into_iter().map(|leased| leased.release(now));
            served.pending.extend(released);
            return;
        }
        let size = served.terms.batch;
        rest.retain(|leased| self.is_in_time(index, leased, now));
        if let Some(rate) = &mut self.rate {
            rate.charge(rest.len());
        }
        if !self.queues[index].terms.batch_wait.is_zero() && size > 1 {
            self.gather(index, rest, now);
            return;
        }
        self.shares.charge(index, rest.len().div_ceil(size));
        while !rest.is_empty() {
            let later = rest.split_off(size.min(rest.len()));
            self.start(index, rest);
            rest = later;
        }
    }

    /// Whether a lease is not over yet. If it is, no handler may begin the message, because another worker may have
    /// it.
    pub(super) fn is_in_time(&self, index: usize, leased: &LeasedBody, now: Instant) -> bool {
        let lease = &*leased.lease;
        if now < lease.deadline() {
            return true;
        }
        lease.stop(Stop::LeaseLost);
        let (name, stop) = (&self.queues[index].name, Stop::LeaseLost);
        self.events.emit(name, &Event::Told { lease, stop });
        self.events.emit(name, &Event::Discarded { lease });
        false
    }

    /// Records a verb's success or failure.
    pub(super) fn note_result(
        &mut self,
        index: usize,
        verb: CallKind,
        error: Option<&Error>,
        now: Instant,
    ) {
        let served = &mut self.queues[index];
        let outage = match verb {
            CallKind::SettleAndLease => &mut served.call_outage,
            CallKind::Extend => &mut served.heartbeat_outage,
            CallKind::Wait => &mut served.wait_outage,
        };
        if let Some(error) = error {
            let until = outage.failed(now, error);
            self.events
                .emit(&served.name, &Event::Failed { verb, error });
            if verb == CallKind::Wait {
                // Without hints, the timer decides.
                served.next_poll = served.next_poll.min(until);
            }
        } else if let Some(since) = outage.succeeded() {
            let after = now.saturating_duration_since(since);
            self.events
                .emit(&served.name, &Event::Recovered { verb, after });
        }
        // Without a handler there is nothing to extend, so no heartbeat would show that extending
        // works again.
        if error.is_none() && verb == CallKind::SettleAndLease && self.queues[index].jobs == 0 {
            self.note_result(index, CallKind::Extend, None, now);
        }
    }
}

impl ServedQueue {
    /// Whether there is certainly nothing to send while no slot is free, and no time to wait for. Most passes of a
    /// worker of one slot end here.
    fn is_busy(&self, now: Instant) -> bool {
        let waits = self.next_poll > now || self.call_outage.until().is_some();
        self.call.is_some() || (self.is_settled() && self.room() == 0 && !waits)
    }
}

fn demand(served: &ServedQueue, settle_now: bool, lease_now: bool, alarm: &mut Alarm) -> Demand {
    if let Some(call) = &served.call {
        // A call that only probes the backend delays no other queue.
        let wants_more = served.next_poll <= alarm.now && !served.call_outage.is_failing();
        return if call.slots > 0 || wants_more {
            Demand::Later
        } else {
            Demand::Nothing
        };
    }
    if !may_try(served.call_outage.until(), alarm) {
        return Demand::Nothing;
    }
    // A call that settles leases as well, at no extra cost.
    if (alarm.has_come(served.next_poll) && lease_now) || settle_now {
        let fitting = (served.reach.most() / served.terms.batch).max(1);
        return Demand::Slots(served.more_slots().min(fitting));
    }
    Demand::Nothing
}

/// Whether an outage allows a try now.
pub(super) fn may_try(until: Option<Instant>, alarm: &mut Alarm) -> bool {
    until.is_none_or(|until| alarm.has_come(until))
}
