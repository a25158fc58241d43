//! The Redis backend compared with raw commands and with other structures.
//!
//! `cargo bench -p queue-benches --features redis --bench redis`; the tables come last. Every name
//! begins with the placement: the `same` core for client and server, `split` over two, or a client of
//! several `threads` beside its server.

use std::{cell::RefCell, time::Duration};

use criterion::Criterion;
use queue_benches::redis::{
    cost::Cost,
    due::{self, Lateness},
    fixture::{Fixture, Shape},
    footprint, ours,
    placement::Placement,
    raw,
    report::{PlacementRun, RatioReport, Samples},
    strategies::{self, Strategy},
    wake,
};
use queue_core::QueueKind;

/// Items of a ring that is visited.
const RING: usize = 10_000;
/// Our own commands in a script that decides nothing.
const BARE: &str = "its commands, bare";

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut report = RatioReport::default();
    for placement in Placement::all() {
        let fixture = Fixture::new(placement);
        let mut run = PlacementRun::new(&fixture, &mut criterion, &mut report);
        if let Placement::Threads(_) = placement {
            threads(&mut run);
            continue;
        }
        push(&mut run);
        settle_and_lease(&mut run);
        rotate(&mut run);
        structures(&mut run);
        wake_up(&mut run);
        due_at_once(&mut run);
    }
    criterion.final_summary();
    report.print();
}

fn push(run: &mut PlacementRun<'_>) {
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

fn settle_and_lease(run: &mut PlacementRun<'_>) {
    let fixture = run.fixture;
    for shape in Shape::ALL {
        for kind in QueueKind::LEASING {
            let peer = match shape.batch {
                1 => "LMOVE + LREM",
                _ => "script + LREMs",
            };
            let mut beside = vec![(peer, raw::list_settle_and_lease(fixture, shape))];
            if (kind, shape) == (QueueKind::Reliable, Shape::new(1, 1)) {
                beside.push((BARE, raw::bare_settle_and_lease(fixture)));
            }
            let name = format!("settle_and_lease/{}, {}", kind.as_str(), shape.name());
            let ours = ours::settle_and_lease(fixture, kind, shape);
            run.measure(Samples::Many, &name, shape, ours, beside);
        }
    }
}

/// Callers of one process, on several threads.
fn threads(run: &mut PlacementRun<'_>) {
    let (fixture, kind) = (run.fixture, QueueKind::Reliable);
    for in_flight in [2, 4, 16, 64] {
        let shape = Shape::new(1, in_flight);
        let (ours, name) = (ours::push(fixture, kind, shape), shape.name());
        let beside = vec![("LPUSH", raw::list_push(fixture, shape))];
        run.measure(Samples::Many, &format!("push/{name}"), shape, ours, beside);
        let ours = ours::settle_and_lease(fixture, kind, shape);
        let beside = vec![("LMOVE + LREM", raw::list_settle_and_lease(fixture, shape))];
        run.measure(
            Samples::Many,
            &format!("settle_and_lease/{name}"),
            shape,
            ours,
            beside,
        );
    }
}

fn rotate(run: &mut PlacementRun<'_>) {
    for shape in Shape::ALL {
        let ours = ours::ring_rotate(run.fixture, RING, shape);
        let beside = vec![("LMOVE", raw::list_rotate(run.fixture, RING, shape))];
        let name = format!("rotate/{}", shape.name());
        run.measure(Samples::Many, &name, shape, ours, beside);
    }
}

fn structures(run: &mut PlacementRun<'_>) {
    const TABLE: &str = "server µs a job: push, lease, settle";
    const BYTES: &str = "bytes a message: 100,000 ready, of 100 B";
    let fixture = run.fixture;
    for batch in [1, 10, 100] {
        let theirs = Strategy::ALL.map(|strategy| (strategy, Cost::default()));
        for kind in QueueKind::LEASING {
            let peers = theirs.iter().filter(|(strategy, _)| match kind {
                QueueKind::Reliable => true,
                // Only a sorted set by time could serve a delay queue.
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
        // Measured once, because neither the batch nor the cores change it, and only if no filter left it out.
        if batch == 100 && fixture.placement == Placement::Same {
            for (strategy, _) in theirs.iter().filter(|(_, cost)| !cost.micros().is_empty()) {
                let bytes = footprint::structure(fixture, *strategy);
                run.note(BYTES, &format!("structures/{}", strategy.name()), &[bytes]);
            }
        }
    }
}

fn wake_up(run: &mut PlacementRun<'_>) {
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

fn due_at_once(run: &mut PlacementRun<'_>) {
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
