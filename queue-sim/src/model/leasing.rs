//! The steps that the leasing kinds share: reclaiming, leasing and settling (L1 to L11).

use std::{num::NonZeroUsize, time::Duration};

use bytes::Bytes;
use queue_core::{
    DeathReason, Delivery, Disposition, Extended, Extension, Holder, LeaseRate, Leased,
    LeasingConfig, Receipt, Settled, Settlement, Timestamp, Token, limits::MAX_REASON,
};

use super::{
    ModelResult,
    entry::{Exit, ModelEntry, ModelPlace},
    limits,
    mark::FirstPush,
    order::ReadyOrder,
    turns::Turns,
};

/// The model of every leasing kind: all of [`Leasing`](queue_core::Leasing) and of the kinds' own
/// verbs but the waits, synchronous, with the backend's time as an argument.
///
/// `now` must never be earlier than in the call before. A backend must give the same answer to the
/// same call at the same time in the same history, token and all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeasingModel {
    pub(super) config: LeasingConfig,
    pub(super) order: ReadyOrder,
    /// The capacity, on a bounded queue.
    pub(super) capacity: Option<usize>,
    /// Every message ever accepted, by id.
    pub(super) entries: Vec<ModelEntry>,
    /// Every dedup mark ever made.
    pub(super) marks: Vec<FirstPush>,
    pub(super) last_token: u64,
    pub(super) joins: u64,
    pub(super) paused: bool,
    /// The level of the rate's bucket, and its time; none before the first delivery under this rate (Q2).
    pub(super) bucket: Option<(u64, u64)>,
    pub(super) events: Events,
    /// The turns of the groups, on a grouped queue.
    pub(super) turns: Box<Turns>,
}

/// Counts of events that the messages' places do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Events {
    pub(super) retried: u64,
    pub(super) deferred: u64,
    pub(super) released: u64,
    pub(super) expired: u64,
    pub(super) died: u64,
    pub(super) revived: u64,
}

impl LeasingModel {
    pub(super) fn new(config: &LeasingConfig, order: ReadyOrder, capacity: Option<usize>) -> Self {
        Self {
            config: config.clone(),
            order,
            capacity,
            entries: Vec::new(),
            marks: Vec::new(),
            last_token: 0,
            joins: 0,
            paused: false,
            bucket: None,
            events: Events::default(),
            turns: Box::default(),
        }
    }

