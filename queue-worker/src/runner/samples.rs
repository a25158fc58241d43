//! Asking queues what they hold, for whoever watches.

use std::{
    sync::Arc,
    task::{Context as Poller, Poll},
};

use super::{Runner, alarm::Alarm, phases::after};
use crate::event::Event;

impl Runner {
    /// Takes the samples that have come, and asks for those that are due. Answers whether there
    /// were any.
    ///
    /// After one that fails, the next is due as ever.
    pub(super) fn take_samples(&mut self, cx: &mut Poller<'_>, alarm: &mut Alarm) -> bool {
        let Some(interval) = self.pool.sample else {
            return false;
        };
        let mut moved = false;
        for feed in &mut self.feeds {
            if let Some(sample) = &mut feed.sample {
                let Poll::Ready(result) = sample.as_mut().poll(cx) else {
                    continue;
                };
                feed.sample = None;
                moved = true;
                self.events
                    .emit(&feed.name, &Event::Sampled { result: &result });
            }
            if alarm.has_come(feed.sample_due) {
                // Of intervals that were missed, none is made up for.
                feed.sample_due = after(alarm.now, interval);
                let queue = Arc::clone(&feed.queue);
                feed.sample = Some(Box::pin(async move { queue.counters().await }));
                moved = true;
            }
        }
        moved
    }
}
