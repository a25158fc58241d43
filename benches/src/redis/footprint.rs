//! Bytes that a message takes on the server while it is ready.

use super::{
    contenders::Contender,
    fixture::{Fixture, Shape},
    jobs::Jobs,
    strategies::{Strategy, Structure},
};

/// The number of messages for each figure.
const MESSAGES: usize = 100_000;
const BATCH: usize = 100;
/// The producers of a strategy's queue, each with a batch under way. Some strategies push messages one by one, so a
/// single producer would take long.
const PRODUCERS: usize = 20;

/// Another structure: bytes for each message.
pub fn structure(fixture: &Fixture, strategy: Strategy) -> f64 {
    weigh(fixture, MESSAGES, |name| {
        fixture.runtime.block_on(async {
            let mut structure = Structure::new(strategy, fixture.raw.clone(), name).await;
            for _ in 0..MESSAGES / BATCH {
                structure.push(BATCH).await;
            }
        });
    })
}

/// A strategy's queue: bytes for each message.
///
/// # Panics
///
/// If the queue refuses.
pub fn strategy(fixture: &Fixture, contender: &Contender) -> f64 {
    weigh(fixture, MESSAGES, |name| {
        fixture.runtime.block_on(async {
            let (backend, plain) = (&fixture.backend, &fixture.raw);
            let jobs = Jobs::open(contender, backend, plain, name, MESSAGES).await;
            let producer = || {
                let jobs = jobs.clone();
                async move {
                    for _ in 0..MESSAGES / (BATCH * PRODUCERS) {
                        jobs.put(BATCH).await;
                    }
                }
            };
            Shape::new(BATCH, PRODUCERS).time(producer).await;
            jobs.arrived(MESSAGES).await;
        });
    })
}

/// Fills a queue, and returns the server's growth for each message.
pub fn weigh(fixture: &Fixture, messages: usize, fill: impl FnOnce(&str)) -> f64 {
    let name = fixture.fresh();
    let before = fixture.memory();
    fill(&name);
    let grown = fixture.memory().saturating_sub(before);
    fixture.clear(&name);
    grown as f64 / messages as f64
}