    /// Leases up to `max` ready messages for `lease_time`.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn lease(
        &mut self,
        now: Timestamp,
        max: NonZeroUsize,
        lease_time: Duration,
    ) -> ModelResult<Leased> {
        self.lease_to(None, now, max, lease_time)
    }

    fn lease_to(
        &mut self,
        holder: Option<&Holder>,
        now: Timestamp,
        max: NonZeroUsize,
        lease_time: Duration,
    ) -> ModelResult<Leased> {
        limits::max(max.get())?;
        let lease_time = limits::lease(lease_time)?;
        let now = self.begin(now);
        if self.paused {
            return Ok(Leased::nothing(None));
        }
        if self.is_outdated(now) {
            return Ok(Leased::nothing(Some(Duration::ZERO)));
        }
        let line = self.deliverable(now);
        let sizes: Vec<usize> = line.iter().map(|at| self.entries[*at].size()).collect();
        let count = limits::carried(&sizes, max.get()).min(self.allowed(now));
        let waits = !line.is_empty();
        let deliveries: Vec<Delivery> = line[..count]
            .iter()
            .map(|at| self.deliver(*at, holder, now, lease_time))
            .collect();
        if let Some(rate) = self.config.rate {
            let taken = limits::millis(rate.per) * deliveries.len() as u64;
            let went_back = self.bucket.is_some_and(|(_, at)| now < at);
            if taken > 0 || went_back {
                self.bucket = Some((self.level(now) - taken, now));
            }
        }
        if deliveries.is_empty() {
            return Ok(Leased::nothing(match waits {
                true => self.next_place(now),
                false => self.next_change(now),
            }));
        }
        Ok(Leased::of(deliveries))
    }

    /// Ends leases, one after another.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn settle(
        &mut self,
        now: Timestamp,
        settlements: &[Settlement],
    ) -> ModelResult<Vec<Settled>> {
        limits::batch(settlements.len())?;
        limits::settlements(settlements)?;
        let now = self.begin(now);
        Ok(settlements
            .iter()
            .map(|settlement| self.settle_one(now, settlement))
            .collect())
    }

    /// [`settle`](Self::settle), then [`lease`](Self::lease) under the holder's name.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn settle_and_lease(
        &mut self,
        now: Timestamp,
        settlements: &[Settlement],
        max: NonZeroUsize,
        lease_time: Duration,
        holder: Option<&Holder>,
    ) -> ModelResult<(Vec<Settled>, Leased)> {
        limits::settlements(settlements)?;
        limits::max(max.get())?;
        limits::lease(lease_time)?;
        let settled = if settlements.is_empty() {
            Vec::new()
        } else {
            self.settle(now, settlements)?
        };
        Ok((settled, self.lease_to(holder, now, max, lease_time)?))
    }

    /// Sets the deadline of live leases to now + `lease_time`, and stores progress.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn extend(
        &mut self,
        now: Timestamp,
        extensions: &[Extension],
        lease_time: Duration,
    ) -> ModelResult<Vec<Extended>> {
        limits::batch(extensions.len())?;
        limits::reports(extensions)?;
        let lease_time = limits::lease(lease_time)?;
        let now = self.begin(now);
        let mut extended = Vec::new();
        for extension in extensions {
            let Some(at) = self.held(extension.receipt, now) else {
                extended.push(Extended::LeaseLost);
                continue;
            };
            self.keep_state(at, extension.state.as_ref());
            if let ModelPlace::Leased {
                deadline, progress, ..
            } = &mut self.entries[at].place
            {
                *deadline = now + lease_time;
                if extension.progress.is_some() {
                    progress.clone_from(&extension.progress);
                }
            }
            extended.push(Extended::Extended);
        }
        Ok(extended)
    }

    /// The index of the message that this receipt holds under a live lease (L4).
    fn held(&self, receipt: Receipt, now: u64) -> Option<usize> {
        self.entries.iter().position(|entry| {
            entry.id == receipt.id
                && matches!(entry.place, ModelPlace::Leased { token, deadline, .. }
                    if token == receipt.token && now < deadline)
        })
    }

    fn deliver(
        &mut self,
        at: usize,
        holder: Option<&Holder>,
        now: u64,
        lease_time: u64,
    ) -> Delivery {
        self.last_token = (self.last_token + 1).max(now * 1_000);
        let token = Token::new(self.last_token);
        self.take_turn(at, now);
        let entry = &mut self.entries[at];
        entry.attempts += 1;
        entry.place = ModelPlace::Leased {
            token,
            deadline: now + lease_time,
            holder: holder.cloned(),
            progress: None,
        };
        let receipt = Receipt::new(entry.id, token);
        let lease_time = Duration::from_millis(lease_time);
        let body = entry.body.clone();
        let mut delivery = Delivery::new(receipt, entry.attempts, lease_time, body);
        delivery.headers = entry.headers.clone();
        delivery.failure = entry.failure.clone();
        // As the token says the time.
        let leased_at = token.get() / 1_000;
        delivery.age = Some(Duration::from_millis(
            leased_at.saturating_sub(entry.pushed),
        ));
        delivery.last_attempt = entry.attempts >= self.config.max_attempts;
        delivery.priority = self.order.has_priorities().then_some(entry.priority);
        delivery.group = entry.group();
        delivery.state = entry.state().map(Box::new);
        delivery
    }

    /// Stores the state that came with a call which takes effect (L21).
    fn keep_state(&mut self, at: usize, state: Option<&Bytes>) {
        if let Some(state) = state {
            self.entries[at].state = state.clone();
        }
    }

    fn settle_one(&mut self, now: u64, settlement: &Settlement) -> Settled {
        let Some(at) = self.held(settlement.receipt, now) else {
            return Settled::LeaseLost;
        };
        self.keep_state(at, settlement.state.as_deref());
        if let Disposition::Retry { reason, .. } = &settlement.disposition {
            let said = reason.as_deref().map(kept);
            self.entries[at].failure = said.filter(|said| !said.is_empty());
        }
        match &settlement.disposition {
            Disposition::Ack => self.leave(at, Exit::Acked),
            Disposition::AckWith(kept) => {
                self.leave(at, Exit::Acked);
                self.keep_result(at, kept, now);
            }
            Disposition::Retry { .. } if self.entries[at].attempts >= self.config.max_attempts => {
                self.die(at, now, DeathReason::Retried);
                return Settled::Dead;
            }
            Disposition::Retry { delay, .. } => {
                self.events.retried += 1;
                let due = now + limits::millis(*delay);
                self.entries[at].arrival = due;
                self.put_off(at, due);
            }
            Disposition::Defer { delay } => {
                self.events.deferred += 1;
                let due = now + limits::millis(*delay);
                self.entries[at].attempts -= 1;
                self.put_off(at, due);
            }
            Disposition::Release => {
                self.events.released += 1;
                self.entries[at].attempts -= 1;
                self.come_back(at, now);
            }
            Disposition::Bury { reason } => {
                self.die(at, now, DeathReason::Buried(kept(reason)));
                return Settled::Dead;
            }
        }
        Settled::Done
    }

    /// The time until a lease ends, a message is due, a group is freed or a token comes, while a limit keeps messages
    /// that are ready.
    fn next_place(&self, now: u64) -> Option<Duration> {
        let deadlines = self.entries.iter().filter_map(ModelEntry::deadline);
        let dues = self.entries.iter().filter_map(ModelEntry::due);
        let next = deadlines.chain(dues.filter(|due| *due > now));
        let next = next.chain(self.next_freed(now)).min();
        let next = next.map(|time| Duration::from_millis(time.saturating_sub(now)));
        next.into_iter().chain(self.next_token(now)).min()
    }

    /// How many messages the limits of the queue allow to deliver now (Q1, Q2).
    pub(super) fn allowed(&self, now: u64) -> usize {
        let leased = self.leased().len() as u64;
        let at_once = self.config.at_once.map_or(u64::MAX, u64::from);
        let tokens = match self.config.rate {
            Some(rate) => (self.level(now) / limits::millis(rate.per)).min(u64::from(rate.most)),
            None => u64::MAX,
        };
        usize::try_from(at_once.saturating_sub(leased).min(tokens)).unwrap_or(usize::MAX)
    }

    /// The level of the rate's bucket now, of which each delivery takes `per`: each ms adds `most`.
    fn level(&self, now: u64) -> u64 {
        let Some(rate) = self.config.rate else {
            return 0;
        };
        let (most, full) = (
            u64::from(rate.most),
            u64::from(rate.most) * limits::millis(rate.per),
        );
        let (level, at) = self.bucket.unwrap_or((full, now));
        (level + now.saturating_sub(at) * most).min(full)
    }

    /// From now on uses this rate. The same share of the bucket is used as before.
    pub(super) fn change_rate(&mut self, now: u64, rate: Option<LeaseRate>) {
        if self.config.rate == rate {
            return;
        }
        let size = |rate: LeaseRate| u64::from(rate.most) * limits::millis(rate.per);
        let sizes = self.config.rate.map(size).zip(rate.map(size));
        let used = sizes.map(|(old, new)| {
            let share = (old - self.level(now)) as f64 / old as f64;
            (new, (share * new as f64).ceil() as u64)
        });
        self.bucket = used.map(|(new, used)| (new - used, now));
        self.config.rate = rate;
    }

    /// The time until the next token, if there is none now.
    pub(super) fn next_token(&self, now: u64) -> Option<Duration> {
        let rate = self.config.rate?;
        let missing = limits::millis(rate.per).checked_sub(self.level(now))?;
        let millis = missing.div_ceil(u64::from(rate.most));
        (millis > 0).then(|| Duration::from_millis(millis))
    }

    /// The time until the earliest deadline or due time, or until a group is freed. Elsewhere the end of a time to live
    /// does not count, because it brings nothing to lease.
    fn next_change(&self, now: u64) -> Option<Duration> {
        let times = self.entries.iter();
        let next = times
            .filter_map(|entry| entry.deadline().or(entry.due()))
            .chain(self.next_freed(now))
            .min()?;
        Some(Duration::from_millis(next.saturating_sub(now)))
    }
}

/// The first bytes of a reason, cut between characters.
fn kept(reason: &str) -> String {
    let mut kept = String::new();
    for character in reason.chars() {
        if kept.len() + character.len_utf8() > MAX_REASON {
            break;
        }
        kept.push(character);
    }
    kept
}
