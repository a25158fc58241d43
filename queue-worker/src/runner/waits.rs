//! When there is nothing to do: waiting for arrivals, which alone may be dropped, and for the rate.

use std::{
    sync::Arc,
    task::{Context as Poller, Poll},
};

use tokio::time::Instant;

use super::{Runner, alarm::Alarm, calls::may_try};
use crate::event::Verb;

impl Runner {
    pub(super) fn poll_wait(&mut self, index: usize, cx: &mut Poller<'_>, now: Instant) -> bool {
        let Some(wait) = &mut self.feeds[index].wait else {
            return false;
        };
        let Poll::Ready(result) = wait.as_mut().poll(cx) else {
            return false;
        };
        self.feeds[index].wait = None;
        if result.is_ok() {
            self.feeds[index].look = now;
        }
        self.note_result(index, Verb::Wait, result.as_ref().err(), now);
        true
    }

    /// Waits where there is a free slot and nothing to do. Answers whether a wait was begun.
    pub(super) fn set_waits(&mut self, alarm: &mut Alarm) -> bool {
        let idle = self.stage.is_working()
            && self.jobs.len() < self.pool.concurrency
            && self.allowed(alarm) > 0;
        let mut begun = false;
        for feed in &mut self.feeds {
            if !idle || feed.appetite() == 0 {
                // Whoever has no room for what arrives does not keep the hint from others.
                feed.wait = None;
                continue;
            }
            let busy = feed.wait.is_some() || feed.call.is_some();
            if busy
                || alarm.has_come(feed.look)
                || !may_try(feed.wait_outage.until(), alarm)
                || !may_try(feed.call_outage.until(), alarm)
            {
                continue;
            }
            let queue = Arc::clone(&feed.queue);
            let timeout = feed.look - alarm.now;
            feed.wait = Some(Box::pin(
                async move { queue.wait_for_arrival(timeout).await },
            ));
            begun = true;
        }
        begun
    }

    /// How many messages may be started beside those that are asked for already.
    #[cfg(feature = "rate-limit")]
    pub(super) fn allowed(&self, alarm: &mut Alarm) -> usize {
        let Some(rate) = self.rate.as_ref().filter(|_| self.stage.is_working()) else {
            return usize::MAX;
        };
        let in_calls = self.feeds.iter().flat_map(|feed| &feed.call);
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
