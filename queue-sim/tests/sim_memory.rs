//! Runs of every kind on the memory backend keep every rule, are the same again, and get to see
//! what they must.

mod sim;

use queue_core::QueueKind;
use queue_sim::world::MemoryGround;

const SEEDS: u64 = 500;

fn holds(kind: QueueKind) {
    sim::holds(kind, "memory", &mut MemoryGround::new(), SEEDS, &[]);
}

#[test]
fn reliable() {
    holds(QueueKind::Reliable);
}

#[test]
fn delay() {
    holds(QueueKind::Delay);
}

#[test]
fn priority() {
    holds(QueueKind::Priority);
}

#[test]
fn bounded() {
    holds(QueueKind::Bounded);
}

#[test]
fn rotating() {
    holds(QueueKind::Rotating);
}
