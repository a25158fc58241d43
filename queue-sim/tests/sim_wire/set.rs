//! A run of a few calls, in which the plan decides each fault.

use std::{future::Future, num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::{Layered, *};
use queue_sim::{
    engine::{End, Executor, in_virtual_time},
    history::{History, Journal, Recorder},
    plan::{Decisions, Process},
    wire::RedisEnvironment,
    world::{EPOCH, Environment, Fault, FaultMix, RunContext, World},
};

pub(crate) const LEASE_TIME: Duration = Duration::from_millis(20);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) struct Set {
    pub(crate) context: RunContext,
    pub(crate) world: Arc<dyn World>,
}

impl Set {
    /// A client of this process's own, with its open queue.
    pub(crate) async fn backend(&self, process: u8) -> Layered<Recorder> {
        let backend = self.world.connect(Process(process)).await.unwrap();
        let recorder = Recorder::new(Process(process), self.context.journal.clone());
        Layered::new(recorder, backend)
    }

    pub(crate) async fn reliable(&self, process: u8) -> Arc<dyn ReliableQueue> {
        let backend = self.backend(process).await;
        let config = ReliableConfig::default();
        backend.open_reliable(&name(), &config).await.unwrap()
    }

    /// From here on the process is at this step.
    pub(crate) fn step(&self, process: u8, step: u32) {
        self.context.decisions.enter(Process(process), step);
    }

    /// Milliseconds since the beginning.
    pub(crate) fn time(&self) -> u64 {
        self.context.journal.now().as_millis() - EPOCH.as_millis()
    }
}

/// Leases one message, if one is ready.
pub(crate) async fn lease_one<Q: Leasing + ?Sized>(
    queue: &Q,
    lease_time: Duration,
) -> Option<Delivery> {
    let leased = queue.lease(NonZeroUsize::MIN, lease_time).await.unwrap();
    leased.deliveries.into_iter().next()
}

pub(crate) fn name() -> QueueName {
    QueueName::new("queue").unwrap()
}

/// Plays this on process 1. Faults strike only where the plan says so, by a fault's number at its choice
/// point.
pub(crate) fn play<F>(
    environment: &mut RedisEnvironment,
    faults: &[Fault],
    plan: &str,
    act: impl FnOnce(Set) -> F,
) -> History
where
    F: Future<Output = ()> + Send + 'static,
{
    let plan = plan.parse().unwrap();
    play_as(environment, faults, Decisions::planned(plan), act)
}

/// Plays this on process 1, by these decisions.
pub(crate) fn play_as<F>(
    environment: &mut RedisEnvironment,
    faults: &[Fault],
    decisions: Decisions,
    act: impl FnOnce(Set) -> F,
) -> History
where
    F: Future<Output = ()> + Send + 'static,
{
    in_virtual_time(async {
        let faults = faults.iter();
        let context = RunContext {
            executor: Executor::new(decisions.clone(), 50),
            decisions,
            journal: Journal::new(EPOCH, true),
            faults: faults.fold(FaultMix::none(), |mix, fault| mix.with(*fault, 20)),
            lease_time: LEASE_TIME,
        };
        let world = environment.world(&context);
        let executor = context.executor.clone();
        let journal = context.journal.clone();
        executor.spawn(Process(1), Box::pin(act(Set { context, world })));
        let end = executor.run(Duration::from_secs(3_000)).await;
        assert_eq!(end, End::Finished);
        journal.take()
    })
}
