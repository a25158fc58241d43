//! Priority queues.

use queue_core::{Prioritized, PriorityConfig, Pushed, QueueKind, Result, Timestamp, millis_ceil};

use super::{
    backlog::{Lined, Lines},
    kind::Priority,
    leasing::State,
    opening::Openable,
    urgency::Urgency,
};

impl Openable for State<Priority> {
    type Config = PriorityConfig;
    const KIND: QueueKind = QueueKind::Priority;

    fn check(config: &PriorityConfig) -> Result<()> {
        config.check()
    }

    fn create(config: &PriorityConfig) -> Self {
        let urgency = Urgency::new(config.ageing.map(millis_ceil));
        Self::with(config, &config.leasing, Lined::new(urgency), usize::MAX)
    }

    fn config(&self) -> &PriorityConfig {
        &self.config
    }

    fn reconfigure(&mut self, now: Timestamp, config: &PriorityConfig) -> Result<()> {
        if config.ageing != self.config.ageing {
            self.begin(now);
            match self.backlog.lines.len() {
                0 => {}
                ready => return Err(PriorityConfig::ageing_of_ready(ready as u64)),
            }
            self.backlog.lines = Urgency::new(config.ageing.map(millis_ceil));
        }
        self.reconfigure_leasing(now, &config.leasing);
        self.config = config.clone();
        Ok(())
    }

    fn agrees(&self, asked: &PriorityConfig) -> Result<()> {
        asked.check_stored(&self.config)
    }
}

impl State<Priority> {
    pub(crate) fn enqueue(&mut self, now: Timestamp, messages: &[Prioritized]) -> Vec<Pushed> {
        let now = self.begin(now);
        let admit = |message: &Prioritized| {
            self.admit(&message.push, now, |state, slot| {
                state.entries[slot].priority = message.priority;
                state.enter(slot, &message.push, now);
            })
        };
        messages.iter().map(admit).collect()
    }
}
