//! The place of every message at one instant: no clock, no lock, nothing asynchronous.

use std::collections::{BTreeMap, BTreeSet};

use queue_core::*;

/// A live message; a dead one is a `DeadLetter`.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) body: Bytes,
    pub(crate) headers: Headers,
    pub(crate) pushed: Timestamp,
    pub(crate) attempts: u32,
    /// Why the last retry said that it failed (L14).
    pub(crate) failure: Option<String>,
    pub(crate) ready_since: Timestamp,
    /// The live lease's token and deadline.
    pub(crate) lease: Option<(Token, Timestamp)>,
    /// The holder of that lease, if it gave a name.
    pub(crate) holder: Option<Holder>,
    /// The progress that the holder reported last (L19).
    pub(crate) progress: Option<Bytes>,
    /// The state that a holder stored with the message (L21); empty for none.
    pub(crate) state: Bytes,
    /// When its time to live is over, and what becomes of it then (L17).
    pub(crate) end: Option<(Timestamp, Outdated)>,
}

impl Stored {
    /// A pushed or revived message, which has no attempt yet.
    pub(crate) fn new(body: Bytes, headers: Headers, pushed: Timestamp) -> Self {
        Self {
            body,
            headers,
            pushed,
            attempts: 0,
            failure: None,
            ready_since: pushed,
            lease: None,
            holder: None,
            progress: None,
            state: Bytes::new(),
            end: None,
        }
    }

    /// Bytes of body, headers and state.
    pub(crate) fn size(&self) -> usize {
        self.body.len() + self.headers.size() + self.state.len()
    }
}

/// A dedup mark (L9).
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) first: MessageId,
    pub(crate) end: Timestamp,
    /// Whether it ends with its message, if that is sooner.
    pub(crate) until_done: bool,
}

/// The message that was last accepted under a distinct key (B7).
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyHolder {
    pub(crate) id: MessageId,
    /// The first push of the messages that replaced each other, if this one has a longest wait.
    pub(crate) first: Option<Timestamp>,
}

/// A ready message's place, in one of two lines (L11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    /// It came back by release or expiry: these go first, by id.
    Returned(MessageId),
    /// All others, in the order of joining: a number that only grows.
    Joined(u64),
}

/// A queue. Each id in `messages` is in exactly one of `ready`, `delayed` and `leased`.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) messages: BTreeMap<MessageId, Stored>,
    pub(crate) ready: BTreeMap<Line, MessageId>,
    /// By due time.
    pub(crate) delayed: BTreeSet<(Timestamp, MessageId)>,
    /// By deadline.
    pub(crate) leased: BTreeSet<(Timestamp, MessageId)>,
    /// Messages with a time to live, in any place, by its end.
    pub(crate) ends: BTreeSet<(Timestamp, MessageId)>,
    /// In the order of dying: a number that only grows.
    pub(crate) dead: BTreeMap<u64, DeadLetter>,
    /// Results of acked messages, with the ends of their time (S1).
    pub(crate) results: BTreeMap<MessageId, (Timestamp, Bytes)>,
    /// By dedup key.
    pub(crate) marks: BTreeMap<Bytes, Mark>,
    /// By distinct key.
    pub(crate) keys: BTreeMap<Bytes, KeyHolder>,
    pub(crate) config: LeasingConfig,
    pub(crate) counters: Counters,
    pub(crate) last_token: u64,
    joined: u64,
    deaths: u64,
}

impl State {
    pub(crate) fn new(config: &LeasingConfig) -> Self {
        Self {
            config: config.clone(),
            ..Self::default()
        }
    }

