//! Delay queues.

use std::time::Duration;

use queue_core::{
    DelayConfig, Due, MessageId, Pushed, QueueKind, Rescheduled, Result, Scheduled, Timestamp,
};

use super::{backlog::Backlog, due::DueLine, kind::Kind, leasing::LeasingState, opening::Leases};

/// Each message at its due time.
#[derive(Debug)]
pub(crate) enum Delay {}

impl Kind for Delay {
    type Backlog = DueLine;
    type Config = DelayConfig;
}

impl Leases for Delay {
    const KIND: QueueKind = QueueKind::Delay;

    fn create(config: &DelayConfig) -> LeasingState<Self> {
        LeasingState::with(config, &config.leasing, DueLine::default(), usize::MAX)
    }

    fn reconfigure(
        state: &mut LeasingState<Self>,
        now: Timestamp,
        config: &DelayConfig,
    ) -> Result<()> {
        state.reconfigure_leasing(now, &config.leasing);
        state.config = config.clone();
        Ok(())
    }
}

impl LeasingState<Delay> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::churn::{DEAD_LETTERS, churn};

    #[test]
    fn a_delay_queue_does_not_grow() {
        let state = Delay::create(
            &DelayConfig::default()
                .with_dead_letter_cap(DEAD_LETTERS)
                .with_max_attempts(3),
        );
        churn(state, |state, now, round, pushes| {
            let pushes = pushes.into_iter().enumerate();
            let scheduled: Vec<_> = pushes
                .map(|(n, push)| {
                    Scheduled::new(push, Duration::from_millis((n + round % 5) as u64))
                })
                .collect();
            let first = state.schedule(now, &scheduled)[0].id();
            state.reschedule(now, first, Duration::from_millis(3).into());
        });
    }
}
