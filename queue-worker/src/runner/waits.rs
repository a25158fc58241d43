//! Idle times: waits for arrivals, which alone may be dropped, and waits for the rate limit.

use std::{
    sync::Arc,
    task::{Context as Poller, Poll},
};

use tokio::time::Instant;

use super::{Runner, alarm::Alarm, calls::may_try};
use crate::event::Verb;

impl Runner {
    pub(super) fn poll_wait(&mut self, index: usize, cx: &mut Poller<'_>, now: Instant) -> bool {
        let Some(wait) = &mut self.queues[index].wait else {
            return false;
        };
        let Poll::Ready(result) = wait.as_mut().poll(cx) else {
            return false;
        };
        self.queues[index].wait = None;
        if result.is_ok() {
            self.queues[index].look = now;
        }
        self.note_result(index, Verb::Wait, result.as_ref().err(), now);
        true
    }

    /// Starts a wait for each queue with a free slot and nothing to do. Answers whether it started
    /// any.
    pub(super) fn set_waits(&mut self, alarm: &mut Alarm) -> bool {
        let idle = self.lifecycle.is_working()
            && self.jobs.len() < self.settings.concurrency
            && self.allowed(alarm) > 0;
        let mut begun = false;
        for served in &mut self.queues {
            if !idle || served.more_slots() == 0 {
                // A worker with no free slot must not keep the hint from others.
                served.wait = None;
                continue;
            }
            let busy = served.wait.is_some() || served.call.is_some();
            if busy
                || alarm.has_come(served.look)
                || !may_try(served.wait_outage.until(), alarm)
                || !may_try(served.call_outage.until(), alarm)
            {
                continue;
            }
            let queue = Arc::clone(&served.queue);
            let timeout = served.look - alarm.now;
            served.wait = Some(Box::pin(
                async move { queue.wait_for_arrival(timeout).await },
            ));
            begun = true;
        }
        begun
    }

    /// The number of messages that may start in addition to those asked for already.
    #[cfg(feature = "rate-limit")]
    pub(super) fn allowed(&self, alarm: &mut Alarm) -> usize {
        let Some(rate) = self.rate.as_ref().filter(|_| self.lifecycle.is_working()) else {
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

    #[cfg(not(feature = "rate-limit"))]
    #[allow(
        clippy::unused_self,
        reason = "the feature decides whether there is a limit"
    )]
    pub(super) const fn allowed(&self, _alarm: &mut Alarm) -> usize {
        usize::MAX
    }
}
