//! Runs on memory: the same decisions play the same run, and the runs reach all that can happen.

#[path = "support/kinds.rs"]
mod kinds;

use std::collections::BTreeSet;

use queue_core::{QueueKind, call::Call};
use queue_sim::{
    engine::End,
    history::Event,
    plan::Decisions,
    run::{Played, Scenario, Simulation},
    workload,
    workload::Mode,
    world::{Environment, Fault, MemoryEnvironment},
};

fn seeded(kind: QueueKind, seed: u64) -> Played {
    let mut environment = MemoryEnvironment::new();
    Scenario::new(kind).play(&mut environment, &Decisions::seeded(seed))
}

fn the_same_seed_plays_the_same_run(kind: QueueKind) {
    let mut distinct = BTreeSet::new();
    for seed in 0..100 {
        let played = seeded(kind, seed);
        assert_eq!(played, seeded(kind, seed), "{seed}");
        let line = played.plan.to_string();
        let decisions = Decisions::planned(line.parse().unwrap());
        let mut environment = MemoryEnvironment::new();
        let again = Scenario::new(kind).play(&mut environment, &decisions);
        assert_eq!(played, again, "{seed}");
        assert_eq!(decisions.unmet(), [], "{seed}");
        distinct.insert(format!("{:?}", played.history));
    }
    assert!(distinct.len() > 95, "{} of 100", distinct.len());
}

fn every_run_ends_drained_and_all_together_meet_everything(kind: QueueKind) {
    let mut met = BTreeSet::new();
    let mut modes = BTreeSet::new();
    for seed in 0..2_000 {
        let played = seeded(kind, seed);
        assert_eq!(played.end, End::Finished, "{seed}");
        modes.insert(played.mode);
        met.extend(played.goals);
        for (_, event) in &played.history.events {
            assert!(!matches!(event, Event::Broken(..)), "{seed}: {event:?}");
            if let Event::Fault(fault, _) = event {
                met.insert(*fault);
            }
        }
        for record in &played.history.records {
            met.insert(record.call.name());
        }
    }
    assert_eq!(modes, BTreeSet::from([Mode::Faults, Mode::Waiting]));
    let faults = MemoryEnvironment::new()
        .faults()
        .iter()
        .map(|fault| fault.as_str());
    let opens = (kind == QueueKind::Bounded).then_some("open_or_resize");
    let due = Call::names(kind)
        .chain(opens)
        .chain(workload::goals(kind))
        .chain(faults);
    let missed: Vec<&str> = due.filter(|due| !met.contains(due)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

macro_rules! tests {
    ($($module:ident $kind:ident),*) => {
        $(mod $module {
            use queue_core::QueueKind;

            #[test]
            fn the_same_seed_plays_the_same_run_and_so_does_its_plan() {
                super::the_same_seed_plays_the_same_run(QueueKind::$kind);
            }

            #[test]
            fn every_run_ends_drained_and_all_together_meet_every_call_fault_and_goal() {
                super::every_run_ends_drained_and_all_together_meet_everything(QueueKind::$kind);
            }
        })*
    };
}

kinds::each_kind!(tests!);

#[test]
fn nothing_strikes_that_the_mode_does_not_have() {
    for seed in 0..100 {
        let mut scenario = Scenario::new(QueueKind::Reliable);
        scenario.mode = Some(Mode::Waiting);
        let played = scenario.play(&mut MemoryEnvironment::new(), &Decisions::seeded(seed));
        for (_, event) in &played.history.events {
            let expected = match event {
                Event::Fault(fault, _) => [Fault::Delayed, Fault::Cancelled, Fault::Spurious]
                    .iter()
                    .any(|allowed| allowed.as_str() == *fault),
                event => *event == Event::Healed,
            };
            assert!(expected, "{seed}: {event:?}");
        }
    }
}
