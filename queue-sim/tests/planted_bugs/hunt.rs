//! Hunts a bug: plays the seed that caught it last. If that seed does not catch it any more, plays seed
//! after seed until the checks find the rule that it breaks.
//!
//! `seeds.txt` has the seeds. Write the file again after a change of what a seed plays: without it the
//! tests take fifteen times as long. A bug that its seed does not catch any more is reported, whether the
//! test fails or not. The file's changes then show which bugs need more seeds than before, and which need
//! fewer:
//!
//! ```console
//! $ : > queue-sim/tests/planted_bugs/seeds.txt
//! $ cargo test --workspace --all-features --test planted_bugs -- --nocapture |
//!       grep -o '^.*: seed [0-9]*' | LC_ALL=C sort > /tmp/seeds.txt
//! $ mv /tmp/seeds.txt queue-sim/tests/planted_bugs/
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    io::Write,
    ops::RangeInclusive,
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
    flaw::Flaw,
    in_front::InFront,
    lua::{self, Edits},
    shapes::SHAPES,
    steps::{Between, Meddling},
};

/// The checks must find a bug within this many seeds.
const SEEDS: u64 = 12_000;

/// From here on, seeds take turns with the shapes.
const SHAPED: u64 = 3_000;

/// The seed that caught each bug when somebody wrote them down.
const CAUGHT_LAST: &str = include_str!("seeds.txt");

/// Looks for a bug inside the memory backend.
pub(crate) fn in_memory(kind: QueueKind, bug: Bug, rules: &[&str]) {
    let hunt = Hunt::new(&MEMORY, kind, &bug);
    let planted = planted::plant(bug);
    let caught = hunt.play(rules, &mut MemoryEnvironment::new());
    drop(planted);
    hunt.told(caught);
}

/// Looks for a bug in front of the memory backend.
pub(crate) fn before_memory(kind: QueueKind, flaw: Flaw, rules: &[&str]) {
    let hunt = Hunt::new(&MEMORY, kind, &flaw);
    hunt.told(hunt.play(rules, &mut InFront(MemoryEnvironment::new(), flaw)));
}

/// Looks for a bug in the scripts of the Redis backend.
pub(crate) fn in_scripts(kind: QueueKind, bug: (&str, Edits), rules: &[&str]) {
    let (name, edits) = bug;
    let hunt = Hunt::new(&REDIS, kind, &name);
    let scripts = lua::with(edits, "");
    let environment = RedisEnvironment::builder();
    let environment = environment.with_scripts(move |name, _| scripts.get(name).cloned());
    hunt.told(hunt.play(rules, &mut environment.start().expect("a server")));
}

/// Looks for a bug between the client and the server of the Redis backend.
pub(crate) fn between<M: Meddling>(kind: QueueKind, meddling: M, rules: &[&str]) {
    let hunt = Hunt::new(&REDIS, kind, &meddling);
    let scripts = lua::with(M::EDITS, M::SCRIPT);
    let environment = RedisEnvironment::builder();
    let environment = environment.with_scripts(move |name, _| scripts.get(name).cloned());
    let environment = environment.with_rewrite(Between(meddling)).start();
    hunt.told(hunt.play(rules, &mut environment.expect("a server")));
}

/// Looks for a bug in front of the Redis backend.
pub(crate) fn before_redis(kind: QueueKind, flaw: Flaw, rules: &[&str]) {
    let hunt = Hunt::new(&REDIS, kind, &flaw);
    let environment = RedisEnvironment::start().expect("a server");
    hunt.told(hunt.play(rules, &mut InFront(environment, flaw)));
}

struct Hunt {
    sound: &'static Sound,
    kind: QueueKind,
    /// The backend, the kind of queue and the bug.
    name: String,
}

struct Caught {
    /// The seeds that were played. The last caught the bug.
    seeds: RangeInclusive<u64>,
    finding: Finding,
}

impl Hunt {
    fn new(sound: &'static Sound, kind: QueueKind, bug: &dyn Debug) -> Self {
        let name = format!("{} {kind} {bug:?}", sound.backend);
        Self { sound, kind, name }
    }

    fn play(&self, rules: &[&str], environment: &mut dyn Environment) -> Caught {
        let mut others = BTreeMap::<String, u64>::new();
        let caught_last = self.caught_last().map(|seed| seed..=seed);
        for seeds in caught_last.into_iter().chain([0..=SEEDS - 1]) {
            for seed in seeds.clone() {
                let Verdict::Broken(violations) = judge(self.kind, seed, environment) else {
                    continue;
                };
                for finding in violations {
                    if rules.contains(&&*finding.rule) {
                        let seeds = *seeds.start()..=seed;
                        return Caught { seeds, finding };
                    }
                    *others.entry(finding.rule.into_owned()).or_default() += 1;
                }
            }
        }
        panic!(
            "{}: not caught by {rules:?} within {SEEDS} seeds; by other rules: {others:?}",
            self.name
        );
    }

    /// The seed that caught this bug last, if it was one of those that may be needed.
    fn caught_last(&self) -> Option<u64> {
        let mut lines = CAUGHT_LAST.lines();
        let seed = lines.find_map(|line| line.strip_prefix(&self.name)?.strip_prefix(": seed "))?;
        let seed = seed.parse().expect("seeds.txt has a number there");
        (seed < SEEDS).then_some(seed)
    }

    /// Reports how the checks caught the bug, and asserts that the same seeds break nothing without it.
    fn told(&self, Caught { seeds, finding }: Caught) {
        let told: String = finding.to_string().chars().take(160).collect();
        let names_a_rule = finding.rule != "leftovers" || finding.message.starts_with('L');
        assert!(names_a_rule, "{}: no rule in {told:?}", self.name);
        println!("{}: seed {}, {told}", self.name, seeds.end());
        if seeds.start() < seeds.end() {
            // Not by a macro, because the harness shows its output only for failed tests.
            let slow = format!(
                "{}: only found by a hunt: write seeds.txt again\n",
                self.name
            );
            let _ = std::io::stderr().write_all(slow.as_bytes());
        }
        self.sound.passes(self.kind, seeds);
    }
}

fn judge(kind: QueueKind, seed: u64, environment: &mut dyn Environment) -> Verdict {
    let decisions = match seed {
        ..SHAPED => Decisions::seeded(seed),
        _ => {
            let shape = SHAPES[(seed % 2) as usize].parse().expect("a plan");
            Decisions::seeded_but_for(seed, shape)
        }
    };
    let played = Scenario::new(kind).play(environment, &decisions);
    check(&played, Budget::default())
}

/// A backend without bugs, and the seeds that it is known to pass.
struct Sound {
    backend: &'static str,
    known: LazyLock<Mutex<Known>>,
}

struct Known {
    environment: Box<dyn Environment>,
    /// By the kind of queue.
    seeds: BTreeSet<(u8, u64)>,
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
        seeds: BTreeSet::new(),
    })
}

impl Sound {
    /// Plays the seeds of this range that were not played yet.
    fn passes(&self, kind: QueueKind, seeds: RangeInclusive<u64>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known {
            environment,
            seeds: known,
        } = &mut *known;
        for seed in seeds {
            if known.insert((kind as u8, seed)) {
                let verdict = judge(kind, seed, &mut **environment);
                assert_eq!(verdict, Verdict::Holds, "seed {seed} without the bug");
            }
        }
    }
}
