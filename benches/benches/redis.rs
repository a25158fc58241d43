//! The Redis backend compared with raw commands, with other structures, and with itself behind a
//! long backlog.
//!
//! `cargo bench -p queue-benches --features redis --bench redis`; the tables come last. Every name
//! begins with the placement: the `same` core for client and server, `split` over two, or a client of
//! several `threads` beside its server.

use std::{
    cell::{OnceCell, RefCell},
    time::Duration,
};

use criterion::Criterion;
use queue_benches::{
    kinds::LeasingQueue,
    pairs::Work,
    redis::{
        cost::Cost,
        due::{self, Lateness},
        fixture::{Fixture, Shape},
        footprint::{self, Floor},
        ours,
        placement::Placement,
        raw,
        report::{Report, Run, Samples},
        strategies::{self, Strategy},
        wake,
    },
};
use queue_core::QueueKind;

/// Items of a ring that turns.
const RING: usize = 10_000;
/// A short backlog, and a long one that should cost no more.
const SHORT: (usize, &str) = (10_000, "10^4");
const LONG: (usize, &str) = (1_000_000, "10^6");
/// Our own commands in a script that decides nothing.
const BARE: &str = "its commands, bare";

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut report = Report::default();
    for placement in Placement::all() {
        let fixture = Fixture::new(placement);
        let mut run = Run::new(&fixture, &mut criterion, &mut report);
        if let Placement::Threads(_) = placement {
            threads(&mut run);
            continue;
        }
        push(&mut run);
        take(&mut run);
        rotate(&mut run);
        structures(&mut run);
        wake_up(&mut run);
        due_at_once(&mut run);
        if placement == Placement::Same {
            backlogs(&mut run);
            footprints(&mut run);
        }
    }
    criterion.final_summary();
    report.print();
}

fn push(run: &mut Run<'_>) {
    let fixture = run.fixture;
    for shape in Shape::ALL {
        let list = || ("LPUSH", raw::list_push(fixture, shape));
        let zset = || ("ZADD + HSET", raw::zset_push(fixture, shape));
        for kind in QueueKind::LEASING {
            let mut beside = match kind {
                QueueKind::Reliable | QueueKind::Bounded => vec![list()],
                _ => vec![zset(), list()],
            };
            if (kind, shape) == (QueueKind::Reliable, Shape::new(1, 1)) {
                beside.push((BARE, raw::bare_push(fixture)));
            }
            let name = format!("push/{}, {}", kind.as_str(), shape.name());
            let ours = ours::push(fixture, kind, shape);
            run.measure(Samples::Many, &name, shape, ours, beside);
        }
        let name = format!("push/rotating, {}", shape.name());
        let ours = ours::ring_insert(fixture, shape);
        run.measure(Samples::Many, &name, shape, ours, vec![zset(), list()]);
    }
}

fn take(run: &mut Run<'_>) {
    let fixture = run.fixture;
    for (verb, trips) in [("lease + settle", 2), ("turn", 1)] {
        for shape in Shape::ALL {
            for kind in QueueKind::LEASING {
                let ours = match trips {
                    1 => ours::turn(fixture, kind, shape),
                    _ => ours::lease_and_settle(fixture, kind, shape),
                };
                let peer = match shape.batch {
                    1 => "LMOVE + LREM",
                    _ => "script + LREMs",
                };
                let mut beside = vec![(peer, raw::list_turn(fixture, shape, trips))];
                if (kind, shape, trips) == (QueueKind::Reliable, Shape::new(1, 1), 1) {
                    beside.push((BARE, raw::bare_turn(fixture)));
                }
                let name = format!("{verb}/{}, {}", kind.as_str(), shape.name());
                run.measure(Samples::Many, &name, shape, ours, beside);
            }
        }
    }
}

