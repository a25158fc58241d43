//! Runs of every kind on a real redis-server keep every rule, are the same again, and get to see
//! what they must.

mod sim;

use queue_core::QueueKind;
use queue_sim::redis::wire::WireGround;

const SEEDS: u64 = 500;

fn holds(kind: QueueKind) {
    let mut ground = WireGround::start().expect("a redis-server");
    sim::holds(kind, "redis", &mut ground, SEEDS, &[]);
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
