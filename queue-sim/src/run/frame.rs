use std::{sync::Arc, time::Duration};

use queue_core::QueueName;

use crate::{
    engine::{End, Executor},
    history::{Event, History, Journal},
    plan::{Chance, Decisions, Process},
    world::{EPOCH, Environment, FaultMix, RunContext, World, by_rule},
};

/// The environment of every run: an executor, a journal, and a fresh world.
pub(crate) struct Frame {
    pub(crate) context: RunContext,
    pub(crate) world: Arc<dyn World>,
}

impl Frame {
    /// Begins a run in this environment. The caller must be in virtual time.
    pub(crate) fn new(
        environment: &mut dyn Environment,
        decisions: &Decisions,
        preemption: Chance,
        faults: FaultMix,
        lease_time: Duration,
    ) -> Self {
        let context = RunContext {
            executor: Executor::new(decisions.clone(), preemption),
            decisions: decisions.clone(),
            journal: Journal::new(EPOCH, environment.has_truth()),
            faults,
            lease_time,
        };
        let world = environment.world(&context);
        Self { context, world }
    }

    /// Writes down the backend's data that no message, dead letter or item explains.
    pub(crate) async fn note_leaks(&self) {
        for left in self.world.leaks().await {
            let event = Event::Broken("leftovers", by_rule(&left));
            self.context.journal.note(event);
        }
    }

    /// Ends the run: drops the rest of these processes, and returns the history.
    pub(crate) fn end(&self, processes: impl IntoIterator<Item = Process>, end: &End) -> History {
        // The executor holds these tasks, and they hold the executor.
        for process in processes {
            self.context.executor.crash(process);
        }
        self.context.journal.take().up_to_where_it_spins(end)
    }
}

/// The queue's name in a run that has only one.
pub(crate) fn queue_name() -> QueueName {
    QueueName::new("queue").expect("a name of letters")
}
