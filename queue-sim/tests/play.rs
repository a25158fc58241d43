//! Runs on memory: the same decisions play the same run, and whatever can happen does.

use std::collections::BTreeSet;

use queue_core::QueueKind;
use queue_sim::{
    engine::End,
    history::Event,
    plan::Decisions,
    run::{Played, Scenario, play},
    world::MemoryGround,
};

fn seeded(kind: QueueKind, seed: u64) -> Played {
    let mut ground = MemoryGround::new();
    play(&Scenario::new(kind), &mut ground, Decisions::seeded(seed))
}

#[test]
fn the_same_seed_plays_the_same_run_and_so_does_its_plan() {
    for kind in QueueKind::ALL {
        let mut distinct = BTreeSet::new();
        for seed in 0..100 {
            let played = seeded(kind, seed);
            assert_eq!(played, seeded(kind, seed), "{kind} {seed}");
            let scenario = Scenario::new(kind);
            let line = played.plan.to_string();
            let decisions = Decisions::planned(line.parse().unwrap());
            let again = play(&scenario, &mut MemoryGround::new(), decisions.clone());
            assert_eq!(played, again, "{kind} {seed}");
            assert_eq!(decisions.unmet(), [], "{kind} {seed}");
            distinct.insert(format!("{:?}", played.history));
        }
        assert!(distinct.len() > 95, "{kind}: {} of 100", distinct.len());
    }
}

#[test]
fn no_run_hangs_or_fails_to_drain() {
    for kind in QueueKind::ALL {
        for seed in 0..2_000 {
            let played = seeded(kind, seed);
            assert_eq!(played.end, End::Finished, "{kind} {seed}");
            for (_, event) in &played.history.events {
                assert!(
                    !matches!(event, Event::Broken(..)),
                    "{kind} {seed}: {event:?}"
                );
            }
        }
    }
}