/// Callers of one process, on several threads.
fn threads(run: &mut Run<'_>) {
    let (fixture, kind) = (run.fixture, QueueKind::Reliable);
    for in_flight in [2, 4, 16, 64] {
        let shape = Shape::new(1, in_flight);
        let (ours, name) = (ours::push(fixture, kind, shape), shape.name());
        let beside = vec![("LPUSH", raw::list_push(fixture, shape))];
        run.measure(Samples::Many, &format!("push/{name}"), shape, ours, beside);
        let ours = ours::turn(fixture, kind, shape);
        let beside = vec![("LMOVE + LREM", raw::list_turn(fixture, shape, 1))];
        run.measure(Samples::Many, &format!("turn/{name}"), shape, ours, beside);
    }
}

fn rotate(run: &mut Run<'_>) {
    for shape in Shape::ALL {
        let ours = ours::ring_rotate(run.fixture, RING, shape);
        let beside = vec![("LMOVE", raw::list_rotate(run.fixture, RING, shape))];
        let name = format!("rotate/{}", shape.name());
        run.measure(Samples::Many, &name, shape, ours, beside);
    }
}

fn structures(run: &mut Run<'_>) {
    const TABLE: &str = "server µs a job: push, lease, settle";
    let fixture = run.fixture;
    for batch in [1, 10, 100] {
        let theirs = Strategy::ALL.map(|strategy| (strategy, Cost::default()));
        for kind in QueueKind::LEASING {
            let peers = theirs.iter().filter(|(strategy, _)| match kind {
                QueueKind::Reliable => true,
                // Only a zset by time could serve a delay queue.
                QueueKind::Delay => *strategy == Strategy::Visibility,
                _ => false,
            });
            let beside = peers.map(|(strategy, cost)| {
                let work = strategies::cycle(fixture, *strategy, batch, cost);
                (strategy.name(), work)
            });
            let cost = Cost::default();
            let ours = ours::cycle(fixture, kind, batch, &cost);
            let name = format!("structures/{}, batch {batch}", kind.as_str());
            let shape = Shape::new(batch, 1);
            run.measure(Samples::Many, &name, shape, ours, beside.collect());
            run.note(TABLE, &name, &cost.micros());
        }
        for (strategy, cost) in &theirs {
            let name = format!("structures/{}, batch {batch}", strategy.name());
            run.note(TABLE, &name, &cost.micros());
        }
    }
}

fn wake_up(run: &mut Run<'_>) {
    const TABLE: &str = "µs from push to receive, idle consumer (median: p50)";
    let [ours_times, raw_times] = [(); 2].map(|()| RefCell::new(Vec::new()));
    let [ours_note, raw_note] = [&ours_times, &raw_times]
        .map(|times| |time: Duration| times.borrow_mut().push(time.as_secs_f64() * 1e6));
    let ours = wake::ours(run.fixture, &ours_note);
    let beside = vec![("BLMOVE", wake::raw(run.fixture, &raw_note))];
    let shape = Shape::new(1, 1);
    run.measure(Samples::Many, "wake-up/reliable", shape, ours, beside);
    run.note(TABLE, "wake-up/reliable", &ours_times.borrow());
    run.note(TABLE, "wake-up/BLMOVE", &raw_times.borrow());
}

fn due_at_once(run: &mut Run<'_>) {
    const TABLE: &str = "ms after the due time, 100,000 at once";
    let all = RefCell::new(Vec::new());
    let note = |lateness| all.borrow_mut().push(lateness);
    let ours = due::ours(run.fixture, &note);
    let beside = vec![("take and delete", due::raw(run.fixture))];
    let shape = Shape::new(due::MESSAGES, 1);
    run.measure(Samples::Few, "due at once/delay", shape, ours, beside);
    let mut add = |what: &str, value: fn(&Lateness) -> f64| {
        let values: Vec<_> = all.borrow().iter().map(value).collect();
        run.note(TABLE, &format!("due at once/{what}"), &values);
    };
    add("first", |late| late.first);
    add("p50", |late| late.p50);
    add("p99", |late| late.p99);
    add("max", |late| late.max);
    add("early (messages)", |late| late.early as f64);
}

