//! Whole runs: the same decisions play the same run, on any server.

use std::{collections::BTreeSet, time::Instant};

use queue_core::QueueKind;
use queue_sim::{
    check::{Budget, Verdict, check},
    engine::End,
    history::Event,
    plan::Decisions,
    run::{Played, Runs, Scenario, Simulation},
    wire::RedisEnvironment,
    workload::Mode,
    world::{Fault, FaultMix},
};

fn seeded(environment: &mut RedisEnvironment, scenario: &Scenario, seed: u64) -> Played {
    scenario.play(environment, &Decisions::seeded(seed))
}

/// Plays each seed twice, and returns the runs.
fn twice(
    environment: &mut RedisEnvironment,
    scenario: &Scenario,
    seeds: u64,
    mut seen: impl FnMut(&Played),
) {
    let (before, start) = (environment.counts(), Instant::now());
    let mut distinct = BTreeSet::new();
    for seed in 0..seeds {
        let played = seeded(environment, scenario, seed);
        let which = format!("{} {seed}", scenario.kind);
        assert_eq!(played, seeded(environment, scenario, seed), "{which}");
        assert_eq!(played.end, End::Finished, "{which}");
        assert_eq!(check(&played, Budget::default()), Verdict::Holds, "{which}");
        distinct.insert(format!("{:?}", played.history));
        seen(&played);
    }
    let (after, runs) = (environment.counts(), 2 * seeds);
    println!(
        "{}: {:?} a run, {} commands and {} round trips",
        scenario.kind,
        start.elapsed() / runs as u32,
        (after.commands - before.commands) / runs,
        (after.round_trips - before.round_trips) / runs,
    );
    let most = seeds as usize * 9 / 10;
    assert!(distinct.len() > most, "{} distinct", distinct.len());
}

#[test]
fn runs_repeat_without_faults() {
    let mut environment = RedisEnvironment::start().unwrap();
    for kind in QueueKind::ALL {
        let scenario = Scenario {
            mode: Some(Mode::Faults),
            faults: Some(FaultMix::none()),
            ..Scenario::new(kind)
        };
        twice(&mut environment, &scenario, 50, |_| {});
    }
}

#[test]
fn runs_repeat_where_the_server_is_killed() {
    let mut environment = RedisEnvironment::builder().with_restarts().start().unwrap();
    let mut restarts = 0;
    for kind in QueueKind::ALL {
        let faults = FaultMix::none().with(Fault::Restarted, 40);
        let faults = faults.with(Fault::Cut, 10).with(Fault::Crashed, 10);
        let scenario = Scenario {
            mode: Some(Mode::Faults),
            faults: Some(faults),
            ..Scenario::new(kind)
        };
        twice(&mut environment, &scenario, 2, |played| {
            let events = played.history.events.iter();
            let restarted = |event: &&(_, Event)| matches!(&event.1, Event::Fault(name, _) if *name == Fault::Restarted.as_str());
            restarts += events.filter(restarted).count();
        });
    }
    assert!(restarts > 0);
}

/// Messages become due later by the time that the clock went back, and the end of the run waits for them.
#[test]
fn a_clock_that_is_put_back_leaves_time_to_drain() {
    let mut environment = RedisEnvironment::start().unwrap();
    for kind in [QueueKind::Delay, QueueKind::Priority] {
        let scenario = Scenario {
            mode: Some(Mode::Faults),
            faults: Some(FaultMix::none().with(Fault::ClockBack, 100)),
            steps: 50,
            ..Scenario::new(kind)
        };
        let mut runs = Runs::new(scenario, &mut environment);
        (0..20).for_each(|seed| runs.seed(seed));
        assert!(runs.totals().passes(), "{kind}: {:?}", runs.failures());
    }
}

#[test]
fn two_servers_play_the_same_runs() {
    let mut environments = [
        RedisEnvironment::start().unwrap(),
        RedisEnvironment::start().unwrap(),
    ];
    // One server has played other runs before.
    seeded(
        &mut environments[1],
        &Scenario::new(QueueKind::Delay),
        1_000,
    );
    for kind in QueueKind::ALL {
        for seed in 0..20 {
            let scenario = Scenario::new(kind);
            let [first, second] = &mut environments;
            let played = seeded(first, &scenario, seed);
            assert_eq!(played, seeded(second, &scenario, seed), "{kind} {seed}");
        }
    }
}

#[test]
fn a_plan_plays_what_its_seed_did() {
    let mut environment = RedisEnvironment::start().unwrap();
    for kind in QueueKind::ALL {
        for seed in 0..20 {
            let scenario = Scenario::new(kind);
            let played = seeded(&mut environment, &scenario, seed);
            let decisions = Decisions::planned(played.plan.clone());
            assert_eq!(played, scenario.play(&mut environment, &decisions));
            assert_eq!(decisions.unmet(), [], "{kind} {seed}");
        }
    }
}

#[test]
fn every_call_that_was_answered_was_executed_and_nothing_for_no_call() {
    let mut environment = RedisEnvironment::start().unwrap();
    for kind in QueueKind::ALL {
        for seed in 0..40 {
            let played = seeded(&mut environment, &Scenario::new(kind), seed);
            assert!(!played.goals.contains("execution for no call"));
            for record in &played.history.records {
                let answered = record.answer().is_some() && !record.call.is_wait();
                let executed = record.executed.len();
                assert!(!answered || executed > 0, "{kind} {seed}: {record:?}");
                let begun = |at| at > record.began.order;
                assert!(record.executed.iter().all(|moment| begun(moment.order)));
            }
        }
    }
}
