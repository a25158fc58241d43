//! The state that the leasing kinds share: messages and the leases on them.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use queue_core::{
    Counters, DeathReason, Delivery, Holder, Leased, LeasingConfig, MessageId, Receipt, Timestamp,
    Token, limits,
};

use super::{
    availability::{Availability, Waitable},
    backlog::Backlog,
    dead::DeadLetters,
    distinct::DistinctKeys,
    ends::Ends,
    entry::{Entries, EntryPlace, Name, Slot, StoredMessage},
    holders::Holders,
    index::Index,
    kind::Kind,
    limits::Limits,
    marks::Marks,
    results::Results,
    timeline::Timeline,
};

/// A leasing queue at one instant.
///
/// A message is in `entries`, and there either in the backlog or in `leases`; or it is among the
/// dead letters.
#[derive(Debug)]
pub(crate) struct LeasingState<K: Kind> {
    /// The first open's configuration, with the present capacity.
    pub(super) config: K::Config,
    pub(super) entries: Entries,
    pub(super) backlog: K::Backlog,
    pub(super) leases: Timeline,
    /// The names on the leases (L16).
    pub(super) holders: Holders,
    /// The progress of live leases, by message (L19).
    pub(super) progress: HashMap<MessageId, Bytes>,
    /// The messages that were acked, died or went, while a caller waits for the end of one.
    pub(super) ended: Option<Vec<MessageId>>,
    /// The results of acked messages (S1).
    pub(super) results: Results,
    pub(super) index: Index,
    pub(super) marks: Marks,
    /// The times to live (L17).
    pub(super) ends: Ends,
    pub(super) dead: DeadLetters,
    /// The messages that hold distinct keys (B7).
    pub(super) distinct: DistinctKeys,
    /// The most entries; without limit except on bounded queues.
    pub(super) capacity: usize,
    /// Whether a resize has changed the capacity.
    pub(super) resized: bool,
    pub(super) max_attempts: u32,
    /// The limits of the whole queue (Q1, Q2).
    limits: Limits,
    pub(super) paused: bool,
    pub(super) counters: Counters,
    pub(super) last_id: u64,
    last_token: u64,
    pub(super) latest: Timestamp,
    /// The time before which no lease expires, no message comes due, and no time to live ends.
    pub(super) quiet_until: Timestamp,
}

const NEVER: Timestamp = Timestamp::from_millis(u64::MAX);

impl<K: Kind> LeasingState<K> {
    pub(super) fn with(
        config: &K::Config,
        leasing: &LeasingConfig,
        backlog: K::Backlog,
        capacity: usize,
    ) -> Self {
        Self {
            config: config.clone(),
            entries: Entries::default(),
            backlog,
            leases: Timeline::default(),
            holders: Holders::default(),
            progress: HashMap::new(),
            ended: None,
            results: Results::default(),
            index: Index::default(),
            marks: Marks::default(),
            ends: Ends::default(),
            dead: DeadLetters::new(leasing.dead_letter_cap),
            distinct: DistinctKeys::default(),
            capacity,
            resized: false,
            max_attempts: leasing.max_attempts,
            limits: Limits::new(leasing),
            paused: false,
            counters: Counters::default(),
            last_id: 0,
            last_token: 0,
            latest: Timestamp::default(),
            quiet_until: NEVER,
        }
    }

    /// Changes the number of attempts and the cap of the dead letters.
    pub(super) fn reconfigure_leasing(&mut self, now: Timestamp, config: &LeasingConfig) {
        let now = self.begin(now);
        let attempts = config.max_attempts;
        planted!(AttemptsStay => attempts = self.max_attempts.max(config.max_attempts));
        self.max_attempts = attempts;
        self.limits.change(now, config);
        self.counters.trimmed += self.dead.keep(config.dead_letter_cap);
    }

    /// Reclaims, promotes, and ends outdated messages, as every call does first (L7). Returns the time, which
    /// never goes back.
    #[inline]
    pub(super) fn begin(&mut self, now: Timestamp) -> Timestamp {
        let now = self.latest.max(now);
        self.latest = now;
        self.backlog.set_time(now);
        debug_assert!(self.quiet_until <= self.next_stir());
        // A change of a group may bring its times forward, and does not say so.
        let stirs = self.backlog.next_stir();
        if now >= self.quiet_until || stirs.is_some_and(|time| time <= now) {
            self.catch_up(now);
        }
        now
    }

    /// Notes that something changes without a call at this time.
    #[inline]
    pub(super) fn expect(&mut self, time: Timestamp) {
        self.quiet_until = self.quiet_until.min(time);
    }

    fn catch_up(&mut self, now: Timestamp) {
        self.marks.clear_ended(now);
        self.reclaim(now);
        self.backlog.promote(&mut self.entries, now);
        self.end_outdated(now);
        self.quiet_until = self.next_stir();
    }

    fn next_stir(&self) -> Timestamp {
        let times = [
            self.marks.first_end(),
            self.leases.first_time(),
            self.backlog.next_promotion(),
            self.ends.first_end(),
        ];
        times.into_iter().flatten().min().unwrap_or(NEVER)
    }

