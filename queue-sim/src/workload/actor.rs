use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use queue_core::{
    Backend, Cursor, Delivery, Error, MessageId, Outcome, Page, QueueName, Receipt, Timestamp,
    limits::MAX_BATCH,
};
use tokio::time;

use super::{Pool, Size, Workload, goals, size};
use crate::{
    plan::{Chance, Lane, What},
    workload::Mode,
    world::RunContext,
};

/// One lane's hands: what it draws from, and what it remembers.
#[derive(Debug)]
pub(super) struct Actor {
    pub(super) lane: Lane,
    pub(super) context: RunContext,
    pub(super) workload: Arc<Workload>,
    pub(super) pool: Pool,
    /// What it was handed out and has not settled, the oldest first.
    pub(super) held: Vec<Receipt>,
    /// Whether it does nothing but wait.
    pub(super) is_audience: bool,
    /// What opens the queue again, and what that is called.
    pub(super) backend: Arc<dyn Backend>,
    pub(super) name: QueueName,
    /// Whether the bodies of the batch in the making are large.
    pub(super) heavy: AtomicBool,
    /// Where the last page of dead letters, or of the ring, ended.
    pub(super) page_end: Option<Cursor>,
}

impl Actor {
    pub(super) fn new(
        lane: Lane,
        context: RunContext,
        workload: Arc<Workload>,
        pool: Pool,
        backend: Arc<dyn Backend>,
        name: QueueName,
    ) -> Self {
        Self {
            lane,
            context,
            workload,
            pool,
            held: Vec::new(),
            is_audience: false,
            backend,
            name,
            heavy: AtomicBool::new(false),
            page_end: None,
        }
    }

    /// An argument: one of so many, each as likely.
    pub(super) fn choose(&self, options: u32) -> u32 {
        let decisions = &self.context.decisions;
        let site = decisions.site(self.lane, What::Argument);
        decisions.choose(site, options)
    }

    /// An argument: one of so many, mostly the simplest.
    pub(super) fn draw(&self, options: u32, chance: Chance) -> u32 {
        let decisions = &self.context.decisions;
        let site = decisions.site(self.lane, What::Argument);
        decisions.draw(site, options, chance)
    }

    /// An argument: one of as many as there are weights.
    pub(super) fn weigh(&self, weights: &[u32]) -> u32 {
        let decisions = &self.context.decisions;
        let site = decisions.site(self.lane, What::Argument);
        decisions.weigh(site, weights)
    }

    /// Whether something is so, with this chance.
    pub(super) fn flip(&self, chance: Chance) -> bool {
        self.draw(2, chance) == 1
    }

    /// Whether a call that failed so is made again: only if nobody knows what became of it.
    pub(super) fn repeats(&self, error: &Error) -> bool {
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

    /// About as long as a lease, or hardly at all; never longer than the longest delay.
    pub(super) fn span(&self) -> Duration {
        let ttl = self.workload.ttl;
        let millisecond = Duration::from_millis(1);
        match self.choose(7) {
            0 => Duration::ZERO,
            1 => millisecond,
            2 => ttl - millisecond,
            3 => ttl,
            4 => ttl + millisecond,
            5 => ttl * 2,
            // Among short ones, so that one that is missed shows.
            _ => self.workload.longest_delay(),
        }
    }

    /// For how long to lease.
    pub(super) fn lease_time(&self) -> Duration {
        let ttl = self.workload.ttl;
        match self.weigh(&[80, 8, 6, 6]) {
            1 => Duration::from_millis(1),
            2 => ttl * 2,
            3 => ttl + Duration::from_millis(1),
            _ => ttl,
        }
    }

    /// For how long to wait.
    pub(super) fn timeout(&self) -> Duration {
        if self.is_audience {
            return Duration::from_secs(60);
        }
        if self.workload.mode == Mode::Waiting {
            return match self.choose(3) {
                0 => self.workload.ttl * 3,
                1 => Duration::from_secs(1),
                _ => Duration::from_secs(60),
            };
        }
        match self.choose(3) {
            0 => self.workload.ttl * 3,
            1 => self.workload.ttl,
            _ => self.span(),
        }
    }

    /// Sleeps to a moment at which something changes by itself, or just before or after it, or for
    /// about as long as a lease.
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

    /// How many entries the next page has at most.
    pub(super) fn page_limit(&self) -> usize {
        match self.flip(50) {
            true => 1,
            false => size::page(|options| self.choose(options)),
        }
    }

    /// The next page: the first, or the one behind the last that this lane read.
    pub(super) fn page(&self, limit: usize) -> Page {
        match self.page_end {
            Some(cursor) if self.flip(50) => Page::after(cursor, limit),
            _ => Page::first(limit),
        }
    }

    /// As many as this, but in a crowd now and then as many as a call may take.
    pub(super) fn or_a_handful(&self, few: usize) -> usize {
        if self.workload.size == Size::Crowd && self.flip(60) {
            return size::handful(|options| self.choose(options));
        }
        few
    }

    /// Remembers what it was handed out.
    pub(super) fn take(&mut self, deliveries: &[Delivery]) {
        let now = self.now();
        if deliveries.len() == MAX_BATCH {
            self.reached(goals::FULL_HANDFUL);
        }
        for delivery in deliveries {
            self.held.push(delivery.receipt);
            self.pool.add_delivery(delivery, now);
        }
    }

    /// Ids of messages, mostly of late ones; perhaps the same twice, perhaps one that never was.
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
