//! Looks for a bug: plays seed after seed until the rule that it breaks is seen to be broken.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{LazyLock, Mutex, PoisonError},
};

use queue_core::QueueKind;
use queue_memory::planted::{self, Bug};
use queue_sim::{
    check::{Budget, Finding, Verdict, check},
    plan::Decisions,
    run::{Scenario, Simulation},
    wire::WireGround,
    world::{Ground, MemoryGround},
};

use crate::{
    flaw::{Flaw, Flawed},
    in_front::InFront,
    lua::{self, Edits},
    steps::Meddling,
};

/// A bug that takes more seeds is not caught.
const SEEDS: u64 = 2_000;

/// Looks for a bug inside the memory backend.
pub(crate) fn in_memory(kind: QueueKind, bug: Bug, rules: &[&str]) {
    let planted = planted::plant(bug);
    let caught = hunt(kind, rules, &mut MemoryGround::new());
    drop(planted);
    MEMORY.told(kind, &bug, &caught);
}

/// Looks for a bug in front of the memory backend.
pub(crate) fn before_memory<F: Flaw>(kind: QueueKind, flaw: F, rules: &[&str]) {
    let mut ground = InFront(MemoryGround::new(), Flawed(flaw));
    let caught = hunt(kind, rules, &mut ground);
    MEMORY.told(kind, &flaw, &caught);
}

/// Looks for a bug in the scripts of the Redis backend.
pub(crate) fn in_scripts(kind: QueueKind, bug: (&str, Edits), rules: &[&str]) {
    let (name, edits) = bug;
    let scripts = lua::with(edits, "");
    let ground = WireGround::builder();
    let ground = ground.with_scripts(move |name, _| scripts.get(name).cloned());
    let caught = hunt(kind, rules, &mut ground.start().expect("a server"));
    REDIS.told(kind, &name, &caught);
}

/// Looks for a bug between the client and the server of the Redis backend.
pub(crate) fn between<M: Meddling>(kind: QueueKind, meddling: M, rules: &[&str]) {
    let scripts = lua::with(M::EDITS, M::SCRIPT);
    let ground = WireGround::builder();
    let ground = ground.with_scripts(move |name, _| scripts.get(name).cloned());
    let ground = ground.with_rewrite(meddling).start();
    let caught = hunt(kind, rules, &mut ground.expect("a server"));
    REDIS.told(kind, &meddling, &caught);
}

/// Looks for a bug in front of the Redis backend.
pub(crate) fn before_redis<F: Flaw>(kind: QueueKind, flaw: F, rules: &[&str]) {
    let ground = WireGround::start().expect("a server");
    let caught = hunt(kind, rules, &mut InFront(ground, Flawed(flaw)));
    REDIS.told(kind, &flaw, &caught);
}

struct Caught {
    /// How many seeds it took.
    seeds: u64,
    finding: Finding,
}

fn hunt(kind: QueueKind, rules: &[&str], ground: &mut dyn Ground) -> Caught {
    let mut others = BTreeMap::<String, u64>::new();
    for seed in 0..SEEDS {
        let Verdict::Broken(violations) = judge(kind, seed, ground) else {
            continue;
        };
        for finding in violations {
            if rules.contains(&&*finding.rule) {
                let seeds = seed + 1;
                return Caught { seeds, finding };
            }
            *others.entry(finding.rule.into_owned()).or_default() += 1;
        }
    }
    panic!("not caught by {rules:?} within {SEEDS} seeds; by other rules: {others:?}");
}

fn judge(kind: QueueKind, seed: u64, ground: &mut dyn Ground) -> Verdict {
    let played = Scenario::new(kind).play(ground, &Decisions::seeded(seed));
    check(&played, Budget::default())
}

/// A backend without bugs, and up to which seed that is known, by kind of queue.
struct Sound {
    backend: &'static str,
    known: LazyLock<Mutex<Known>>,
}

struct Known {
    ground: Box<dyn Ground>,
    seeds: BTreeMap<u8, u64>,
}

static MEMORY: Sound = Sound {
    backend: "memory",
    known: LazyLock::new(|| known(MemoryGround::new())),
};
static REDIS: Sound = Sound {
    backend: "redis",
    known: LazyLock::new(|| known(WireGround::start().expect("a server"))),
};

fn known(ground: impl Ground + 'static) -> Mutex<Known> {
    Mutex::new(Known {
        ground: Box::new(ground),
        seeds: BTreeMap::new(),
    })
}

impl Sound {
    /// Says how a bug was caught, and makes sure that the same seeds break nothing without it.
    fn told(&self, kind: QueueKind, bug: &dyn Debug, caught: &Caught) {
        let Caught { seeds, finding } = caught;
        let told: String = finding.to_string().chars().take(160).collect();
        println!(
            "{bug:?} of {kind} on {}: {seeds} seeds, {told}",
            self.backend
        );
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known {
            ground,
            seeds: known,
        } = &mut *known;
        let known = known.entry(kind as u8).or_default();
        while *known < *seeds {
            let verdict = judge(kind, *known, &mut **ground);
            assert_eq!(verdict, Verdict::Holds, "seed {known} without the bug");
            *known += 1;
        }
    }
}
