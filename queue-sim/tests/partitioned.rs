//! Queues of several parts break the rules that they declare, and no others.

use std::{collections::BTreeMap, sync::Arc};

use queue_core::{Backend, Partitioned, QueueKind};
use queue_memory::MemoryBackend;
use queue_sim::{
    check::{Budget, Verdict, check},
    plan::Decisions,
    run::{Scenario, Simulation},
    world::{EPOCH, MemoryEnvironment},
};

/// Runs of each kind.
const SEEDS: u64 = 150;

fn seeds() -> u64 {
    let set = std::env::var("QUEUE_SIM_SEEDS").ok();
    set.map_or(SEEDS, |set| set.parse().expect("a number of seeds"))
}

fn partitioned(parts: usize) -> Partitioned {
    let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::starting_at(EPOCH));
    let partitioned = Partitioned::new(memory, parts);
    partitioned
        .expect("a number that is allowed")
        .beginning_at(0)
}

/// The rules that runs break, and how the first did.
fn broken(kind: QueueKind, parts: usize) -> BTreeMap<String, (u64, String)> {
    let mut scenario = Scenario::new(kind);
    let guarantees = partitioned(parts).guarantees(kind);
    scenario.guarantees = (!guarantees.is_all()).then_some(guarantees);
    let environment = MemoryEnvironment::over(move || Arc::new(partitioned(parts)));
    let mut environment = match parts {
        1 => environment,
        // The model is of a queue with one line.
        _ => environment.without_truth(),
    };
    let mut broken = BTreeMap::new();
    for seed in 0..seeds() {
        let played = scenario.play(&mut environment, &Decisions::seeded(seed));
        if let Verdict::Broken(findings) = check(&played, Budget::default()) {
            for finding in findings {
                let how = format!("seed {seed} {:?}: {}", played.config, finding.message);
                let known: &mut (u64, _) =
                    broken.entry(finding.rule.into_owned()).or_insert((0, how));
                known.0 += 1;
            }
        }
    }
    broken
}

#[test]
fn explore() {
    for kind in [QueueKind::Bounded] {
        println!("{kind} of 3: {:#?}", broken(kind, 3));
    }
}
