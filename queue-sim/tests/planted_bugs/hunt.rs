//! Looks for a bug: plays seed after seed until the checks find the rule that it breaks.

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
    wire::RedisEnvironment,
    world::{Environment, MemoryEnvironment},
};

use crate::{
    flaw::{Flaw, Flawed},
    in_front::InFront,
    lua::{self, Edits},
    steps::Meddling,
};

/// The checks must find a bug within this many seeds.
const SEEDS: u64 = 2_000;

/// Looks for a bug inside the memory backend.
pub(crate) fn in_memory(kind: QueueKind, bug: Bug, rules: &[&str]) {
    let planted = planted::plant(bug);
    let caught = hunt(kind, rules, &mut MemoryEnvironment::new());
    drop(planted);
    MEMORY.told(kind, &bug, &caught);
}

/// Looks for a bug in front of the memory backend.
pub(crate) fn before_memory<F: Flaw>(kind: QueueKind, flaw: F, rules: &[&str]) {
    let mut environment = InFront(MemoryEnvironment::new(), Flawed(flaw));
    let caught = hunt(kind, rules, &mut environment);
    MEMORY.told(kind, &flaw, &caught);
}

/// Looks for a bug in the scripts of the Redis backend.
pub(crate) fn in_scripts(kind: QueueKind, bug: (&str, Edits), rules: &[&str]) {
    let (name, edits) = bug;
    let scripts = lua::with(edits, "");
    let environment = RedisEnvironment::builder();
    let environment = environment.with_scripts(move |name, _| scripts.get(name).cloned());
    let caught = hunt(kind, rules, &mut environment.start().expect("a server"));
    REDIS.told(kind, &name, &caught);
}

/// Looks for a bug between the client and the server of the Redis backend.
pub(crate) fn between<M: Meddling>(kind: QueueKind, meddling: M, rules: &[&str]) {
    let scripts = lua::with(M::EDITS, M::SCRIPT);
    let environment = RedisEnvironment::builder();
    let environment = environment.with_scripts(move |name, _| scripts.get(name).cloned());
    let environment = environment.with_rewrite(meddling).start();
    let caught = hunt(kind, rules, &mut environment.expect("a server"));
    REDIS.told(kind, &meddling, &caught);
}

/// Looks for a bug in front of the Redis backend.
pub(crate) fn before_redis<F: Flaw>(kind: QueueKind, flaw: F, rules: &[&str]) {
    let environment = RedisEnvironment::start().expect("a server");
    let caught = hunt(kind, rules, &mut InFront(environment, Flawed(flaw)));
    REDIS.told(kind, &flaw, &caught);
}

struct Caught {
    /// The number of seeds that it took.
    seeds: u64,
    finding: Finding,
}

fn hunt(kind: QueueKind, rules: &[&str], environment: &mut dyn Environment) -> Caught {
    let mut others = BTreeMap::<String, u64>::new();
    for seed in 0..SEEDS {
        let Verdict::Broken(violations) = judge(kind, seed, environment) else {
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

fn judge(kind: QueueKind, seed: u64, environment: &mut dyn Environment) -> Verdict {
    let played = Scenario::new(kind).play(environment, &Decisions::seeded(seed));
    check(&played, Budget::default())
}

/// A backend without bugs, and the seeds up to which it is known to pass, by kind of queue.
struct Sound {
    backend: &'static str,
    known: LazyLock<Mutex<Known>>,
}

struct Known {
    environment: Box<dyn Environment>,
    seeds: BTreeMap<u8, u64>,
}

static MEMORY: Sound = Sound {
    backend: "memory",
    known: LazyLock::new(|| known(MemoryEnvironment::new())),
};
static REDIS: Sound = Sound {
    backend: "redis",
    known: LazyLock::new(|| known(RedisEnvironment::start().expect("a server"))),
};

fn known(environment: impl Environment + 'static) -> Mutex<Known> {
    Mutex::new(Known {
        environment: Box::new(environment),
        seeds: BTreeMap::new(),
    })
}

impl Sound {
    /// Tells how the checks caught a bug, and makes sure that the same seeds break nothing without
    /// it.
    fn told(&self, kind: QueueKind, bug: &dyn Debug, caught: &Caught) {
        let Caught { seeds, finding } = caught;
        let told: String = finding.to_string().chars().take(160).collect();
        println!(
            "{bug:?} of {kind} on {}: {seeds} seeds, {told}",
            self.backend
        );
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known {
            environment,
            seeds: known,
        } = &mut *known;
        let known = known.entry(kind as u8).or_default();
        while *known < *seeds {
            let verdict = judge(kind, *known, &mut **environment);
            assert_eq!(verdict, Verdict::Holds, "seed {known} without the bug");
            *known += 1;
        }
    }
}
