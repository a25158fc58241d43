//! A failure while proptest shrinks it.
//!
//! `prop_flat_map` makes a new strategy for each simpler input, and so a new simulation and a new tree. A tree that
//! knew nothing of the failure would draw another plan, which mostly passes, and which would be as long as the first
//! one. So a failed tree is registered while it lives. Trees that are drawn meanwhile, on the same thread and for a
//! simulation of the same name, find it and begin with its plan.

use std::{
    cell::RefCell,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use proptest::test_runner::Reason;

use crate::{
    plan::{Decisions, Plan},
    run::{Replayed, Runner},
    sim::builder::Sim,
};

/// The most runs that shrinking one failure plays here, beside the runs that proptest counts. No clock limits it
/// unless the test asks for that: a busy machine would end with a longer counterexample than an idle one.
const RUNS: u32 = 10_000;
/// The number of seeds that are searched for a shorter failure, or for the same failure with a simpler input.
const SEEDS: u32 = 64;
/// The same number if only the test itself can detect a failure, so that proptest plays each seed.
const SEEDS_PLAYED: u32 = 32;

/// A failure that is being shrunk.
#[derive(Debug)]
pub(super) struct Failing {
    /// The simulation's name.
    name: String,
    /// When proptest's own limit on the time ends it.
    until: Option<Instant>,
    state: Mutex<FailingState>,
}

#[derive(Debug)]
struct FailingState {
    /// The plan that failed last.
    plan: Plan,
    /// The rule that it breaks, if one of the simulation's own checks fails.
    rule: Option<String>,
    /// The number of trees drawn since.
    drawn: u32,
    /// The number of runs that are left.
    left: u32,
}

thread_local! {
    static ALIVE: RefCell<Vec<Weak<Failing>>> = const { RefCell::new(Vec::new()) };
}

impl Failing {
    /// Begins to shrink this failure of a simulation. It lasts as long as a tree holds it.
    pub(super) fn begin(sim: &Sim, plan: Plan, patience: Option<Duration>) -> Arc<Self> {
        let failing = Arc::new(Self {
            name: sim.name.clone(),
            until: patience.map(|patience| Instant::now() + patience),
            state: Mutex::new(FailingState {
                plan,
                rule: None,
                drawn: 0,
                left: RUNS,
            }),
        });
        ALIVE.with_borrow_mut(|alive| {
            alive.retain(|other| other.strong_count() > 0);
            alive.push(Arc::downgrade(&failing));
        });
        failing
    }

    /// The failure of a simulation of this name that is being shrunk on this thread.
    pub(super) fn of(sim: &Sim) -> Option<Arc<Self>> {
        ALIVE.with_borrow(|alive| {
            let mut alive = alive.iter().rev().filter_map(Weak::upgrade);
            alive.find(|failing| failing.name == sim.name)
        })
    }

    /// Notes that this plan failed.
    pub(super) fn failed(&self, plan: Plan) {
        let mut state = self.lock();
        state.plan = plan;
        state.drawn = 0;
    }

    /// Shrinks the plan that failed last. `None` if the simulation's own checks hold in its run.
    pub(super) fn shrink(&self, sim: &Sim) -> Option<Plan> {
        let plan = self.lock().plan.clone();
        let mut environment = sim.environment();
        let mut runner = Runner::new(sim.clone(), &mut *environment);
        let Replayed { run, verdict, .. } = runner.plan(&plan);
        let finding = verdict.findings().first().cloned();
        self.lock().rule = finding.as_ref().map(|finding| finding.rule.to_string());
        let may_play = || self.goes_on();
        let shrunk = runner.shrink_while(run, finding?, may_play);
        let shortest = sim.shortest(&mut runner, shrunk, 0..u64::from(SEEDS), &may_play);
        Some(shortest.run.plan)
    }

    /// The plan for a case of a simpler input; `None` leaves it to the seed.
    ///
    /// Proptest asks again and again for other cases of an input whose cases pass. Only an error makes it go on to the
    /// next input when there is no more to find.
    pub(super) fn draw(&self, sim: &Sim, seed: u64) -> Result<Option<Plan>, Reason> {
        if !self.goes_on() {
            return Err("shrinking has taken long enough".into());
        }
        let (plan, rule) = {
            let mut state = self.lock();
            let most = state.rule.as_ref().map_or(SEEDS_PLAYED, |_| 0);
            if state.drawn > most {
                state.drawn = 0;
                return Err("this input has been looked through".into());
            }
            state.drawn += 1;
            if state.drawn > 1 {
                return Ok(None);
            }
            (state.plan.clone(), state.rule.clone())
        };
        Ok(match rule {
            None => Some(plan),
            Some(rule) => self.search(sim, &rule, plan, seed),
        })
    }

    /// A plan by which this simulation breaks the rule: the failure's plan, or else the plan of a seed.
    fn search(&self, sim: &Sim, rule: &str, plan: Plan, seed: u64) -> Option<Plan> {
        let mut environment = sim.environment();
        let mut runner = Runner::new(sim.clone(), &mut *environment);
        let seeds = (0..SEEDS).map(|n| Decisions::seeded(seed.wrapping_add(n.into())));
        let all = std::iter::once(Decisions::planned(plan)).chain(seeds);
        let mut played = all.take_while(|_| self.goes_on()).map(|decisions| {
            let run = runner.play(&decisions);
            let findings = sim.findings(&run);
            let fails = findings.iter().any(|finding| finding.rule == rule);
            fails.then_some(run.plan)
        });
        played.find_map(|failed| failed)
    }

    /// Whether another run may be played. Each call counts as a run.
    fn goes_on(&self) -> bool {
        let mut state = self.lock();
        let goes_on = state.left > 0 && self.until.is_none_or(|until| Instant::now() < until);
        state.left = state.left.saturating_sub(1);
        goes_on
    }

    fn lock(&self) -> MutexGuard<'_, FailingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
