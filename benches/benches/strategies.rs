//! The default queues on Redis beside every published strategy of the same kind.
//!
//! `cargo bench -p queue-benches --features redis --bench strategies`; the tables come last. A job is a
//! push, a lease and an ack; in a bounded queue, which published strategies only read, a push that
//! drops the oldest; in a ring, a visit. The client and the server have a core each, if there are two.

use std::thread;

use criterion::Criterion;
use queue_benches::{
    pairs::{Work, spread},
    redis::{
        contenders,
        crowd::{self, Crowd},
        fixture::{Fixture, Shape},
        footprint,
        placement::Placement,
        report::{PlacementRun, RatioReport, Samples},
        stand::Stand,
        table::{BATCHES, Tables},
        tally::Tally,
    },
};
use queue_core::QueueKind;

fn main() {
    // Read before the client is pinned to a core.
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let placement = Placement::Same;
    let mut criterion = Criterion::default().configure_from_args();
    let mut report = RatioReport::default();
    let mut tables = Tables::default();
    let fixture = Fixture::new(placement);
    let mut run = PlacementRun::new(&fixture, &mut criterion, &mut report);
    for kind in QueueKind::ALL {
        jobs(&mut run, kind, &mut tables);
    }
    pushers(&mut run);
    criterion.final_summary();
    report.print();
    let version = fixture.version();
    tables.print(&format!(
        "Redis {version}, {cores} cores, client and server on one core, bodies of 100 bytes"
    ));
}

/// Measures all strategies of a kind, and the bytes of the strategies that no filter left out.
fn jobs(run: &mut PlacementRun<'_>, kind: QueueKind, tables: &mut Tables) {
    let fixture = run.fixture;
    let contenders = contenders::of(kind);
    let tallies: Vec<[Tally; 3]> = contenders.iter().map(|_| Default::default()).collect();
    let stands = contenders.iter().map(|one| Stand::new(fixture, one));
    let (at_once, ticking): (Vec<_>, Vec<_>) = stands
        .zip(&tallies)
        .partition(|(stand, _)| stand.contender().is_at_once);
    beside(run, kind.as_str(), &at_once);
    // Their time is the time of their ticks, which a ratio would not show.
    for one in ticking.chunks(1) {
        let name = format!("{kind}, {}", one[0].0.contender().name);
        beside(run, &name, one);
    }
    // Their queues are gone before the bytes of the others are measured.
    drop((at_once, ticking));
    for (contender, tallies) in contenders.iter().zip(&tallies) {
        let jobs = tallies.each_ref().map(Tally::job);
        if jobs.iter().any(Option::is_some) {
            tables.add(contender, jobs, footprint::strategy(fixture, contender));
        }
    }
}

/// Measures them side by side at each batch that they can have, the first one as ours.
fn beside(run: &mut PlacementRun<'_>, name: &str, stands: &[(Stand<'_>, &[Tally; 3])]) {
    for (nth, batch) in BATCHES.into_iter().enumerate() {
        let able = stands
            .iter()
            .filter(|(stand, _)| batch == 1 || stand.contender().has_several);
        let mut works: Vec<(&'static str, Work<'_>)> = able
            .map(|(stand, tallies)| (stand.contender().name, stand.jobs(batch, &tallies[nth])))
            .collect();
        let (_, ours) = works.remove(0);
        let name = format!("strategies/{name}, batch {batch}");
        run.measure(Samples::Many, &name, Shape::new(batch, 1), ours, works);
    }
}

/// Measures several clients that push to full bounded queues.
fn pushers(run: &mut PlacementRun<'_>) {
    const OVER: &str = "most messages over a length of 10, 8 clients";
    let fixture = run.fixture;
    let contenders = contenders::of(QueueKind::Bounded);
    let crowds: Vec<Crowd> = contenders.iter().map(|_| Crowd::default()).collect();
    let works = contenders.iter().zip(&crowds);
    let mut works: Vec<(&'static str, Work<'_>)> = works
        .map(|(one, crowd)| (one.name, crowd::push(fixture, one, crowd)))
        .collect();
    let (_, ours) = works.remove(0);
    let name = "strategies/bounded, 8 clients";
    run.measure(Samples::Many, name, crowd::SHAPE, ours, works);
    for (one, crowd) in contenders.iter().zip(&crowds) {
        let micros = spread(&crowd.micros.borrow()).median;
        let name = format!("{}, at {micros:.1} µs a push", one.name);
        run.note(OVER, &name, &crowd.over.borrow());
    }
}
