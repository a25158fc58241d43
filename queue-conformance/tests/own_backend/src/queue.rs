//! A queue behind the traits: checks, the lock, the clock, and waiting.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::*;
use tokio::{sync::Notify, time};

use super::{clock::Clock, state::State};

/// One queue, shared by all its handles.
#[derive(Debug)]
pub(crate) struct Queue {
    clock: Clock,
    state: Mutex<State>,
    changed: Notify,
}

impl Queue {
    pub(crate) fn new(config: &ReliableConfig, clock: Clock) -> Self {
        Self {
            clock,
            state: Mutex::new(State::new(&config.leasing)),
            changed: Notify::new(),
        }
    }

    /// The stored configuration.
    pub(crate) fn config(&self) -> ReliableConfig {
        let state = self.state.lock().expect("nothing panics under it");
        let mut config = ReliableConfig::default();
        config.leasing = state.config.clone();
        config
    }

    pub(crate) fn reconfigure(&self, config: &ReliableConfig) {
        let mut state = self.state.lock().expect("nothing panics under it");
        state.begin(self.clock.now());
        state.config = config.leasing.clone();
        state.trim();
    }
}

/// A handle to a queue, with its own limit on bodies.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) queue: Arc<Queue>,
    pub(crate) max_body: usize,
}

impl Handle {
    /// Does a call's work at one instant, then wakes all waiting callers, so that they poll again.
    fn call<R>(&self, work: impl FnOnce(&mut State, Timestamp) -> R) -> Result<R> {
        let answer = self.locked(|state, now| {
            state.begin(now);
            work(state, now)
        });
        self.queue.changed.notify_waiters();
        answer
    }

    fn locked<R>(&self, work: impl FnOnce(&mut State, Timestamp) -> R) -> Result<R> {
        let locked = self.queue.state.lock();
        let mut state = locked.map_err(|_| {
            let message = "an earlier call panicked half-way: the queue cannot be trusted";
            Error::new(ErrorKind::Internal, message)
        })?;
        // Read under the lock, so that no call sees time go back.
        let now = self.queue.clock.now();
        Ok(work(&mut state, now))
    }
}

impl ReliableQueue for Handle {}

#[async_trait]
impl Leasing for Handle {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        Push::check_all(messages, QueueKind::Reliable, self.max_body)?;
        self.call(|state, now| messages.iter().map(|push| state.push(push, now)).collect())
    }

    async fn reschedule(&self, ids: &[MessageId], due: Due) -> Result<Vec<Rescheduled>> {
        limits::check_batch(ids.len())?;
        due.check()?;
        self.call(|state, now| {
            let due = due.resolve(now).max(now);
            ids.iter().map(|id| state.reschedule(*id, due)).collect()
        })
    }

    async fn lease(&self, max: NonZeroUsize, lease_time: Duration) -> Result<Leased> {
        limits::check_max(max.get())?;
        let lease_time = limits::lease_millis(lease_time)?;
        self.call(|state, now| state.lease(max.get(), lease_time, None, now))
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        limits::check_batch(settlements.len())?;
        Settlement::check_all(settlements)?;
        self.call(|state, now| {
            let each = settlements.iter();
            each.map(|settlement| state.settle(settlement, now))
                .collect()
        })
    }

    async fn settle_and_lease(
        &self,
        settlements: &[Settlement],
        max: NonZeroUsize,
        lease_time: Duration,
        holder: Option<Holder>,
    ) -> Result<(Vec<Settled>, Leased)> {
        Settlement::check_all(settlements)?;
        limits::check_max(max.get())?;
        let lease_time = limits::lease_millis(lease_time)?;
        self.call(|state, now| {
            let each = settlements.iter();
            let settled: Vec<Settled> = each.map(|one| state.settle(one, now)).collect();
            if !settled.is_empty() {
                // The lease is a call of its own.
                state.begin(now);
            }
            (
                settled,
                state.lease(max.get(), lease_time, holder.as_ref(), now),
            )
        })
    }

    async fn extend(
        &self,
        extensions: &[Extension],
        lease_time: Duration,
    ) -> Result<Vec<Extended>> {
        Extension::check_all(extensions)?;
        let lease_time = limits::lease_millis(lease_time)?;
        self.call(|state, now| {
            let each = extensions.iter();
            each.map(|extension| state.extend(extension, lease_time, now))
                .collect()
        })
    }

    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        let over = time::sleep(timeout);
        tokio::pin!(over);
        loop {
            // Before the check, so that a change between the check and the sleep ends the sleep.
            let changed = self.queue.changed.notified();
            let next = self.locked(|state, now| {
                if state.counters.paused {
                    return None;
                }
                let next = state.next_change().map(|time| time.since(now));
                if state.ready.is_empty() {
                    next
                } else {
                    Some(Duration::ZERO)
                }
            })?;
            let next = next.unwrap_or(timeout);
            if next.is_zero() {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = &mut over => return Ok(()),
                () = time::sleep(next) => {}
                () = changed => {}
            }
        }
    }

    async fn depth(&self) -> Result<Depth> {
        self.call(|state, now| state.depth(now))
    }

    async fn counters(&self) -> Result<Counters> {
        self.call(|state, now| state.counters(now))
    }

    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        page.check()?;
        self.call(|state, _| state.dead_letters(page))
    }

    async fn revive(&self, ids: &[MessageId], revival: Revival) -> Result<Vec<Revived>> {
        limits::check_batch(ids.len())?;
        let each = ids.iter();
        self.call(|state, now| each.map(|id| state.revive(*id, now, revival)).collect())
    }

    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        limits::check_batch(ids.len())?;
        self.call(|state, _| state.discard(ids))
    }

    async fn pause(&self) -> Result<()> {
        self.locked(|state, _| state.counters.paused = true)
    }

    async fn resume(&self) -> Result<()> {
        self.locked(|state, _| state.counters.paused = false)?;
        self.queue.changed.notify_waiters();
        Ok(())
    }

    async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        limits::check_page(max.get())?;
        self.call(|state, _| state.purge(max.get()))
    }

    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        limits::check_batch(ids.len())?;
        self.call(|state, _| ids.iter().map(|id| state.cancel(*id)).collect())
    }

    async fn peek(&self, place: Place, page: Page) -> Result<Paged<Peeked>> {
        page.check()?;
        self.call(|state, now| state.peek(place, page, now))
    }

    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Found>> {
        limits::check_batch(ids.len())?;
        self.call(|state, now| ids.iter().map(|id| state.find(*id, now)).collect())
    }

    async fn wait_for_end(&self, id: MessageId, timeout: Duration) -> Result<()> {
        let over = time::sleep(timeout);
        tokio::pin!(over);
        loop {
            let changed = self.queue.changed.notified();
            if self.locked(|state, _| !state.messages.contains_key(&id))? {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = &mut over => return Ok(()),
                () = changed => {}
            }
        }
    }
}
