use std::{sync::Arc, time::Duration};

use queue_core::QueueName;

use crate::{
    engine::{End, Executor},
    history::{Event, History, Journal},
    plan::{Chance, Decisions, Lane},
    world::{EPOCH, Environment, Faults, RunContext, World},
};

/// What every run has around its lanes: an executor, a journal, and a fresh world.
pub(crate) struct Frame {
    pub(crate) context: RunContext,
    pub(crate) world: Arc<dyn World>,
}

impl Frame {
    /// Begins a run in this environment. Within virtual time.
    pub(crate) fn new(
        environment: &mut dyn Environment,
        decisions: &Decisions,
        preemption: Chance,
        faults: Faults,
        ttl: Duration,
    ) -> Self {
        let context = RunContext {
            executor: Executor::new(decisions.clone(), preemption),
            decisions: decisions.clone(),
            journal: Journal::new(EPOCH, environment.has_truth()),
            faults,
            ttl,
        };
        let world = environment.world(&context);
        Self { context, world }
    }

    /// Writes down what the backend keeps that none of its messages explains.
    pub(crate) async fn look_for_leftovers(&self) {
        for left in self.world.leftovers().await {
            self.context.journal.note(Event::Broken("leftovers", left));
        }
    }

    /// Ends the run: drops what is left of these lanes, and answers what happened.
    pub(crate) fn end(&self, lanes: impl IntoIterator<Item = Lane>, end: &End) -> History {
        // What is left holds the executor, which holds what is left.
        for lane in lanes {
            self.context.executor.crash(lane);
        }
        self.context.journal.take().up_to_where_it_spins(end)
    }
}

/// The name of the queue where a run has only one.
pub(crate) fn queue_name() -> QueueName {
    QueueName::new("queue").expect("a name of letters")
}
