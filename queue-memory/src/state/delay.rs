//! Delay queues.

use std::time::Duration;

use queue_core::{DelayConfig, QueueKind, Result, Timestamp};

use super::{backlog::Backlog, due::DueLine, kind::Kind, leasing::LeasingState, opening::Leases};

/// Each message at its due time.
#[derive(Debug)]
pub(crate) enum Delay {}

impl Kind for Delay {
    type Backlog = DueLine;
    type Config = DelayConfig;
    const BY_DUE: bool = true;
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
            let due = |n: usize| Duration::from_millis((n + round % 5) as u64);
            let pushes = pushes.into_iter().enumerate();
            let pushes: Vec<_> = pushes.map(|(n, push)| push.with_due(due(n))).collect();
            let first = state.push(now, &pushes)[0].id().unwrap();
            let _moved = state.reschedule(now, &[first], due(3).into());
        });
    }
}
