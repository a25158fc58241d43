//! Runs on memory: the same decisions play the same run, and whatever can happen does.

use std::collections::BTreeSet;

use queue_core::{QueueKind, call::Call};
use queue_sim::{
    engine::End,
    history::Event,
    plan::Decisions,
    run::{Played, Scenario, Simulation},
    workload,
    workload::Mode,
    world::{Fault, Ground, MemoryGround},
};

fn seeded(kind: QueueKind, seed: u64) -> Played {
    let mut ground = MemoryGround::new();
    Scenario::new(kind).play(&mut ground, &Decisions::seeded(seed))
}

fn the_same_seed_plays_the_same_run(kind: QueueKind) {
    let mut distinct = BTreeSet::new();
    for seed in 0..100 {
        let played = seeded(kind, seed);
        assert_eq!(played, seeded(kind, seed), "{seed}");
        let line = played.plan.to_string();
        let decisions = Decisions::planned(line.parse().unwrap());
        let mut ground = MemoryGround::new();
        let again = Scenario::new(kind).play(&mut ground, &decisions);
        assert_eq!(played, again, "{seed}");
        assert_eq!(decisions.unmet(), [], "{seed}");
        distinct.insert(format!("{:?}", played.history));
    }
    assert!(distinct.len() > 95, "{} of 100", distinct.len());
}

/// A call's name.
const fn name(call: &Call) -> &'static str {
    match call {
        Call::Push(..) => "Push",
        Call::Schedule(..) => "Schedule",
        Call::Cancel(..) => "Cancel",
        Call::Reschedule(..) => "Reschedule",
        Call::NextDue => "NextDue",
        Call::Enqueue(..) => "Enqueue",
        Call::Offer(..) => "Offer",
        Call::WaitForRoom(..) => "WaitForRoom",
        Call::Recent(..) => "Recent",
        Call::Capacity => "Capacity",
        Call::Resize(..) => "Resize",
        Call::OpenOrResize(..) => "OpenOrResize",
        Call::Insert(..) => "Insert",
        Call::Rotate(..) => "Rotate",
        Call::WaitForTurn(..) => "WaitForTurn",
        Call::List(..) => "List",
        Call::Remove(..) => "Remove",
        Call::Len => "Len",
        Call::Lease(..) => "Lease",
        Call::Settle(..) => "Settle",
        Call::Turn(..) => "Turn",
        Call::Extend(..) => "Extend",
        Call::WaitForArrival(..) => "WaitForArrival",
        Call::Depth => "Depth",
        Call::Counters => "Counters",
        Call::DeadLetters(..) => "DeadLetters",
        Call::Revive(..) => "Revive",
        Call::Discard(..) => "Discard",
        Call::Pause => "Pause",
        Call::Resume => "Resume",
        Call::Purge(..) => "Purge",
    }
}

/// The names of the calls that this kind of queue has.
fn calls(kind: QueueKind) -> Vec<&'static str> {
    let (mut own, leases) = match kind {
        QueueKind::Reliable => (vec!["Push"], true),
        QueueKind::Delay => (vec!["Schedule", "Cancel", "Reschedule", "NextDue"], true),
        QueueKind::Priority => (vec!["Enqueue"], true),
        QueueKind::Bounded => {
            let own = [
                "Offer",
                "WaitForRoom",
                "Recent",
                "Capacity",
                "Resize",
                "OpenOrResize",
            ];
            (own.to_vec(), true)
        }
        QueueKind::Rotating => {
            let own = ["Insert", "Rotate", "WaitForTurn", "List", "Remove", "Len"];
            (own.to_vec(), false)
        }
    };
    if leases {
        own.extend([
            "Lease",
            "Settle",
            "Turn",
            "Extend",
            "WaitForArrival",
            "Depth",
            "Counters",
        ]);
        own.extend([
            "DeadLetters",
            "Revive",
            "Discard",
            "Pause",
            "Resume",
            "Purge",
        ]);
    }
    own
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
            met.insert(name(&record.call));
        }
    }
    assert_eq!(modes, BTreeSet::from([Mode::Faults, Mode::Waiting]));
    let faults = MemoryGround::new()
        .faults()
        .iter()
        .map(|fault| fault.as_str());
    let due = calls(kind)
        .into_iter()
        .chain(workload::goals(kind))
        .chain(faults);
    let missed: Vec<&str> = due.filter(|due| !met.contains(due)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

macro_rules! of_every_kind {
    ($($module:ident: $kind:ident,)*) => {
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

of_every_kind! {
    reliable: Reliable,
    delay: Delay,
    priority: Priority,
    bounded: Bounded,
    rotating: Rotating,
}

#[test]
fn nothing_strikes_that_the_mode_does_not_have() {
    for seed in 0..100 {
        let mut scenario = Scenario::new(QueueKind::Reliable);
        scenario.mode = Some(Mode::Waiting);
        let played = scenario.play(&mut MemoryGround::new(), &Decisions::seeded(seed));
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
