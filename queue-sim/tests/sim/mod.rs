//! Many runs of one kind on one backend: kept plans first, then seeds, each twice.

#[path = "../support/kinds.rs"]
pub(crate) mod kinds;

use std::path::Path;

use queue_core::{QueueKind, call::Call};
use queue_sim::{
    plan::Regressions,
    report::{relapse, story},
    run::{Failure, Played, Runs, Scenario},
    sim::seeds_or,
    workload::Size,
    world::Environment,
};

/// Fewer seeds than this may miss a goal.
const ENOUGH: u64 = 300;

/// The number of seeds of each kind, unless `QUEUE_SIM_SEEDS` sets another.
const SEEDS: u64 = 500;

/// The least number of additional seeds of each rare size: many messages, large ones.
const OF_A_SIZE: [(Size, u64); 2] = [(Size::Crowd, 12), (Size::Heavy, 6)];

/// Up to so many times as many are played until the size's goals are reached: one seed in four reaches
/// the rarest.
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

/// Plays the kept plans, then the seeds. Fails if a run breaks a rule, if it is not the same again,
/// or if the runs miss a goal, a call or a fault.
pub(crate) fn hold(kind: QueueKind, environment: &mut dyn Environment) {
    let seeds = seeds_or(SEEDS);
    let backend = &*environment.name().to_owned();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sim-regressions");
    let regressions = Regressions::of(&folder, &kind.to_string(), backend);
    let scenario = Scenario::new(kind);
    let mut runs = Runs::new(scenario.clone(), environment).twice();
    for kept in regressions.read().expect("the plans that are kept") {
        if let Err(why) = runs.runner().regression(&kept) {
            panic!("\n{}", relapse(&scenario, backend, &kept, &why));
        }
    }

    for seed in 0..seeds {
        runs.seed(seed);
        assert!(
            runs.failures().is_empty(),
            "\n{}\n{}",
            told(&scenario, backend, runs.failures()),
            keep(&regressions, runs.failures()),
        );
    }
    for (size, seeds) in OF_A_SIZE {
        let missed = |runs: &Runs<'_>| {
            let reached = &runs.totals().goals;
            let mut missed = size.goals(kind);
            missed.retain(|goal| !reached.contains(goal));
            missed
        };
        for seed in 0..MOST * seeds {
            if seed >= seeds && missed(&runs).is_empty() {
                break;
            }
            runs.seed_but_for(seed, &size.plan());
            assert!(
                runs.failures().is_empty(),
                "\n{}\n{}",
                told(&scenario, backend, runs.failures()),
                keep(&regressions, runs.failures()),
            );
        }
        let missed = missed(&runs);
        assert!(missed.is_empty(), "no run of {size:?} reached {missed:?}");
    }
    let totals = runs.totals();
    let mixes = &totals.inconclusive_mixes;
    assert!(
        totals.passes(),
        "{} of {seeds} runs are inconclusive: {mixes:?}",
        totals.inconclusive
    );
    let distinct = totals.distinct();
    assert!(
        distinct * 100 >= seeds * 99,
        "only {distinct} of {seeds} seeds lead to a history of their own"
    );
    if seeds >= ENOUGH {
        let missed = runs.missed_goals();
        assert!(missed.is_empty(), "no run reached {missed:?}");
        let opens = (kind == QueueKind::Bounded).then_some("open_or_resize");
        let mut uncalled: Vec<&str> = Call::names(kind).chain(opens).collect();
        uncalled.retain(|name| !totals.calls.contains(name));
        assert!(uncalled.is_empty(), "no run called {uncalled:?}");
        let unstruck = runs.unstruck_faults();
        assert!(unstruck.is_empty(), "no run met {unstruck:?}");
    }
}

fn told(scenario: &Scenario, backend: &str, failures: &[(u64, Failure<Played>)]) -> String {
    let stories = failures
        .iter()
        .map(|failure| story(scenario, backend, failure));
    stories.collect()
}

fn keep(regressions: &Regressions, failures: &[(u64, Failure<Played>)]) -> String {
    for (_, Failure { finding, run, .. }) in failures {
        if let Err(error) = regressions.keep(&finding.rule, &run.plan) {
            return format!("the plan could not be kept: {error}");
        }
    }
    format!("the plan is kept in {regressions}: check it in with what mends it")
}
