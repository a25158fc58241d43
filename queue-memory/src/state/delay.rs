//! Delay queues.

use std::time::Duration;

use queue_core::{
    DelayConfig, Due, MessageId, Pushed, QueueKind, Rescheduled, Result, Scheduled, Timestamp,
};

use super::{backlog::Backlog, due::DueLine, kind::Delay, leasing::State, opening::Openable};

impl Openable for State<Delay> {
    type Config = DelayConfig;
    const KIND: QueueKind = QueueKind::Delay;

    fn check(config: &DelayConfig) -> Result<()> {
        config.check()
    }

    fn create(config: &DelayConfig) -> Self {
        Self::with(config, &config.leasing, DueLine::default(), usize::MAX)
    }

    fn config(&self) -> &DelayConfig {
        &self.config
    }

    fn reconfigure(&mut self, now: Timestamp, config: &DelayConfig) -> Result<()> {
        self.reconfigure_leasing(now, &config.leasing);
        self.config = config.clone();
        Ok(())
    }

    fn agrees(&self, asked: &DelayConfig) -> Result<()> {
        asked.check_stored(&self.config)
    }
}

impl State<Delay> {
    pub(crate) fn schedule(&mut self, now: Timestamp, messages: &[Scheduled]) -> Vec<Pushed> {
        let now = self.begin(now);
        let admit = |message: &Scheduled| {
            self.admit(&message.push, now, |state, slot| {
                let due = message.due.resolve(now);
                // Nothing is promoted at that time, so no call need know of it.
                state.backlog.delay(&mut state.entries, slot, due);
            })
        };
        messages.iter().map(admit).collect()
    }

    pub(crate) fn reschedule(&mut self, now: Timestamp, id: MessageId, due: Due) -> Rescheduled {
        let now = self.begin(now);
        let Some(slot) = self.undelivered(id) else {
            return Rescheduled::TooLate;
        };
        self.backlog.remove(&mut self.entries, slot);
        self.delay(slot, due.resolve(now));
        Rescheduled::Moved
    }

    pub(crate) fn next_due(&mut self, now: Timestamp) -> Option<Duration> {
        let now = self.begin(now);
        Some(self.backlog.next_due()?.since(now))
    }
}