    /// Clears ended marks, ends expired leases, promotes due messages and ends outdated ones. Every
    /// call begins with it.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.marks.retain(|_, mark| now < mark.end);
        for _ in 0..limits::MAX_BATCH {
            let Some((_, id)) = pop_until(&mut self.leased, now) else {
                break;
            };
            self.counters.expired += 1;
            let stored = self.stored(id);
            stored.lease = None;
            if stored.attempts >= self.config.max_attempts {
                self.die(id, DeathReason::Expired, now);
            } else {
                self.ready.insert(Line::Returned(id), id);
            }
        }
        for _ in 0..limits::MAX_BATCH {
            let Some((due, id)) = pop_until(&mut self.delayed, now) else {
                break;
            };
            self.join(id, due);
        }
        let outdated: Vec<_> = self.outdated(now).take(limits::MAX_BATCH).collect();
        for (id, then) in outdated {
            self.take_out(id);
            match then {
                Outdated::Drop => {
                    self.remove(id);
                    self.counters.outdated += 1;
                }
                Outdated::Bury => self.die(id, DeathReason::Outdated, now),
            }
        }
    }

    /// The undelivered messages whose time to live is over, by (end, id).
    pub(crate) fn outdated(&self, now: Timestamp) -> impl Iterator<Item = (MessageId, Outdated)> {
        let over = self.ends.iter().take_while(move |(end, _)| *end <= now);
        over.filter_map(move |(_, id)| {
            let stored = &self.messages[id];
            let (_, then) = stored.end?;
            stored.lease.is_none().then_some((*id, then))
        })
    }

    /// Puts a message at the tail of the ready.
    pub(crate) fn join(&mut self, id: MessageId, ready_since: Timestamp) {
        self.joined += 1;
        self.ready.insert(Line::Joined(self.joined), id);
        self.stored(id).ready_since = ready_since;
    }

    /// Takes an undelivered message out of its place. Returns whether it was in one.
    pub(crate) fn take_out(&mut self, id: MessageId) -> bool {
        let before = self.ready.len() + self.delayed.len();
        self.ready.retain(|_, ready| *ready != id);
        self.delayed.retain(|(_, delayed)| *delayed != id);
        self.ready.len() + self.delayed.len() < before
    }

    /// Removes a message, which the caller has taken from its place, the mark that ends with it, and its hold on a
    /// distinct key.
    pub(crate) fn remove(&mut self, id: MessageId) -> Stored {
        self.marks
            .retain(|_, mark| mark.first != id || !mark.until_done);
        self.keys.retain(|_, holder| holder.id != id);
        let stored = self.messages.remove(&id).expect("was in a place");
        if let Some((end, _)) = stored.end {
            self.ends.remove(&(end, id));
        }
        stored
    }

    /// Moves a message, which the caller has taken from its place, to the dead letters (L13).
    pub(crate) fn die(&mut self, id: MessageId, reason: DeathReason, now: Timestamp) {
        let stored = self.remove(id);
        self.deaths += 1;
        self.counters.died += 1;
        let mut letter =
            DeadLetter::new(id, stored.body, reason, stored.attempts, stored.pushed, now);
        letter.headers = stored.headers;
        letter.failure = stored.failure;
        letter.state = Some(stored.state).filter(|state| !state.is_empty());
        self.dead.insert(self.deaths, letter);
        self.trim();
    }

    /// Drops the oldest dead letters beyond the cap.
    pub(crate) fn trim(&mut self) {
        while self.dead.len() as u64 > self.config.dead_letter_cap {
            self.dead.pop_first();
            self.counters.trimmed += 1;
        }
    }

    /// A message that is in one of the three places.
    pub(crate) fn stored(&mut self, id: MessageId) -> &mut Stored {
        self.messages.get_mut(&id).expect("is in a place")
    }

    /// The next time at which something changes by itself: the earliest deadline or due time.
    pub(crate) fn next_change(&self) -> Option<Timestamp> {
        let firsts = [self.leased.first(), self.delayed.first()];
        firsts.into_iter().flatten().map(|(time, _)| *time).min()
    }
}

/// Takes out the first message of a line ordered by time, if its time has come.
fn pop_until(
    line: &mut BTreeSet<(Timestamp, MessageId)>,
    now: Timestamp,
) -> Option<(Timestamp, MessageId)> {
    let (time, _) = line.first()?;
    if *time > now {
        return None;
    }
    line.pop_first()
}
