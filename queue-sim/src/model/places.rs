//! The ways of messages from place to place.

use queue_core::{DeathReason, Outdated, Timestamp, limits::MAX_BATCH};

use super::{
    LeasingModel,
    entry::{Death, Exit, ModelEntry, ModelPlace},
    order::ReadyOrder,
};

impl LeasingModel {
    /// The beginning of every call: it reclaims up to 128 expired leases, then promotes up to 128
    /// due messages, then ends up to 128 outdated ones (L7, L11, L17).
    pub(super) fn begin(&mut self, now: Timestamp) -> u64 {
        let now = now.as_millis();
        for at in self.first_by(ModelEntry::deadline, now) {
            self.events.expired += 1;
            if self.entries[at].attempts >= self.config.max_attempts {
                self.die(at, now, DeathReason::Expired);
            } else {
                let deadline = self.entries[at].deadline().unwrap_or(now);
                self.come_back(at, deadline);
            }
        }
        // On a delay queue, a due message is ready without a promotion.
        if self.order != ReadyOrder::Due {
            for at in self.first_by(ModelEntry::due, now) {
                let due = self.entries[at].due().unwrap_or(now);
                match (self.order, self.entries[at].returns) {
                    (ReadyOrder::Groups { strict: true, .. }, true) => {
                        self.come_back(at, due);
                        self.entries[at].ready_since = due;
                    }
                    _ => self.join(at, due),
                }
            }
        }
        self.end_rules(now);
        for at in self.first_by(ModelEntry::end, now) {
            match self.entries[at].outdates {
                Some((_, Outdated::Bury)) => self.die(at, now, DeathReason::Outdated),
                _ => self.leave(at, Exit::Outdated),
            }
        }
        now
    }

    /// Whether an outdated message is left, because there were more than one call ends. No lease hands out anything
    /// then.
    pub(super) fn is_outdated(&self, now: u64) -> bool {
        !self.first_by(ModelEntry::end, now).is_empty()
    }

    /// Lets every message live for ever.
    pub(super) fn outlive(&mut self) {
        for entry in &mut self.entries {
            entry.outdates = None;
        }
    }

    /// The first 128 messages, by (time, id), whose time has come.
    fn first_by(&self, time: impl Fn(&ModelEntry) -> Option<u64>, now: u64) -> Vec<usize> {
        let mut come = self.by(|entry| time(entry).filter(|time| *time <= now));
        come.truncate(MAX_BATCH);
        come
    }

    /// Puts a message back whose lease was released or expired at this time.
    pub(super) fn come_back(&mut self, at: usize, time: u64) {
        self.entries[at].place = match self.order {
            ReadyOrder::Due => ModelPlace::Delayed { due: time },
            _ => ModelPlace::Returned,
        };
        self.entries[at].returns = false;
        self.regroup(at);
    }

    /// Delays a message that comes back from a lease.
    pub(super) fn put_off(&mut self, at: usize, due: u64) {
        self.entries[at].returns = true;
        self.entries[at].place = ModelPlace::Delayed { due };
        self.regroup(at);
    }

    /// Puts a message at the tail of the ready messages. It counts as ready since this time.
    pub(super) fn join(&mut self, at: usize, ready_since: u64) {
        self.joins += 1;
        let entry = &mut self.entries[at];
        entry.joined = self.joins;
        entry.ready_since = ready_since;
        entry.place = ModelPlace::Ready;
        entry.returns = false;
        self.regroup(at);
    }

    fn end_mark(&mut self, at: usize) {
        let id = self.entries[at].id;
        self.marks.iter_mut().for_each(|mark| mark.done(id));
    }

    pub(super) fn leave(&mut self, at: usize, exit: Exit) {
        self.end_mark(at);
        self.entries[at].distinct = None;
        self.entries[at].place = ModelPlace::Gone(exit);
        self.regroup(at);
    }

    pub(super) fn die(&mut self, at: usize, now: u64, reason: DeathReason) {
        self.events.died += 1;
        self.park(at, now);
        self.end_mark(at);
        self.entries[at].distinct = None;
        self.entries[at].place = ModelPlace::Dead(Death {
            reason,
            at: now,
            order: self.events.died,
        });
        self.regroup(at);
        let dead = self.dead();
        if dead.len() as u64 > self.config.dead_letter_cap {
            self.leave(dead[0], Exit::Trimmed);
        }
    }
}
