use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use queue_core::{
    Backend, Cursor, Delivery, Error, MessageId, Outcome, Page, Place, QueueName, Receipt, Result,
    Settlement, Timestamp, limits::MAX_BATCH,
};
use tokio::time;

use super::{Pool, Size, Workload, goals, size, verbs::Verb};
use crate::{
    plan::{Chance, Process, What},
    workload::Mode,
    world::RunContext,
};

/// One process: its decisions, and its memory.
#[derive(Debug)]
pub(super) struct Actor {
    pub(super) process: Process,
    pub(super) context: RunContext,
    pub(super) workload: Arc<Workload>,
    pub(super) pool: Pool,
    /// The receipts of messages that it holds, the oldest first.
    pub(super) held: Vec<Receipt>,
    /// Whether it only waits.
    pub(super) is_audience: bool,
    /// The verb of the process's current step.
    pub(super) verb: Verb,
    /// The backend that opens the queue again, and the queue's name.
    pub(super) backend: Arc<dyn Backend>,
    pub(super) name: QueueName,
    /// Whether the current batch has large bodies.
    pub(super) heavy: AtomicBool,
    /// The end of the last page of dead letters, or of the ring.
    pub(super) page_end: Option<Cursor>,
    /// The end of the last page of a peek, and its place.
    pub(super) peek_end: Option<(Place, Cursor)>,
}

impl Actor {
    pub(super) fn new(
        process: Process,
        context: RunContext,
        workload: Arc<Workload>,
        pool: Pool,
        backend: Arc<dyn Backend>,
        name: QueueName,
    ) -> Self {
        Self {
            process,
            context,
            workload,
            pool,
            held: Vec::new(),
            is_audience: false,
            verb: Verb::Idle,
            backend,
            name,
            heavy: AtomicBool::new(false),
            page_end: None,
            peek_end: None,
        }
    }

    /// Draws an argument: one of the given number of options, all equally likely.
    pub(super) fn choose(&self, options: u32) -> u32 {
        let decisions = &self.context.decisions;
        let point = decisions.choice_point(self.process, What::Argument);
        decisions.choose(point, options)
    }

    /// Draws an argument: one of the given number of options, mostly the simplest.
    pub(super) fn draw(&self, options: u32, chance: Chance) -> u32 {
        let decisions = &self.context.decisions;
        let point = decisions.choice_point(self.process, What::Argument);
        decisions.draw(point, options, chance)
    }

    /// Draws an argument: one option for each weight.
    pub(super) fn weigh(&self, weights: &[u32]) -> u32 {
        let decisions = &self.context.decisions;
        let point = decisions.choice_point(self.process, What::Argument);
        decisions.weigh(point, weights)
    }

    /// Draws true with this chance.
    pub(super) fn flip(&self, chance: Chance) -> bool {
        self.draw(2, chance) == 1
    }

    /// Makes a call, and perhaps makes it again while its outcome is unknown. `None` if it failed.
    pub(super) async fn insist<T: Send, F>(&self, call: impl Fn() -> F + Sync) -> Option<T>
    where
        F: Future<Output = Result<T>> + Send,
    {
        for _ in 0..3 {
            match call().await {
                Ok(answer) => return Some(answer),
                Err(error) if !self.repeats(&error) => return None,
                Err(_) => {}
            }
        }
        None
    }

    /// Whether the process makes a failed call again: perhaps, if its outcome is unknown.
    fn repeats(&self, error: &Error) -> bool {
        let again = error.outcome() == Outcome::Unknown && self.flip(60);
        if again {
            self.reached(goals::MADE_AGAIN);
        }
        again
    }

    pub(super) fn now(&self) -> Timestamp {
        self.context.journal.now()
    }

    pub(super) fn reached(&self, goal: &'static str) {
        self.context.journal.reached(goal);
    }

    /// Remembers that something changes without a call after the given time.
    pub(super) fn expects(&self, later: Duration) {
        let millis = u64::try_from(later.as_millis()).unwrap_or(u64::MAX);
        self.pool.add_boundary(self.now().plus_millis(millis));
    }

