//! Idle times: waits for arrivals, which alone may be dropped, and waits for the rate limit.

use std::{
    sync::Arc,
    task::{Context as Poller, Poll},
    time::Duration,
};

use queue_core::{Delivery, Holder, Leased};
use tokio::time::Instant;

use super::{
    Runner,
    alarm::Alarm,
    calls::may_try,
    in_flight::{InFlight, Wait},
    served::ServedQueue,
};
use crate::event::CallKind;

/// A wait of a worker with free slots takes at most this part of a lease, because the worker must assume that
/// a message handed over was leased when the wait began.
const PART_OF_A_LEASE: u32 = 4;

impl Runner {
    pub(super) fn poll_wait(&mut self, index: usize, cx: &mut Poller<'_>, now: Instant) -> bool {
        let Some(wait) = &mut self.queues[index].wait else {
            return false;
        };
        let Poll::Ready(result) = wait.future.as_mut().poll(cx) else {
            return false;
        };
        let (began, until) = (wait.began, wait.until);
        let served = &mut self.queues[index];
        served.wait = None;
        let failed = match result {
            Ok(leased) if !leased.is_empty() => {
                self.handed_over(index, leased.deliveries, began, now);
                None
            }
            Ok(_) => {
                // The wait's own timer is no hint: the next wait begins.
                if now < until {
                    served.next_poll = now;
                }
                None
            }
            Err(error) => Some(error),
        };
        self.note_result(index, CallKind::Wait, failed.as_ref(), now);
        true
    }

    /// Starts a message that was handed over, or releases it if another message has taken its slot.
    fn handed_over(
        &mut self,
        index: usize,
        deliveries: Vec<Delivery>,
        began: Instant,
        now: Instant,
    ) {
        let mut unused = Alarm::new(now);
        let served = &self.queues[index];
        let has_slot = (self.free_slots() > 0 && served.more_slots() > 0
            || self.may_lease() && served.room() > 0)
            && self.allowed(&mut unused) > 0;
        self.take_deliveries(index, deliveries, began, now, has_slot);
    }

    /// The slots without a job that no call in flight may fill.
    pub(super) fn free_slots(&self) -> usize {
        if !self.may_lease() {
            return 0;
        }
        let calls = self.queues.iter().flat_map(|served| &served.call);
        let in_calls: usize = calls.map(|call| call.slots).sum();
        self.settings
            .concurrency
            .saturating_sub(self.jobs.len() + in_calls + self.gathering_slots())
    }

    /// Starts a wait for each queue with a free slot and nothing to do: for a message if there is a slot for
    /// it, else for a hint. Returns true if it started any.
    pub(super) fn set_waits(&mut self, alarm: &mut Alarm) -> bool {
        let may_wait = self.may_lease() && self.allowed(alarm) > 0;
        let idle = may_wait && self.jobs.len() + self.gathering_slots() < self.settings.concurrency;
        // A wait for a message of a batch that has its slot takes no other.
        let without_slot = self.queues.iter().filter(|served| served.room() == 0);
        let waits = without_slot.flat_map(|served| &served.wait);
        let kept = waits.filter(|wait| wait.has_slot).count();
        let mut free = self.free_slots().saturating_sub(kept);
        let mut begun = false;
        for served in &mut self.queues {
            let fills = may_wait && served.room() > 0;
            if !fills && (!idle || served.more_slots() == 0) {
                // A worker with no free slot must not keep the hint from others.
                served.wait = None;
                continue;
            }
            let busy = served.wait.is_some() || served.call.is_some();
            if busy
                || alarm.has_come(served.next_poll)
                || !may_try(served.wait_outage.until(), alarm)
                || !may_try(served.call_outage.until(), alarm)
            {
                continue;
            }
            let has_slot = fills || free > 0;
            if !fills {
                free = free.saturating_sub(1);
            }
            served.wait = Some(wait(served, has_slot, self.holder.clone(), alarm.now));
            begun = true;
        }
        begun
    }

    /// The number of messages that may start in addition to the messages asked for already.
    pub(super) fn allowed(&self, alarm: &mut Alarm) -> usize {
        let Some(rate) = self.rate.as_ref().filter(|_| self.is_working()) else {
            return usize::MAX;
        };
        let in_calls = self.queues.iter().flat_map(|served| &served.call);
        let asked: usize = in_calls.map(|call| call.max).sum();
        match rate.available() {
            Ok(messages) => messages.saturating_sub(asked),
            Err(next) => {
                alarm.has_come(next);
                0
            }
        }
    }
}

fn wait(served: &ServedQueue, has_slot: bool, holder: Holder, now: Instant) -> Wait {
    let queue = Arc::clone(&served.queue);
    let lease_time = served.terms.lease;
    // The end of a wait for a hint is the time to poll.
    let mut longest = served.next_poll - now;
    let future: InFlight<_> = if has_slot {
        longest = longest.min((lease_time / PART_OF_A_LEASE).max(Duration::from_millis(1)));
        Box::pin(async move { queue.wait_to_lease(lease_time, Some(holder), longest).await })
    } else {
        Box::pin(async move {
            let arrival = queue.wait_for_arrival(longest).await;
            arrival.map(|()| Leased::nothing(None))
        })
    };
    Wait {
        future,
        began: now,
        until: now + longest,
        has_slot,
    }
}
