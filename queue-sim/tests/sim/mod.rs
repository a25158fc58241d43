//! Many runs of one kind on one backend: kept plans first, then seeds, each twice. Some seeds are the same
//! each day, and others depend on the day.

#[path = "../support/kinds.rs"]
pub(crate) mod kinds;
#[path = "../support/shapes.rs"]
mod shapes;

use std::{path::Path, time::SystemTime};

use queue_core::{QueueKind, call::Call};
use queue_sim::{
    plan::{Misfit, Plan, Regressions},
    report::{failure_report, relapse},
    run::{Played, Relapse, RunFailure, Runs, Scenario},
    sim::seeds_or,
    workload::Size,
    world::Environment,
};

/// Fewer seeds than this may miss a goal.
const ENOUGH: u64 = 300;

/// The number of seeds of each kind, unless `QUEUE_SIM_SEEDS` sets another.
const SEEDS: u64 = 500;

/// The number of seeds in ten that are the same each day. They reach the goals, or the additional seeds do.
const FIXED: u64 = 6;

/// The least number of additional seeds of each rare size: many messages, large ones.
const OF_A_SIZE: [(Size, u64); 2] = [(Size::Crowd, 12), (Size::Heavy, 6)];

/// At most this factor times the least number are played until the size's goals are reached: one seed in
/// four reaches the rarest.
const MOST: u64 = 4;

/// A test of each kind in this environment.
macro_rules! each_kind {
    ($environment:expr) => {
        sim::kinds::each_kind!(sim::each_kind! $environment,);
    };
    ($environment:expr, $($test:ident $kind:ident),*) => {
        $(
            #[test]
            fn $test() {
                sim::hold(queue_core::QueueKind::$kind, &mut $environment);
            }
        )*
    };
}
pub(crate) use each_kind;

/// Plays the kept plans, then the seeds. Fails if a run breaks a rule, if it is not the same again, or if
/// the runs miss a goal, a call or a fault. A kept plan that no longer fits is reported last: a bug may
/// change a plan's course too, and then the broken rule is the better message.
pub(crate) fn hold(kind: QueueKind, environment: &mut dyn Environment) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sim-regressions");
    hold_with(&folder, seeds_or(SEEDS), kind, environment);
}

/// The same with the kept plans of this folder, and this number of seeds.
pub(crate) fn hold_with(
    folder: &Path,
    seeds: u64,
    kind: QueueKind,
    environment: &mut dyn Environment,
) {
    let backend = environment.name().to_owned();
    let tried = Tried {
        regressions: Regressions::of(folder, &kind.to_string(), &backend),
        scenario: Scenario::new(kind),
        backend,
    };
    let mut runs = Runs::new(tried.scenario.clone(), environment).twice();
    let misfits = tried.kept(&mut runs);
    let fixed = seeds * FIXED / 10;
    for seed in 0..fixed {
        runs.seed(seed);
        tried.passed(&runs);
    }
    // Every third has none of these parameters.
    let shapes = shapes::SHAPES.map(|shape| shape.parse::<Plan>().expect("a plan"));
    for (seed, nth) in (of_the_day()..).take((seeds - fixed) as usize).zip(0..) {
        match nth % 3 {
            0 => runs.seed(seed),
            nth => runs.seed_but_for(seed, &shapes[nth - 1]),
        }
        tried.passed(&runs);
    }
    tried.sizes(&mut runs);
    if seeds >= ENOUGH {
        for seed in fixed..MOST * seeds {
            if missed(&runs, kind).is_empty() {
                break;
            }
            runs.seed(seed);
            tried.passed(&runs);
        }
        let missed = missed(&runs, kind);
        assert!(missed.is_empty(), "no run {missed:?}");
    }
    prove_something(&runs, seeds);
    let misfits: Vec<String> = misfits.iter().map(Misfit::to_string).collect();
    assert!(
        misfits.is_empty(),
        "every seed passes, and so does every kept plan, but not all of these prove anything:\n\n{}",
        misfits.join("\n")
    );
}

