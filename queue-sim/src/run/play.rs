use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
    time::Duration,
};

use queue_core::{QueueConfig, QueueKind, QueueName};

use crate::{
    engine::{End, Executor, in_virtual_time},
    history::{Event, History, Journal},
    plan::{Decisions, Lane, Plan, Site, What},
    workload::{Mode, Player, Pool, Workload, drain},
    world::{EPOCH, Fault, Faults, Ground, Stage},
};

/// What is played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The kind of queue.
    pub kind: QueueKind,
    /// How many lanes use it at once.
    pub lanes: u8,
    /// How many steps each of them makes.
    pub steps: u32,
    /// What may go wrong; drawn for each run if it is not given.
    pub mode: Option<Mode>,
    /// Which faults strike, and how often; drawn for each run if not given. What the ground or the
    /// mode does not have does not strike.
    pub faults: Option<Faults>,
}

impl Scenario {
    /// Three lanes of twelve steps, and everything else drawn.
    pub const fn new(kind: QueueKind) -> Self {
        Self {
            kind,
            lanes: 3,
            steps: 12,
            mode: None,
            faults: None,
        }
    }
}

/// A run that was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// How the queue was configured.
    pub config: QueueConfig,
    /// What could go wrong.
    pub mode: Mode,
    /// What happened.
    pub history: History,
    /// How it ended.
    pub end: End,
    /// What was decided: plays the same again.
    pub plan: Plan,
    /// What was reached of what runs must reach now and then.
    pub goals: BTreeSet<&'static str>,
}

/// No run is longer. Below the hour after which a Redis client without another timer looks again.
const HORIZON: Duration = Duration::from_secs(3_000);

/// Whoever only waits does so a few times: once is mostly until the others are done.
const AUDIENCE_STEPS: u32 = 3;

/// Some hundred polls are the most that any run makes in one instant.
const SPINNING: u32 = 20_000;

/// Plays one run, in virtual time, on this thread: lanes and faults, as the decisions are; then the
/// faults end, and the queue is drained.
///
/// The same decisions play the same run.
///
/// # Panics
///
/// Inside an async runtime.
pub fn play(scenario: &Scenario, ground: &mut dyn Ground, decisions: Decisions) -> Played {
    in_virtual_time(run(scenario, ground, decisions))
}

async fn run(scenario: &Scenario, ground: &mut dyn Ground, decisions: Decisions) -> Played {
    let mode = scenario.mode.unwrap_or_else(|| {
        let site = Site::new(Lane::WORLD, 0, What::Parameter);
        match decisions.draw(site, 2, 30) {
            0 => Mode::Faults,
            _ => Mode::Waiting,
        }
    });
    let workload = Arc::new(Workload::draw(scenario.kind, mode, &decisions));
    let possible = ground.faults().iter().copied();
    let possible: Vec<Fault> = possible
        .filter(|fault| mode.allows(*fault) && workload.bears(*fault))
        .collect();
    let faults = match &scenario.faults {
        Some(fixed) => fixed.clone().only(|fault| mode.allows(fault)),
        None => Faults::drawn(&decisions, &possible),
    };
    let journal = Journal::new(EPOCH, ground.has_truth());
    let executor = Executor::new(decisions.clone(), workload.preemption);
    executor.spins_after(SPINNING);
    let stage = Stage {
        executor: executor.clone(),
        decisions: decisions.clone(),
        journal: journal.clone(),
        faults,
        ttl: workload.ttl,
    };
    let world = ground.world(&stage);
    let player = |lane| Player {
        lane: Lane(lane),
        steps: scenario.steps,
        stage: stage.clone(),
        world: Arc::clone(&world),
        name: name(),
        workload: Arc::clone(&workload),
        pool: Pool::default(),
        done: Arc::default(),
        is_audience: false,
    };
    let first = player(1);
    for lane in 1..=scenario.lanes {
        let mut player = first.clone();
        player.lane = Lane(lane);
        player.enter();
    }
    let lanes = scenario.lanes + workload.audience;
    for lane in scenario.lanes + 1..=lanes {
        let mut player = first.clone();
        player.lane = Lane(lane);
        player.steps = player.steps.min(AUDIENCE_STEPS);
        player.is_audience = true;
        player.enter();
    }
    let mut end = executor.run(HORIZON).await;
    if end == End::Finished {
        let last = Lane(lanes + 1);
        executor.spawn(last, Box::pin(drain(player(last.0))));
        end = executor.run(HORIZON).await;
        for left in world.leftovers().await {
            journal.note(Event::Broken("leftovers", left));
        }
    }
    // What is left holds the executor, which holds what is left.
    first
        .done
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
    for lane in 0..=lanes + 1 {
        executor.crash(Lane(lane));
    }
    let plan = decisions.taken();
    let goals = journal.goals();
    Played {
        config: workload.config.clone(),
        mode,
        history: journal.take().up_to_where_it_spins(&end),
        end,
        plan,
        goals,
    }
}

/// What the queue of a run is called.
pub(crate) fn name() -> QueueName {
    QueueName::new("queue").expect("a name of letters")
}