    fn reclaim(&mut self, now: Timestamp) {
        let until = now;
        planted!(LiveAtItsDeadline => until = Timestamp::from_millis(now.as_millis() - 1));
        for _ in 0..limits::MAX_BATCH {
            let Some((deadline, slot)) = self.leases.pop_until(until) else {
                break;
            };
            self.forget_holder(slot);
            self.counters.expired += 1;
            planted!(ExpiryLosesTheState => self.entries[slot].store(Bytes::new()));
            planted!(ExpiryIsFree => self.entries[slot].attempts -= 1);
            if self.is_spent(slot) {
                self.die(slot, DeathReason::Expired, now);
            } else {
                self.backlog.rejoin(&mut self.entries, slot, deadline);
                self.came_back(slot);
            }
        }
    }

    /// Whether a message has had all its attempts (L6).
    #[inline]
    pub(super) fn is_spent(&self, slot: Slot) -> bool {
        planted!(PoisonCircles => return false);
        self.entries[slot].attempts >= self.max_attempts
    }

    /// Puts a message into the backlog, ready from `due` on.
    #[inline]
    pub(super) fn delay(&mut self, slot: Slot, due: Timestamp) {
        self.backlog.delay(&mut self.entries, slot, due);
        self.expect(due);
    }

    /// Records a message as leased.
    #[inline]
    pub(super) fn hold(&mut self, slot: Slot, id: MessageId, deadline: Timestamp) {
        planted!(PopWithoutALease => return);
        self.leases.insert(deadline, id, slot);
        self.expect(deadline);
    }

    /// Removes the holder's name and progress from a lease that ends.
    #[inline]
    pub(super) fn forget_holder(&mut self, slot: Slot) {
        if let EntryPlace::Leased { holder, .. } = self.entries[slot].place {
            self.holders.leave(holder);
        }
        planted!(ProgressOutlivesItsLease => return);
        if !self.progress.is_empty() {
            self.progress.remove(&self.entries[slot].id);
        }
    }

    /// Gives a message a slot; the caller puts it into the backlog.
    #[inline]
    pub(super) fn keep(&mut self, entry: StoredMessage) -> Slot {
        let id = entry.id;
        let slot = self.entries.insert(entry);
        self.index.insert(id, slot);
        slot
    }

    /// Removes a message that is no longer in the backlog nor leased.
    #[inline]
    pub(super) fn forget(&mut self, slot: Slot) -> StoredMessage {
        let entry = &self.entries[slot];
        let id = entry.id;
        self.backlog.forgotten(entry);
        self.index.remove(id);
        self.marks.done(id);
        self.ends.done(id);
        self.distinct.done(id);
        if let Some(ended) = &mut self.ended {
            ended.push(id);
        }
        // Last, so that the message is moved once, to the caller.
        self.entries.remove(slot)
    }

    /// Removes an undelivered message.
    #[inline]
    pub(super) fn withdraw(&mut self, slot: Slot) -> StoredMessage {
        self.backlog.remove(&mut self.entries, slot);
        self.forget(slot)
    }

    /// Moves a message that is no longer leased to the dead letters.
    pub(super) fn die(&mut self, slot: Slot, reason: DeathReason, now: Timestamp) {
        self.backlog.dies(&self.entries[slot]);
        let entry = self.forget(slot);
        self.counters.died += 1;
        let group = K::group(&entry);
        self.counters.trimmed += self.dead.add(entry, group, reason, now);
    }

    /// `holder` is the name that the leases carry.
    pub(crate) fn lease(
        &mut self,
        now: Timestamp,
        max: usize,
        lease_time: u64,
        holder: Option<Holder>,
    ) -> Leased {
        let now = self.begin(now);
        let is_paused = self.paused;
        planted!(LeasesWhilePaused => is_paused = false);
        if is_paused {
            return Leased::nothing(None);
        }
        // More than 128 were outdated: the next call ends the rest.
        if self.ends.first_outdated(now).is_some() {
            return Leased::nothing(Some(Duration::ZERO));
        }
        let max = max.min(self.limits.allow(now, self.leases.len()));
        let holder = self.holders.add(holder);
        let mut deliveries = Vec::with_capacity(max.min(self.backlog.len()));
        let mut bytes = 0_usize;
        while deliveries.len() < max {
            let first = self.backlog.first_ready(now);
            planted!(LastInFirstOut | LatestFirst | TextualTies | PackingOverflows =>
                first = self.misordered(now));
            let Some(slot) = first else {
                break;
            };
            bytes = bytes.saturating_add(self.entries[slot].size());
            if bytes > limits::MAX_BATCH_BYTES && !deliveries.is_empty() {
                break;
            }
            deliveries.push(self.grant(slot, now, lease_time, holder));
        }
        self.holders.granted(holder, deliveries.len());
        self.limits.spend(now, deliveries.len());
        if deliveries.is_empty() {
            let next = self.next_delivery(now);
            return Leased::nothing(next.map(|time| time.since(now)));
        }
        Leased::of(deliveries)
    }

