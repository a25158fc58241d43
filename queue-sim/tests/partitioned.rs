//! Queues of several partitions break only the rules that each partition keeps on its own. Queues of one
//! partition break none.

use std::{collections::BTreeMap, sync::Arc};

use queue_core::{
    Backend, Condition, Guarantees, Layered, Partitioned, QueueKind, QueueName, Result,
    call::{Answer, Call, Layer, Service},
};
use queue_memory::MemoryBackend;
use queue_sim::{
    check::{Budget, Verdict, check},
    plan::Decisions,
    run::{Scenario, Simulation},
    sim::seeds_or,
    world::{EPOCH, MemoryEnvironment},
};

/// Runs of each kind.
const SEEDS: u64 = 150;
/// The number of seeds within which the checks must find a bug.
const HUNT: u64 = 300;

/// Queues of `partitions` partitions, with `bug` in front of each partition.
fn partitioned(partitions: usize, bug: Option<Bug>) -> Partitioned {
    let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::starting_at(EPOCH));
    let backend = match bug {
        Some(bug) => Arc::new(Layered::new(bug, memory)),
        None => memory,
    };
    let partitioned = Partitioned::new(backend, partitions);
    partitioned
        .expect("a number that is allowed")
        .beginning_at(0)
}

/// A scenario of the kind, and queues of `partitions` partitions to play it on.
fn stage(kind: QueueKind, partitions: usize, bug: Option<Bug>) -> (Scenario, MemoryEnvironment) {
    let mut scenario = Scenario::new(kind);
    let guarantees = partitioned(partitions, bug).guarantees(kind);
    scenario.guarantees = (!guarantees.is_all()).then_some(guarantees);
    let environment = MemoryEnvironment::over(move || Arc::new(partitioned(partitions, bug)));
    match partitions {
        1 => (scenario, environment),
        // The model is a queue without partitions.
        _ => (scenario, environment.without_truth()),
    }
}

/// The rules that a run breaks, and how.
fn findings(
    scenario: &Scenario,
    environment: &mut MemoryEnvironment,
    seed: u64,
) -> Vec<(String, String)> {
    let played = scenario.play(environment, &Decisions::seeded(seed));
    let Verdict::Broken(findings) = check(&played, Budget::default()) else {
        return Vec::new();
    };
    let text = |finding: queue_sim::check::Finding| {
        (finding.rule.to_string(), format!("seed {seed}: {finding}"))
    };
    findings.into_iter().map(text).collect()
}

fn is_kept_by_each_partition(guarantees: &Guarantees, rule: &str) -> bool {
    let broken = guarantees.broken(rule);
    broken.is_some_and(|caveat| caveat.when == Condition::Partitions)
}

/// Plays runs of the kind, on one partition and on three. The runs on three must show that these rules do
/// not hold for the whole queue.
fn plays(kind: QueueKind, shown: &[&str]) {
    let (scenario, mut environment) = stage(kind, 1, None);
    for seed in 0..seeds_or(SEEDS) {
        assert_eq!(
            findings(&scenario, &mut environment, seed),
            [],
            "one partition"
        );
    }
    let (scenario, mut environment) = stage(kind, 3, None);
    let guarantees = partitioned(3, None).guarantees(kind);
    let mut broken = BTreeMap::new();
    for seed in 0..seeds_or(SEEDS) {
        for (rule, how) in findings(&scenario, &mut environment, seed) {
            broken.entry(rule).or_insert(how);
        }
    }
    for rule in shown {
        assert!(
            broken.contains_key(*rule),
            "{rule} is not shown: {:?}",
            broken.keys()
        );
    }
    broken.retain(|rule, _| !is_kept_by_each_partition(&guarantees, rule));
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn reliable() {
    plays(QueueKind::Reliable, &["F1", "L11", "L13"]);
}

#[test]
fn delay() {
    plays(QueueKind::Delay, &["D2", "L13"]);
}

#[test]
fn priority() {
    plays(QueueKind::Priority, &["P1", "P2", "L13"]);
}

#[test]
fn bounded() {
    plays(QueueKind::Bounded, &["F1", "L13"]);
}

/// A bug between the queue and one of its partitions, like a mistake in the code of partitions.
#[derive(Debug, Clone, Copy)]
enum Bug {
    /// Settlements of partition 1 are dropped, and the answer is that they succeeded.
    LostSettlements,
    /// Leases leave partition 1 out.
    ForgottenPart,
}

#[async_trait::async_trait]
impl Layer for Bug {
    async fn call(&self, name: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        match (self, call) {
            (_, call) if !name.as_str().contains("--1of3-") => queue.call(call).await,
            (Self::LostSettlements, Call::Settle(batch)) => Ok(Answer::Settled(vec![
                    queue_core::Settled::Done;
                    batch.len()
                ])),
            (Self::ForgottenPart, Call::Lease(..)) => {
                Ok(Answer::Leased(queue_core::Leased::nothing(None)))
            }
            (Self::ForgottenPart, Call::SettleAndLease(settlements, max, lease_time, holder)) => {
                let combined = Call::SettleAndLease(settlements, max, lease_time, holder);
                let answer = queue.call(combined).await?;
                let Answer::SettledAndLeased(settled, _) = answer else {
                    return Ok(answer);
                };
                Ok(Answer::SettledAndLeased(
                    settled,
                    queue_core::Leased::nothing(None),
                ))
            }
            (_, call) => queue.call(call).await,
        }
    }
}

/// Looks for a bug: the checks must find it, by a rule that the queue without it does not break.
fn hunt(bug: Bug) -> (String, String) {
    let guarantees = partitioned(3, None).guarantees(QueueKind::Reliable);
    let (scenario, mut environment) = stage(QueueKind::Reliable, 3, Some(bug));
    for seed in 0..HUNT {
        let mut found = findings(&scenario, &mut environment, seed).into_iter();
        if let Some(found) = found.find(|(rule, _)| !is_kept_by_each_partition(&guarantees, rule)) {
            println!("{bug:?}: {}", found.1);
            return found;
        }
    }
    panic!("{bug:?} is not found within {HUNT} seeds");
}

#[test]
fn bugs_between_a_queue_and_its_partitions_are_found() {
    for bug in [Bug::LostSettlements, Bug::ForgottenPart] {
        hunt(bug);
    }
}
