//! The memory backend compared with tokio's channel, and with itself behind a long backlog.
//!
//! `cargo bench -p queue-benches --bench memory`, which takes some minutes; the ratios come last.

use std::{sync::Arc, time::Duration};

use criterion::{BenchmarkGroup, Criterion, SamplingMode, measurement::WallTime};
use queue_benches::{
    kinds::{self, CAPACITY, fresh, still},
    pairs::{Pairs, Work},
    peers::{self, Mpsc},
};
use queue_core::{AnyQueue, RotatingQueue};
use queue_memory::MemoryBackend;
use tokio::runtime::{Builder, Runtime};

const BATCHES: [usize; 2] = [1, 64];
/// A short backlog, and a long backlog that should cost no more.
const SHORT: usize = 10_000;
const LONG: usize = 1_000_000;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut pairs = Pairs::default();
    one_thread(&mut criterion, &mut pairs);
    four_and_four(&mut criterion, &mut pairs);
    backlog(&mut criterion, &mut pairs);
    criterion.final_summary();
    pairs.print();
}

/// Many short samples: if another process interrupts one, it is far off, but the median is not.
fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(60)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300));
    group
}

fn current_thread() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime starts")
}

fn work<'a>(work: impl FnMut(u64) -> Duration + 'a) -> Work<'a> {
    Box::new(work)
}

fn one_thread(criterion: &mut Criterion, pairs: &mut Pairs) {
    let runtime = &current_thread();
    let mut group = group(criterion, "1 thread");
    let queues = runtime.block_on(kinds::queues(MemoryBackend::new, CAPACITY));
    let ring = runtime.block_on(kinds::ring(&MemoryBackend::new(), "ring", CAPACITY));
    for batch in BATCHES {
        let mpsc = |body| {
            let work = work(move |rounds| peers::mpsc_alone(runtime, batch, body, rounds));
            [("tokio mpsc", work)]
        };
        let messages = batch as u64;
        for (kind, queue) in &queues {
            let mut ours = work(|rounds| peers::alone(runtime, queue, batch, still, rounds));
            let name = format!("{kind}, batch {batch}");
            pairs.measure(&mut group, &name, messages, &mut ours, &mut mpsc(still));
        }
        let (_, reliable) = &queues[0];
        let mut ours = work(|rounds| peers::alone(runtime, reliable, batch, fresh, rounds));
        let name = format!("reliable, fresh bodies, batch {batch}");
        pairs.measure(&mut group, &name, messages, &mut ours, &mut mpsc(fresh));
        let mut ours = work(|rounds| kinds::settle_and_lease_alone(runtime, &*ring, batch, rounds));
        let name = format!("rotating, batch {batch}");
        pairs.measure(&mut group, &name, messages, &mut ours, &mut mpsc(still));
    }
}

fn four_and_four(criterion: &mut Criterion, pairs: &mut Pairs) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build();
    let runtime = &runtime.expect("a runtime starts");
    let mut group = group(criterion, "4 producers and 4 consumers");
    let queues = runtime.block_on(kinds::queues(MemoryBackend::new, CAPACITY));
    let ring = &runtime.block_on(kinds::ring(&MemoryBackend::new(), "ring", CAPACITY));
    for batch in BATCHES {
        let beside = || {
            let mpsc = Mpsc::default();
            let work = work(move |rounds| peers::together(runtime, &mpsc, batch, rounds));
            [("tokio mpsc", work)]
        };
        let messages = batch as u64;
        for (kind, queue) in &queues {
            let mut ours = work(|rounds| peers::together(runtime, queue, batch, rounds));
            let name = format!("{kind}, 4 + 4, batch {batch}");
            pairs.measure(&mut group, &name, messages, &mut ours, &mut beside());
        }
        let mut ours =
            work(|rounds| kinds::settle_and_lease_together(runtime, ring, batch, rounds));
        let name = format!("rotating, 4 + 4, batch {batch}");
        pairs.measure(&mut group, &name, messages, &mut ours, &mut beside());
    }
}

/// Measures the same work with a short and with a long backlog: here the peer is the same queue.
fn backlog(criterion: &mut Criterion, pairs: &mut Pairs) {
    const PEER: &str = "backlog of 10^4";
    let runtime = &current_thread();
    let mut group = group(criterion, "backlog of a million");
    let filled = |backlog: usize| {
        // The queue must hold the backlog and one batch more.
        let queues = runtime.block_on(kinds::queues(MemoryBackend::new, backlog + 64));
        for (_, queue) in &queues {
            runtime.block_on(queue.fill(backlog));
        }
        queues
    };
    let (short, long) = (filled(SHORT), filled(LONG));
    let ring = |items| runtime.block_on(kinds::ring(&MemoryBackend::new(), "ring", items));
    let (short_ring, long_ring) = (ring(SHORT), ring(LONG));
    for batch in BATCHES {
        let messages = batch as u64;
        for ((kind, long), (_, short)) in long.iter().zip(&short) {
            let mut ours = work(|rounds| peers::alone(runtime, long, batch, still, rounds));
            let beside = work(|rounds| peers::alone(runtime, short, batch, still, rounds));
            let name = format!("{kind}, backlog of 10^6, batch {batch}");
            pairs.measure(
                &mut group,
                &name,
                messages,
                &mut ours,
                &mut [(PEER, beside)],
            );
        }
        let rotates = |ring: &Arc<dyn RotatingQueue>| {
            let ring = Arc::clone(ring);
            work(move |rounds| kinds::settle_and_lease_alone(runtime, &*ring, batch, rounds))
        };
        let name = format!("rotating, 10^6 items, batch {batch}");
        let mut beside = [("10^4 items", rotates(&short_ring))];
        pairs.measure(
            &mut group,
            &name,
            messages,
            &mut rotates(&long_ring),
            &mut beside,
        );
    }
    let delays = [&long, &short].map(|queues| {
        let delay = queues.iter().find_map(|(_, queue)| match queue.queue() {
            AnyQueue::Delay(queue) => Some(Arc::clone(queue)),
            _ => None,
        });
        delay.expect("there is a delay queue")
    });
    let [mut ours, beside] =
        delays.map(|queue| work(move |rounds| kinds::timeouts(runtime, &*queue, rounds)));
    let name = "delay, schedule + cancel, 10^6";
    pairs.measure(&mut group, name, 1, &mut ours, &mut [(PEER, beside)]);
}
