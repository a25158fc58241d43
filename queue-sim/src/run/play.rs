use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use queue_core::{Guarantees, QueueKind};

use super::{Frame, Played, Simulation, queue_name};
use crate::{
    check::{Budget, Finding, Verdict, check},
    engine::{End, in_virtual_time},
    plan::{ChoicePoint, Decisions, Plan, Process, What},
    workload::{Driver, Fit, Mode, Pool, Workload, drain, remove},
    world::{Environment, Fault, FaultMix},
};

/// The queue, its processes and its faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The kind of queue.
    pub kind: QueueKind,
    /// The number of processes that use it at once.
    pub processes: u8,
    /// The number of steps of each process.
    pub steps: u32,
    /// The faults that may strike; each run draws them if this is `None`.
    pub mode: Option<Mode>,
    /// The faults that strike, and how often; each run draws them if this is `None`. Faults that
    /// the environment or the mode lacks never strike.
    pub faults: Option<FaultMix>,
    /// The queue's guarantees, if it lacks some calls: processes then make only calls that it has, and the rules that
    /// it breaks are still checked. Bodies are unique, unless `equal_bodies` says otherwise.
    pub guarantees: Option<Guarantees>,
    /// Whether processes push equal bodies, if `guarantees` are given.
    pub equal_bodies: bool,
}

impl Scenario {
    /// Three processes of twelve steps. Each run draws everything else.
    pub const fn new(kind: QueueKind) -> Self {
        Self {
            kind,
            processes: 3,
            steps: 12,
            mode: None,
            faults: None,
            guarantees: None,
            equal_bodies: false,
        }
    }
}

/// The longest run. It is below the hour after which a Redis client without another timer looks
/// again.
const HORIZON: Duration = Duration::from_secs(3_000);

/// The steps of a process that only waits. It mostly waits once, until the other processes have ended.
const AUDIENCE_STEPS: u32 = 3;

/// A run with this number of polls in one instant spins. The most polls of other runs are in a drain of a strict group
/// of a thousand messages: it takes one at a time, by three calls, of some six polls each.
const SPINNING: u32 = 60_000;

impl Simulation for Scenario {
    type Run = Played;

    /// Plays processes and faults by these decisions. Then it ends the faults, drains the queue,
    /// and removes it.
    fn play(&self, environment: &mut dyn Environment, decisions: &Decisions) -> Played {
        in_virtual_time(run(self, environment, decisions))
    }

    fn plan<'a>(&self, played: &'a Played) -> &'a Plan {
        &played.plan
    }

    fn judge(&self, played: &Played) -> Verdict {
        check(played, Budget::default())
    }

    fn differ(&self, first: &Played, second: &Played) -> Option<Finding> {
        if first.history == second.history && first.end == second.end {
            return None;
        }
        let mut records = first.history.records.iter().zip(&second.history.records);
        let different = records.find(|(one, other)| one != other);
        let message = match different {
            Some((one, other)) => format!("once {one:?}, once {other:?}"),
            None => format!(
                "once {} calls and {:?}, once {} calls and {:?}",
                first.history.records.len(),
                first.end,
                second.history.records.len(),
                second.end
            ),
        };
        let message = format!("the same decisions lead to different runs: {message}");
        let call = different.map(|(one, _)| one.id);
        Some(Finding::new("determinism", message).shown_by(call))
    }

    fn operations(&self, played: &Played) -> usize {
        played.history.operations()
    }
}

fn draw_mode(decisions: &Decisions) -> Mode {
    let point = ChoicePoint::new(Process::WORLD, 0, What::Parameter);
    match decisions.draw(point, 2, 30) {
        0 => Mode::Faults,
        _ => Mode::Waiting,
    }
}

/// The faults of the scenario, or others that the environment and the workload allow.
fn faults(
    scenario: &Scenario,
    workload: &Workload,
    environment: &dyn Environment,
    decisions: &Decisions,
    mode: Mode,
) -> FaultMix {
    match &scenario.faults {
        Some(fixed) => fixed.clone().only(|fault| mode.allows(fault)),
        None => {
            let possible = environment.faults().iter().copied();
            let possible = possible.filter(|fault| mode.allows(*fault) && workload.bears(*fault));
            FaultMix::drawn(decisions, &possible.collect::<Vec<Fault>>())
        }
    }
}

/// Starts all processes. Those beyond `players` are the audience.
fn enter(first: &Driver, players: u8, processes: u8) {
    for process in 1..=processes {
        let mut driver = first.clone();
        driver.process = Process(process);
        driver.is_audience = process > players;
        if driver.is_audience {
            driver.steps = driver.steps.min(AUDIENCE_STEPS);
        }
        driver.enter();
    }
}

/// Drains the queue as one more process, and removes it.
async fn empty(frame: &Frame, driver: &Driver, last: Process) -> End {
    let executor = &frame.context.executor;
    let driver = || Driver {
        process: last,
        pool: Pool::default(),
        done: Arc::default(),
        ..driver.clone()
    };
    executor.spawn(last, Box::pin(drain(driver())));
    let end = executor.run(HORIZON).await;
    frame.note_leaks().await;
    // Recipes remove no queues.
    if end != End::Finished || driver().fit.is_some() {
        return end;
    }
    executor.spawn(last, Box::pin(remove(driver())));
    executor.run(HORIZON).await
}

async fn run(
    scenario: &Scenario,
    environment: &mut dyn Environment,
    decisions: &Decisions,
) -> Played {
    let mode = scenario.mode.unwrap_or_else(|| draw_mode(decisions));
    let mut workload = Workload::draw(scenario.kind, mode, decisions);
    let guarantees = scenario.guarantees.clone();
    let fit = guarantees.map(|guarantees| Fit::new(guarantees, scenario.equal_bodies));
    if let Some(fit) = &fit {
        fit.workload(&mut workload);
    }
    let workload = Arc::new(workload);
    let faults = faults(scenario, &workload, &*environment, decisions, mode);
    let frame = Frame::new(
        environment,
        decisions,
        workload.preemption,
        faults,
        workload.lease_time,
    );
    let executor = &frame.context.executor;
    executor.spins_after(SPINNING);
    let first = Driver {
        process: Process(1),
        steps: scenario.steps,
        context: frame.context.clone(),
        world: Arc::clone(&frame.world),
        name: queue_name(),
        workload: Arc::clone(&workload),
        pool: Pool::default(),
        done: Arc::default(),
        is_audience: false,
        fit,
    };
    let processes = scenario.processes + workload.audience;
    enter(&first, scenario.processes, processes);
    let mut end = executor.run(HORIZON).await;
    if end == End::Finished {
        end = empty(&frame, &first, Process(processes + 1)).await;
    }
    first
        .done
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
    let goals = frame.context.journal.goals();
    Played {
        config: workload.config.clone(),
        mode,
        history: frame.end((0..=processes + 1).map(Process), &end),
        end,
        plan: decisions.taken(),
        goals,
    }
}
