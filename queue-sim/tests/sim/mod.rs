//! Many runs of one kind on one backend: what failed before first, then seeds, each twice.

use std::{env, path::Path};

use queue_core::QueueKind;
use queue_sim::{
    report::{replay_line, story, timeline},
    run::{Failure, Regressions, Relapse, Runs, Scenario},
    world::Ground,
};

/// With fewer seeds than this, not every goal may be reached.
const ENOUGH: u64 = 300;

/// Plays what is kept and so many seeds, or as many as `QUEUE_SIM_SEEDS` says; fails if a rule is
/// broken, if a run is not the same again, or if the runs did not get to see what they must.
/// `unreached` are the goals that this backend cannot reach, each for a reason.
pub(crate) fn holds(
    kind: QueueKind,
    backend: &str,
    ground: &mut dyn Ground,
    seeds: u64,
    unreached: &[&str],
) {
    let seeds = env::var("QUEUE_SIM_SEEDS").map_or(seeds, |seeds| {
        seeds.parse().expect("QUEUE_SIM_SEEDS: a whole number")
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sim-regressions");
    let regressions = Regressions::of(&folder, kind, backend);
    let scenario = Scenario::new(kind);
    let mut runs = Runs::new(scenario.clone(), ground).twice();
    relapses(&mut runs, &regressions, backend);

    for seed in 0..seeds {
        runs.seed(seed);
        assert!(
            runs.failures().is_empty(),
            "\n{}\n{}",
            told(&scenario, backend, runs.failures()),
            keep(&regressions, runs.failures()),
        );
    }
    let tally = runs.tally();
    let mixes = &tally.inconclusive_mixes;
    assert!(
        tally.passes(),
        "{} of {seeds} runs are inconclusive: {mixes:?}",
        tally.inconclusive
    );
    let distinct = tally.distinct();
    assert!(
        distinct * 100 >= seeds * 99,
        "only {distinct} of {seeds} seeds lead to a history of their own"
    );
    if seeds >= ENOUGH {
        let missed = runs.missed_goals().iter();
        let missed: Vec<_> = missed.filter(|goal| !unreached.contains(goal)).collect();
        assert!(missed.is_empty(), "no run reached {missed:?}");
        let unstruck = runs.unstruck_faults();
        assert!(unstruck.is_empty(), "no run met {unstruck:?}");
    }
}

fn told(scenario: &Scenario, backend: &str, failures: &[Failure]) -> String {
    let stories = failures
        .iter()
        .map(|failure| story(scenario, backend, failure));
    stories.collect()
}

fn keep(regressions: &Regressions, failures: &[Failure]) -> String {
    for failure in failures {
        let Failure {
            violation, played, ..
        } = failure;
        if let Err(error) = regressions.keep(violation.rule, &played.plan) {
            return format!("the plan could not be kept in {regressions}: {error}");
        }
    }
    format!("the plan is kept in {regressions}: check it in with what mends it")
}

fn relapses(runs: &mut Runs<'_>, regressions: &Regressions, backend: &str) {
    let kept = regressions.read().expect("the plans that are kept");
    for regression in kept {
        let line = replay_line(runs.scenario(), backend, &regression.plan);
        let why = match regression.replay(runs) {
            Ok(()) => continue,
            Err(Relapse::Broken(replayed)) => {
                let played = &replayed.played;
                let violations = replayed.violations().iter();
                let pages = violations
                    .map(|violation| timeline(&played.config, &played.history, violation, None));
                pages.collect::<String>()
            }
            Err(Relapse::Inconclusive) => "the checks ran out of their budget".to_owned(),
            Err(Relapse::Stale(unmet)) => format!(
                "{} decisions of the plan are never asked for, {} when it was kept: it no longer \
                 fits the code and proves nothing. Find the failure anew, or take the line out",
                unmet.len(),
                regression.unmet
            ),
        };
        panic!(
            "a plan of {regressions}, which broke {}:\n{why}\nreplay: {line}",
            regression.rule
        );
    }
}