    /// About a lease's time, or hardly any; never longer than the longest delay.
    pub(super) fn span(&self) -> Duration {
        let lease_time = self.workload.lease_time;
        let millisecond = Duration::from_millis(1);
        match self.choose(7) {
            0 => Duration::ZERO,
            1 => millisecond,
            2 => lease_time - millisecond,
            3 => lease_time,
            4 => lease_time + millisecond,
            5 => lease_time * 2,
            // A long one among short ones, so that a missed hint shows.
            _ => self.workload.longest(),
        }
    }

    /// The time for a lease.
    pub(super) fn lease_time(&self) -> Duration {
        let lease_time = self.workload.lease_time;
        match self.weigh(&[80, 8, 6, 6]) {
            1 => Duration::from_millis(1),
            2 => lease_time * 2,
            3 => lease_time + Duration::from_millis(1),
            _ => lease_time,
        }
    }

    /// The time for a wait.
    pub(super) fn timeout(&self) -> Duration {
        if self.is_audience {
            return Duration::from_secs(60);
        }
        if self.workload.mode == Mode::Waiting {
            return match self.choose(3) {
                0 => self.workload.lease_time * 3,
                1 => Duration::from_secs(1),
                _ => Duration::from_secs(60),
            };
        }
        match self.choose(3) {
            0 => self.workload.lease_time * 3,
            1 => self.workload.lease_time,
            _ => self.span(),
        }
    }

    /// Sleeps until a moment of a change that comes without a call, or just before or after it, or for about a lease's
    /// time.
    pub(super) async fn sleep(&self) {
        let now = self.now();
        let boundaries = self.pool.boundaries(now);
        let at = self.choose(1 + boundaries.len() as u32) as usize;
        let boundary = at.checked_sub(1).and_then(|at| boundaries.get(at));
        let pause = boundary.map_or_else(
            || self.span(),
            |boundary| {
                let until = boundary.since(now);
                let millisecond = Duration::from_millis(1);
                match self.choose(3) {
                    0 => until,
                    1 => until.saturating_sub(millisecond),
                    _ => until + millisecond,
                }
            },
        );
        time::sleep(pause).await;
    }

    /// The most entries of the next page.
    pub(super) fn page_limit(&self) -> usize {
        match self.flip(50) {
            true => 1,
            false => size::page(|options| self.choose(options)),
        }
    }

    /// The next page: the first, or the page after the last one that this process read.
    pub(super) fn page(&self, limit: usize) -> Page {
        match self.page_end {
            Some(cursor) if self.flip(50) => Page::after(cursor, limit),
            _ => Page::first(limit),
        }
    }

    /// The number `few`; in a crowd, now and then as many as a call may take.
    pub(super) fn or_a_handful(&self, few: usize) -> usize {
        if self.workload.size == Size::Crowd && self.flip(60) {
            return size::handful(|options| self.choose(options));
        }
        few
    }

    /// Remembers the receipts of these deliveries.
    pub(super) fn take(&mut self, deliveries: &[Delivery]) {
        if deliveries.len() == MAX_BATCH {
            self.reached(goals::FULL_HANDFUL);
        }
        for delivery in deliveries {
            self.held.push(delivery.receipt);
            self.pool.add_receipt(delivery.receipt);
            self.expects(delivery.time_left);
        }
    }

    /// Forgets the receipts of these settlements: settled, or lost.
    pub(super) fn forget(&mut self, batch: &[Settlement]) {
        let others = |held: &Receipt| batch.iter().all(|one| one.receipt != *held);
        self.held.retain(others);
    }

    /// Ids of messages, mostly of late ones; perhaps one id twice, perhaps an id that never existed.
    pub(super) fn ids(&self) -> Vec<MessageId> {
        if self.workload.size == Size::Crowd && self.flip(40) {
            let many = self.pool.latest(MAX_BATCH);
            if !many.is_empty() {
                return many;
            }
        }
        let count = 1 + self.draw(3, 30);
        let one = |_| {
            let id = self.pool.id(self.choose(self.pool.ids()));
            id.unwrap_or(MessageId::new(1))
        };
        (0..count).map(one).collect()
    }
}
