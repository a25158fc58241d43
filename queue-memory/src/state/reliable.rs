//! Reliable queues.

use queue_core::{Push, Pushed, QueueKind, ReliableConfig, Result, Timestamp};

use super::{backlog::Lined, kind::Reliable, leasing::State, opening::Openable};

impl Openable for State<Reliable> {
    type Config = ReliableConfig;
    const KIND: QueueKind = QueueKind::Reliable;

    fn check(config: &ReliableConfig) -> Result<()> {
        config.check()
    }

    fn create(config: &ReliableConfig) -> Self {
        Self::with(config, &config.leasing, Lined::default(), usize::MAX)
    }

    fn config(&self) -> &ReliableConfig {
        &self.config
    }

    fn reconfigure(&mut self, now: Timestamp, config: &ReliableConfig) -> Result<()> {
        self.reconfigure_leasing(now, &config.leasing);
        self.config = config.clone();
        Ok(())
    }

    fn agrees(&self, asked: &ReliableConfig) -> Result<()> {
        asked.check_stored(&self.config)
    }
}

impl State<Reliable> {
    pub(crate) fn push(&mut self, now: Timestamp, messages: &[Push]) -> Vec<Pushed> {
        let now = self.begin(now);
        let admit = |push: &Push| self.admit(push, now, |state, slot| state.enter(slot, push, now));
        messages.iter().map(admit).collect()
    }
}
