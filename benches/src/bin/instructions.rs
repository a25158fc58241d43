//! Does `ROUNDS` rounds of work on the memory backend, or on tokio's channel. `scripts/instructions` counts the
//! instructions.
//!
//! `instructions KIND BATCH ROUNDS`: a round puts a batch in, takes it and acks it. On a ring, a round only takes. On
//! the channel, which is the kind `mpsc`, a round sends and receives.

use std::env;

use queue_benches::{
    kinds::{self, CAPACITY, LeasingQueue, still},
    peers,
};
use queue_core::QueueKind;
use queue_memory::MemoryBackend;
use tokio::runtime::Builder;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, batch, rounds] = &arguments[..] else {
        panic!("usage: instructions KIND BATCH ROUNDS, not {arguments:?}");
    };
    let number = |text: &str| match text.parse() {
        Ok(number) => number,
        Err(error) => panic!("{text} is no number: {error}"),
    };
    let (batch, rounds) = (number(batch), number(rounds));
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = &runtime.expect("a runtime starts");
    if kind == "mpsc" {
        peers::mpsc_alone(runtime, batch, still, rounds as u64);
        return;
    }
    let found = QueueKind::ALL.into_iter().find(|one| one.as_str() == kind);
    let kind = found.unwrap_or_else(|| panic!("{kind} is no kind of queue"));
    let backend = MemoryBackend::new();
    if kind == QueueKind::Rotating {
        let ring = runtime.block_on(kinds::ring(&backend, "counted", CAPACITY));
        kinds::settle_and_lease_alone(runtime, &*ring, batch, rounds as u64);
    } else {
        let queue = runtime.block_on(LeasingQueue::open(&backend, "counted", kind, CAPACITY));
        peers::alone(runtime, &queue, batch, still, rounds as u64);
    }
}