/// A scenario on a backend, and its kept plans.
struct Tried {
    regressions: Regressions,
    scenario: Scenario,
    backend: String,
}

impl Tried {
    /// Plays the kept plans. Returns those that no longer fit.
    fn kept(&self, runs: &mut Runs<'_>) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        for kept in self.regressions.read().expect("the plans that are kept") {
            match runs.runner().regression(&kept) {
                Ok(_) => {}
                Err(Relapse::Misfit(misfit)) => misfits.push(misfit),
                Err(why) => panic!("\n{}", relapse(&self.scenario, &self.backend, &kept, &why)),
            }
        }
        misfits
    }

    /// Fails if a run broke a rule.
    fn passed(&self, runs: &Runs<'_>) {
        assert!(
            runs.failures().is_empty(),
            "\n{}\n{}",
            reports_of(&self.scenario, &self.backend, runs.failures()),
            keep(&self.regressions, runs.failures()),
        );
    }

    /// Plays runs of each size until they have reached its goals.
    fn sizes(&self, runs: &mut Runs<'_>) {
        for (size, seeds) in OF_A_SIZE {
            let missed = |runs: &Runs<'_>| {
                let reached = &runs.totals().goals;
                let mut missed = size.goals(self.scenario.kind);
                missed.retain(|goal| !reached.contains(goal));
                missed
            };
            for seed in 0..MOST * seeds {
                if seed >= seeds && missed(runs).is_empty() {
                    break;
                }
                runs.seed_but_for(seed, &size.plan());
                self.passed(runs);
            }
            let missed = missed(runs);
            assert!(missed.is_empty(), "no run of {size:?} reached {missed:?}");
        }
    }
}

/// Fails if runs are inconclusive, or if many seeds lead to the same history.
fn prove_something(runs: &Runs<'_>, seeds: u64) {
    let totals = runs.totals();
    let mixes = &totals.inconclusive_mixes;
    assert!(
        totals.passes(),
        "{} of {} runs are inconclusive: {mixes:?}",
        totals.inconclusive,
        totals.runs
    );
    let distinct = totals.distinct();
    assert!(
        distinct * 100 >= seeds * 99,
        "only {distinct} of {seeds} seeds lead to a history of their own"
    );
}

/// The first seed of the day: each day has 100,000 seeds, so that no two days overlap, as in
/// `scripts/soak`.
fn of_the_day() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("after 1970").as_secs() / 86_400 * 100_000
}

/// The goals, calls and faults that no run has reached, made and met so far.
fn missed(runs: &Runs<'_>, kind: QueueKind) -> Vec<String> {
    let totals = runs.totals();
    let opens = (kind == QueueKind::Bounded).then_some("open_or_resize");
    let uncalled = Call::names(kind).chain(opens);
    let uncalled = uncalled.filter(|name| !totals.calls.contains(name));
    let goals = runs
        .missed_goals()
        .iter()
        .map(|goal| format!("reached {goal}"));
    let faults = runs.unstruck_faults();
    let faults = faults.iter().map(|fault| format!("met {fault:?}"));
    goals
        .chain(uncalled.map(|name| format!("called {name}")))
        .chain(faults)
        .collect()
}

fn reports_of(
    scenario: &Scenario,
    backend: &str,
    failures: &[(u64, RunFailure<Played>)],
) -> String {
    let reports = failures
        .iter()
        .map(|failure| failure_report(scenario, backend, failure));
    reports.collect()
}

fn keep(regressions: &Regressions, failures: &[(u64, RunFailure<Played>)]) -> String {
    for (_, RunFailure { finding, run, .. }) in failures {
        if let Err(error) = regressions.keep(&finding.rule, &run.plan) {
            return format!("the plan could not be kept: {error}");
        }
    }
    format!("the plan is kept in {regressions}: check it in with what mends it")
}
