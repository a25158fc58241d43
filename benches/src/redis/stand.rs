//! A strategy while it is measured: its queue, filled as in use, on a connection of its own.

use queue_core::QueueKind;

use super::{
    contenders::Contender,
    counting::Counted,
    fixture::{Fixture, Kept},
    jobs::Jobs,
    tally::Tally,
};
use crate::pairs::Work;

/// The length of a bounded queue, which is full, and the items of a ring.
const LENGTH: usize = 1_000;

/// A strategy, and its queue, which the first measurement opens; a filter may leave it unmeasured.
pub struct Stand<'a> {
    fixture: &'a Fixture,
    contender: &'a Contender,
    opened: Kept<'a, (Counted, Jobs)>,
}

impl<'a> Stand<'a> {
    /// A place for this strategy.
    pub fn new(fixture: &'a Fixture, contender: &'a Contender) -> Self {
        Self {
            fixture,
            contender,
            opened: Kept::new(fixture),
        }
    }

    /// The strategy.
    pub const fn contender(&self) -> &'a Contender {
        self.contender
    }

    /// Does jobs in batches, and records what they cost. The first batch is not counted: it loads scripts, and it ends
    /// at a distributor's tick, so that no tick comes in the middle of the next batch.
    pub fn jobs<'b>(&'b self, batch: usize, tally: &'b Tally) -> Work<'b> {
        Box::new(move |rounds| {
            let (counted, jobs) = self.opened.get(|name| self.open(name));
            let runtime = &self.fixture.runtime;
            runtime.block_on(jobs.rounds(batch, 1));
            tally.of(self.fixture, counted, rounds * batch as u64, || {
                runtime.block_on(jobs.rounds(batch, rounds))
            })
        })
    }

    fn open(&self, name: &str) -> (Counted, Jobs) {
        let counted = self.fixture.connect_counted();
        let (backend, plain) = (&counted.backend, &self.fixture.raw);
        let jobs = self.fixture.runtime.block_on(async {
            let jobs = Jobs::open(self.contender, backend, plain, name, LENGTH).await;
            if matches!(
                self.contender.kind,
                QueueKind::Bounded | QueueKind::Rotating
            ) {
                jobs.fill(LENGTH).await;
            }
            jobs
        });
        (counted, jobs)
    }
}
