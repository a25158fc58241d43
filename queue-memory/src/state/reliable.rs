//! Reliable queues.

use queue_core::{QueueKind, ReliableConfig, Result, Timestamp};

use super::{backlog::Lined, fifo::Fifo, kind::Kind, leasing::LeasingState, opening::Leases};

/// First in, first out.
#[derive(Debug)]
pub(crate) enum Reliable {}

impl Kind for Reliable {
    type Backlog = Lined<Fifo>;
    type Config = ReliableConfig;
}

impl Leases for Reliable {
    const KIND: QueueKind = QueueKind::Reliable;

    fn create(config: &ReliableConfig) -> LeasingState<Self> {
        LeasingState::with(config, &config.leasing, Lined::default(), usize::MAX)
    }

    fn reconfigure(
        state: &mut LeasingState<Self>,
        now: Timestamp,
        config: &ReliableConfig,
    ) -> Result<()> {
        state.reconfigure_leasing(now, &config.leasing);
        state.config = config.clone();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::churn::{DEAD_LETTERS, churn, delayed};

    #[test]
    fn a_reliable_queue_does_not_grow() {
        let state = Reliable::create(
            &ReliableConfig::default()
                .with_dead_letter_cap(DEAD_LETTERS)
                .with_max_attempts(3),
        );
        churn(state, |state, now, _, pushes| {
            let _ids = state.push(now, &delayed(pushes).collect::<Vec<_>>());
        });
    }
}