    #[inline]
    fn grant(&mut self, slot: Slot, now: Timestamp, lease_time: u64, holder: Name) -> Delivery {
        self.backlog.grant(&mut self.entries, slot);
        self.last_token = (self.last_token + 1).max(now.as_millis() * Token::PER_MILLI);
        planted!(TokenReused => self.last_token = now.as_millis() * Token::PER_MILLI);
        let token = Token::new(self.last_token);
        let deadline = now.plus_millis(lease_time);
        planted!(TimedFromThePush => deadline = self.entries[slot].arrival.plus_millis(lease_time));
        let entry = &mut self.entries[slot];
        entry.attempts += 1;
        entry.place = EntryPlace::Leased {
            token,
            deadline,
            holder,
        };
        let id = entry.id;
        self.ends.held(id);
        planted!(KeyFreedAtDelivery => self.distinct.done(id));
        self.hold(slot, id, deadline);
        let entry = &self.entries[slot];
        let (receipt, time_left) = (Receipt::new(id, token), Duration::from_millis(lease_time));
        planted!(TimedFromThePush => time_left = deadline.since(now));
        let body = entry.body.clone();
        let mut delivery = Delivery::new(receipt, entry.attempts, time_left, body);
        delivery.headers = entry.headers.clone();
        delivery.failure = entry.failure();
        delivery.age = Some(token.leased_at().since(entry.pushed()));
        delivery.last_attempt = self.is_spent(slot);
        delivery.priority = K::priority(entry);
        delivery.group = K::group(entry);
        delivery.state = entry.state().cloned().map(Box::new);
        planted!(AgeFromTheArrival => delivery.age = Some(token.leased_at().since(entry.arrival)));
        planted!(LastAttemptComesEarly =>
            delivery.last_attempt = entry.attempts + 1 >= self.max_attempts);
        planted!(DeliveryHasNoValue => (delivery.priority, delivery.group) = (None, None));
        delivery
    }

    /// The next time at which a group may be freed: at the end of a rule, with a token, or at the end of a message that
    /// holds a place.
    fn next_freed(&self) -> Option<Timestamp> {
        let end = || self.ends.first_end();
        let end = self.backlog.delayed_hold_places().then(end).flatten();
        self.backlog.next_end().into_iter().chain(end).min()
    }

    /// The next time at which something changes without a call: a deadline, a due time, or a group that is freed.
    fn next_change(&self) -> Option<Timestamp> {
        let times = [
            self.leases.first_time(),
            self.backlog.next_due(),
            self.next_freed(),
        ];
        times.into_iter().flatten().min()
    }

    /// The next time at which a message may be handed out without a call. While a limit keeps ready messages, that is a
    /// deadline, a due time to come, a group that is freed, or the time of the next token.
    fn next_delivery(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.limits.any() || self.backlog.first_ready(now).is_none() {
            return self.next_change();
        }
        let mut dues =
            self.backlog
                .delayed(now)
                .filter_map(|slot| match self.entries[slot].place {
                    EntryPlace::Due(due) => Some(due),
                    _ => None,
                });
        let times = [
            self.leases.first_time(),
            dues.find(|due| *due > now),
            self.next_freed(),
            self.limits.next_token(now),
        ];
        times.into_iter().flatten().min()
    }

    /// The time until the rate allows the next delivery, if that is not now.
    pub(super) fn until_next_token(&self, now: Timestamp) -> Option<Duration> {
        self.limits.next_token(now).map(|time| time.since(now))
    }

    /// Stops handing out messages.
    pub(crate) fn pause(&mut self) {
        self.paused = true;
    }

    /// Hands out messages again.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }
}

impl<K: Kind> Waitable for LeasingState<K> {
    fn arrival(&self, now: Timestamp) -> Availability {
        if self.paused {
            return Availability::OnlyByCall;
        }
        let is_allowed = self.limits.allow(now, self.leases.len()) > 0;
        if is_allowed && self.backlog.first_ready(now).is_some() {
            return Availability::Now;
        }
        Availability::at(self.next_delivery(now), now)
    }

    /// An expiry makes room if the message dies, and so does the end of a time to live. After either a caller
    /// tries again.
    fn room(&self, now: Timestamp) -> Availability {
        if self.entries.len() < self.capacity {
            return Availability::Now;
        }
        let times = [self.leases.first_time(), self.ends.first_end()];
        Availability::at(times.into_iter().flatten().min(), now)
    }

    fn watch_end(&mut self, id: MessageId) -> bool {
        let is_over = self.index.get(id).is_none();
        if !is_over && self.ended.is_none() {
            self.ended = Some(Vec::new());
        }
        is_over
    }

    fn take_ended(&mut self, watch: bool) -> Vec<MessageId> {
        let next = watch.then(Vec::new);
        std::mem::replace(&mut self.ended, next).unwrap_or_default()
    }
}

coded!(where K: Kind, LeasingState<K> {
    config, entries, backlog, leases, holders, progress, results, index, marks, ends, dead, distinct, capacity,
    resized, max_attempts, limits, paused, counters, last_id, last_token, latest, quiet_until
} else { ended: None });