/// Measures the same work with a short and with a long backlog: here the peer is the queue itself.
fn backlogs(run: &mut Run<'_>) {
    const TABLE: &str = "server µs a job behind a backlog";
    for kind in QueueKind::LEASING {
        let [short, long] =
            [SHORT, LONG].map(|(size, _)| FilledQueue::new(run.fixture, kind, size));
        // The first sample fills the queues, so criterion chooses short samples.
        for batch in [100, 1] {
            let [short_cost, long_cost] = [(); 2].map(|()| Cost::default());
            let name = format!("backlog/{}, batch {batch}", kind.as_str());
            let ours = long.cycle(batch, &long_cost);
            let beside = vec![("backlog of 10^4", short.cycle(batch, &short_cost))];
            run.measure(Samples::Many, &name, Shape::new(batch, 1), ours, beside);
            for ((_, size), cost) in [(SHORT, short_cost), (LONG, long_cost)] {
                run.note(TABLE, &format!("{name}, {size}"), &cost.micros());
            }
        }
    }
}

/// A queue that its first measurement fills; a filter may leave it unmeasured.
struct FilledQueue<'a> {
    fixture: &'a Fixture,
    kind: QueueKind,
    size: usize,
    name: String,
    queue: OnceCell<LeasingQueue>,
}

impl<'a> FilledQueue<'a> {
    fn new(fixture: &'a Fixture, kind: QueueKind, size: usize) -> Self {
        Self {
            fixture,
            kind,
            size,
            name: fixture.fresh(),
            queue: OnceCell::new(),
        }
    }

    fn cycle<'b>(&'b self, batch: usize, cost: &'b Cost) -> Work<'b> {
        Box::new(move |rounds| {
            let queue = self.queue.get_or_init(|| self.fill());
            ours::cycle_behind(self.fixture, queue, batch, cost)(rounds)
        })
    }

    fn fill(&self) -> LeasingQueue {
        self.fixture.runtime.block_on(async {
            let queue = ours::open(&self.fixture.backend, &self.name, self.kind).await;
            queue.fill(self.size).await;
            queue
        })
    }
}

impl Drop for FilledQueue<'_> {
    fn drop(&mut self) {
        if self.queue.get().is_some() {
            self.fixture.clear(&self.name);
        }
    }
}

fn footprints(run: &mut Run<'_>) {
    const TABLE: &str = "bytes a message: 100,000 ready, of 100 B";
    let fixture = run.fixture;
    for kind in QueueKind::LEASING {
        let (floor, weighed) = match kind {
            QueueKind::Reliable => (Floor::List, &Strategy::ALL[..]),
            QueueKind::Bounded => (Floor::List, &[][..]),
            _ => (Floor::ZsetAndHash, &[][..]),
        };
        let mut names = vec![kind.as_str(), floor.name()];
        names.extend(weighed.iter().map(|strategy| strategy.name()));
        let bytes: Vec<_> = names.iter().map(|_| footprint::Bytes::default()).collect();
        let ours = footprint::ours(fixture, kind, &bytes[0]);
        let mut beside = vec![(floor.name(), footprint::floor(fixture, floor, &bytes[1]))];
        for (strategy, bytes) in weighed.iter().zip(&bytes[2..]) {
            let work = footprint::structure(fixture, *strategy, bytes);
            beside.push((strategy.name(), work));
        }
        let name = format!("footprint/{}", kind.as_str());
        let shape = Shape::new(footprint::MESSAGES, 1);
        run.measure(Samples::Few, &name, shape, ours, beside);
        for (what, bytes) in names.iter().zip(&bytes) {
            run.note(TABLE, &format!("{name}: {what}"), &bytes.borrow());
        }
    }
}
