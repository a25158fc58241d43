//! Samples of queues' counters, for the health and the metrics.

use std::{
    sync::Arc,
    task::{Context as Poller, Poll},
};

use super::{Runner, alarm::Alarm};
use crate::{event::Event, later::after};

impl Runner {
    /// Takes the samples that have come, and starts samples that are due. Returns true if there were any.
    ///
    /// A failed sample does not change when the next one is due.
    pub(super) fn take_samples(&mut self, cx: &mut Poller<'_>, alarm: &mut Alarm) -> bool {
        let Some(interval) = self.settings.sample else {
            return false;
        };
        let mut moved = false;
        for served in &mut self.queues {
            if let Some(sample) = &mut served.sample {
                let Poll::Ready(result) = sample.as_mut().poll(cx) else {
                    continue;
                };
                served.sample = None;
                moved = true;
                self.events
                    .emit(&served.name, &Event::Sampled { result: &result });
            }
            if alarm.has_come(served.sample_due) {
                // It does not make up for missed intervals.
                served.sample_due = after(alarm.now, interval);
                let queue = Arc::clone(&served.queue);
                served.sample = Some(Box::pin(async move { queue.counters().await }));
                moved = true;
            }
        }
        moved
    }
}
