//! Priority queues.

use queue_core::{PriorityConfig, Push, QueueKind, Result, Timestamp, millis_ceil};

use super::{
    backlog::{Lined, Lines},
    entry::StoredMessage,
    kind::Kind,
    leasing::LeasingState,
    opening::Leases,
    urgency::Urgency,
};

/// The most urgent first.
#[derive(Debug)]
pub(crate) enum Priority {}

impl Kind for Priority {
    type Backlog = Lined<Urgency>;
    type Config = PriorityConfig;

    fn set(message: &mut StoredMessage, push: &Push) {
        message.priority = push.priority.unwrap_or(0);
    }

    fn priority(message: &StoredMessage) -> Option<i16> {
        Some(message.priority)
    }
}

impl Leases for Priority {
    const KIND: QueueKind = QueueKind::Priority;

    fn create(config: &PriorityConfig) -> LeasingState<Self> {
        let urgency = Urgency::new(config.ageing.map(millis_ceil));
        LeasingState::with(config, &config.leasing, Lined::new(urgency), usize::MAX)
    }

    fn reconfigure(
        state: &mut LeasingState<Self>,
        now: Timestamp,
        config: &PriorityConfig,
    ) -> Result<()> {
        if config.ageing != state.config.ageing {
            state.begin(now);
            match state.backlog.lines.len() {
                0 => {}
                ready => return Err(PriorityConfig::ageing_of_ready(ready as u64)),
            }
            state.backlog.lines = Urgency::new(config.ageing.map(millis_ceil));
        }
        state.reconfigure_leasing(now, &config.leasing);
        state.config = config.clone();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::state::churn::{DEAD_LETTERS, churn, delayed};

    #[test]
    fn a_priority_queue_does_not_grow() {
        for ageing in [None, Some(Duration::from_millis(10))] {
            let mut config = PriorityConfig::default()
                .with_dead_letter_cap(DEAD_LETTERS)
                .with_max_attempts(3);
            config.ageing = ageing;
            let state = Priority::create(&config);
            churn(state, |state, now, round, pushes| {
                // The test takes fewer messages than it pushes, so the least urgent would wait for
                // ever.
                let priority = |n: usize| ((round * 31 + n * 7) % 200) as i16 - 100;
                let pushes: Vec<_> = delayed(pushes)
                    .enumerate()
                    .map(|(n, push)| push.with_priority(priority(n)))
                    .collect();
                let _ids = state.push(now, &pushes);
            });
        }
    }
}
