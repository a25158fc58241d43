//! Calls and answers in the words of the history view: `ack(103 #1)`, `-> 103 #1 <120`.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    time::Duration,
};

use queue_core::{
    Delivery, Disposition, Due, Found, Group, Leased, MessageId, Outdated, Overflow, Place, Push,
    QueueName, Receipt, Revival, Settled, Settlement, Standing, Timestamp, Token,
    call::{Answer, Call},
    millis_ceil,
};

use super::values::{
    bytes, counted, debug, held, insert, lease, list, message, ms, next_in, pushed_as, reconfigure,
};
use crate::history::{History, Record};

/// A value below this is a number, and not a time.
const LONG_AGO: Timestamp = Timestamp::from_millis(1_000_000_000_000);

/// The longest history. A value further from its beginning is not a time in it.
const LONGEST_RUN: Duration = Duration::from_secs(86_400);

/// The references of a history's words: its beginning, and its known deliveries.
///
/// Times are milliseconds since the beginning. `103 #2` is the second known delivery of message 103; the number
/// replaces its token. If there are several queues, each call and each message has its queue's name.
#[derive(Debug)]
pub(super) struct Words {
    base: Timestamp,
    several: bool,
    deliveries: BTreeMap<(QueueName, MessageId), Vec<Token>>,
}

impl Words {
    pub(super) fn of(history: &History) -> Self {
        let calls = history.records.iter().map(|record| record.began.at);
        let events = history.events.iter().map(|(moment, _)| moment.at);
        let queues: BTreeSet<&QueueName> =
            history.records.iter().map(|record| &record.queue).collect();
        let mut words = Self {
            base: calls.chain(events).min().unwrap_or_default(),
            several: queues.len() > 1,
            deliveries: BTreeMap::new(),
        };
        for record in &history.records {
            for delivery in deliveries(record) {
                let Receipt { id, token } = delivery.receipt;
                let known = (record.queue.clone(), id);
                let tokens = words.deliveries.entry(known).or_default();
                if let Err(place) = tokens.binary_search(&token) {
                    tokens.insert(place, token);
                }
            }
        }
        words
    }

    /// Milliseconds since the beginning.
    pub(super) fn time(&self, at: Timestamp) -> i128 {
        i128::from(at.as_millis()) - i128::from(self.base.as_millis())
    }

    /// A message whose times are milliseconds since the beginning, as in all these words.
    pub(super) fn with_relative_times(&self, message: &str) -> String {
        let mut text = String::with_capacity(message.len());
        let mut rest = message;
        while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|letter: char| !letter.is_ascii_digit());
            let (digits, after) = from.split_at(end.unwrap_or(from.len()));
            text.push_str(before);
            let time = digits.parse().map(Timestamp::from_millis);
            match time {
                Ok(at) if at >= self.base.max(LONG_AGO) && at.since(self.base) < LONGEST_RUN => {
                    text.push_str(&format!("t={}", self.time(at)));
                }
                _ => text.push_str(digits),
            }
            rest = after;
        }
        text.push_str(rest);
        text
    }

    /// The queue's name as a prefix; nothing if there is only one queue.
    pub(super) fn queue(&self, queue: &QueueName) -> String {
        if self.several {
            format!("{queue}: ")
        } else {
            String::new()
        }
    }

    pub(super) fn receipt(&self, queue: &QueueName, receipt: Receipt) -> String {
        let Receipt { id, token } = receipt;
        let known = self.deliveries.get(&(queue.clone(), id));
        match known.and_then(|tokens| tokens.binary_search(&token).ok()) {
            Some(place) => format!("{id} #{}", place + 1),
            None => format!("{id} of token {token}"),
        }
    }

    pub(super) fn call(&self, queue: &QueueName, call: &Call) -> String {
        match call {
            Call::Push(messages) => format!("push {}", list(messages, |each| self.push(each))),
            Call::Cancel(ids) => format!("cancel {}", list(ids, MessageId::to_string)),
            Call::Reschedule(ids, due) => {
                let ids = list(ids, MessageId::to_string);
                format!("reschedule {ids} {}", self.due(*due))
            }
            Call::WaitForRoom(timeout) => format!("wait for room, {}", ms(*timeout)),
            Call::Recent(n) => format!("recent {n}"),
            Call::Resize(capacity) => format!("resize to {capacity}"),
            Call::Reconfigure(config) => reconfigure(config),
            Call::OpenOrResize(capacity) => format!("open, or resize to {capacity}"),
            Call::Insert(items) => format!("insert {}", list(items, insert)),
            Call::Rotate(max) => format!("rotate {max}"),
            Call::WaitForTurn(timeout) => format!("wait for a turn, {}", ms(*timeout)),
            Call::Remove(ids) => format!("remove {}", list(ids, MessageId::to_string)),
            Call::Lease(max, lease_time) => lease(*max, *lease_time),
            Call::Settle(batch) => self.settle(queue, batch),
            // A worker leases in this way, to pass its name. Its process shows the name already.
            Call::SettleAndLease(batch, max, lease_time, _) if batch.is_empty() => {
                lease(*max, *lease_time)
            }
            Call::SettleAndLease(batch, max, lease_time, _) => {
                format!(
                    "settle_and_lease: {}; {}",
                    self.settle(queue, batch),
                    lease(*max, *lease_time)
                )
            }
            Call::Extend(extensions, lease_time) => {
                let each = list(extensions, |each| {
                    let receipt = self.receipt(queue, each.receipt);
                    let progress = each.progress.iter();
                    let progress = progress.map(|at| format!(" with progress {}", bytes(at)));
                    let state = each.state.iter();
                    let state = state.map(|state| format!(" with state {}", bytes(state)));
                    progress
                        .chain(state)
                        .fold(receipt, |text, more| text + &more)
                });
                format!("extend({each}) by {}", ms(*lease_time))
            }
            Call::WaitForArrival(timeout) => format!("wait for an arrival, {}", ms(*timeout)),
            Call::WaitToLease(lease_time, _, timeout) => {
                let one = lease(NonZeroUsize::MIN, *lease_time);
                format!("wait to {one}, {}", ms(*timeout))
            }
            Call::Revive(ids, revival) => {
                let fresh = if *revival == Revival::Fresh {
                    " fresh"
                } else {
                    ""
                };
                format!("revive{fresh} {}", list(ids, MessageId::to_string))
            }
            Call::Discard(ids) => format!("discard {}", list(ids, MessageId::to_string)),
            Call::Find(ids) => format!("find {}", list(ids, MessageId::to_string)),
            Call::WaitForEnd(id, timeout) => format!("wait for the end of {id}, {}", ms(*timeout)),
            Call::Purge(max) => format!("purge {max}"),
            Call::Peek(place, _) => match place {
                Place::Ready => "peek at the ready".to_owned(),
                Place::Delayed => "peek at the delayed".to_owned(),
                Place::Leased => "peek at the leased".to_owned(),
            },
            call => call.name().replace('_', " "),
        }
    }

    /// The answer to a call that was executed at this time.
    pub(super) fn answer(&self, queue: &QueueName, answer: &Answer, at: Timestamp) -> String {
        match answer {
            Answer::Nothing => "done".to_owned(),
            Answer::Pushed(pushed) => list(pushed, pushed_as),
            Answer::Cancelled(cancelled) => list(cancelled, debug),
            Answer::Rescheduled(rescheduled) => list(rescheduled, debug),
            Answer::Next(next) => next_in(*next),
            Answer::Messages(messages) => list(messages, message),
            Answer::Capacity(capacity) => capacity.to_string(),
            Answer::Ids(ids) => list(ids, MessageId::to_string),
            Answer::Inserted(inserted) => list(inserted, |inserted| match inserted {
                queue_core::Inserted::Added(id) => id.to_string(),
                queue_core::Inserted::Present(id) => format!("present as {id}"),
            }),
            Answer::Rotated(rotated) if rotated.items.is_empty() => next_in(rotated.next),
            Answer::Rotated(rotated) => list(&rotated.items, message),
            Answer::Items(items) => list(&items.entries, message),
            Answer::Leased(leased) => self.leased(queue, leased, at),
            Answer::Settled(settled) => list(settled, debug::<Settled>),
            Answer::SettledAndLeased(settled, leased) if settled.is_empty() => {
                self.leased(queue, leased, at)
            }
            Answer::SettledAndLeased(settled, leased) => {
                let settled = list(settled, debug::<Settled>);
                format!("{settled}; {}", self.leased(queue, leased, at))
            }
            Answer::Extended(extended) => list(extended, debug),
            Answer::Depth(depth) => held(*depth),
            Answer::Counters(counters) => counted(counters),
            Answer::DeadLetters(letters) => list(&letters.entries, |letter| {
                let attempts = letter.attempts;
                let died = self.time(letter.died_at);
                format!(
                    "{} ({}, attempts: {attempts}, t={died})",
                    letter.id, letter.reason
                )
            }),
            Answer::Revived(revived) => list(revived, debug),
            Answer::Count(count) => count.to_string(),
            Answer::Peeked(page) => list(&page.entries, |peeked| {
                let id = peeked.message.id.to_string();
                self.standing(queue, &id, &peeked.standing, at)
            }),
            Answer::Groups(page) => list(&page.entries, |group| {
                let Group {
                    key, ready, held, ..
                } = group;
                let runs = match group {
                    Group { may_run: true, .. } => "",
                    Group {
                        paused: Some(_), ..
                    } => ", paused",
                    _ => ", may not run",
                };
                format!("{}: ready {ready}, held {held}{runs}", key.escape_ascii())
            }),
            Answer::Found(found) => list(found, |found| match found {
                Found::Present { standing, .. } => self.standing(queue, "ready", standing, at),
                Found::Dead { reason, .. } => format!("dead ({reason})"),
                Found::Done(result) => format!("done with {}", bytes(result)),
                Found::Gone => "gone".to_owned(),
                Found::NeverWas => "never was".to_owned(),
            }),
        }
    }

    /// `103`, `103 due at t=20`, or `103 #1 <120 held by process 2`.
    fn standing(
        &self,
        queue: &QueueName,
        name: &str,
        standing: &Standing,
        at: Timestamp,
    ) -> String {
        let time = |left: Duration| self.time(at) + i128::from(millis_ceil(left));
        match standing {
            Standing::Ready => name.to_owned(),
            Standing::Delayed { due_in, .. } => format!("{name} due at t={}", time(*due_in)),
            Standing::Leased {
                receipt,
                time_left,
                holder,
                progress,
                ..
            } => {
                let mut leased = self.receipt(queue, *receipt);
                leased.push_str(&format!(" <{}", time(*time_left)));
                if let Some(holder) = holder {
                    leased.push_str(&format!(" held by {holder}"));
                }
                if let Some(progress) = progress {
                    leased.push_str(&format!(" at {}", bytes(progress)));
                }
                leased
            }
        }
    }

    fn leased(&self, queue: &QueueName, leased: &Leased, at: Timestamp) -> String {
        if leased.is_empty() {
            return next_in(leased.next);
        }
        list(&leased.deliveries, |delivery| {
            self.delivery(queue, delivery, at)
        })
    }

    /// `103 #1 <120`: leased before 120. The attempt shows if it is not the delivery's number.
    fn delivery(&self, queue: &QueueName, delivery: &Delivery, at: Timestamp) -> String {
        let named = self.receipt(queue, delivery.receipt);
        let deadline = self.time(at) + i128::from(millis_ceil(delivery.time_left));
        if named.ends_with(&format!("#{}", delivery.attempt)) {
            format!("{named} <{deadline}")
        } else {
            format!("{named} <{deadline} attempt {}", delivery.attempt)
        }
    }

    fn settle(&self, queue: &QueueName, batch: &[Settlement]) -> String {
        list(batch, |settlement| {
            let receipt = self.receipt(queue, settlement.receipt);
            let words = match &settlement.disposition {
                Disposition::Ack => format!("ack({receipt})"),
                Disposition::AckWith(kept) => {
                    let (result, time) = (bytes(&kept.result), ms(kept.time));
                    format!("ack({receipt}) with {result} for {time}")
                }
                Disposition::Retry { delay, .. } => {
                    format!("retry({receipt}) after {}", ms(*delay))
                }
                Disposition::Defer { delay } => format!("defer({receipt}) by {}", ms(*delay)),
                Disposition::Release => format!("release({receipt})"),
                Disposition::Bury { .. } => format!("bury({receipt})"),
            };
            match &settlement.state {
                Some(state) => format!("{words} with state {}", bytes(state)),
                None => words,
            }
        })
    }

    fn push(&self, push: &Push) -> String {
        let mut words = bytes(&push.body);
        if let Some(priority) = push.priority {
            words.push_str(&format!(" at {priority}"));
        }
        if let Some(group) = &push.group {
            words.push_str(&format!(" to {}", group.escape_ascii()));
        }
        if let Some(distinct) = &push.distinct {
            words.push_str(&format!(" distinct as {}", bytes(&distinct.key)));
            if let Some(longest) = distinct.longest {
                words.push_str(&format!(" for at most {}", ms(longest)));
            }
        }
        if let Some(dedup) = &push.dedup {
            let (key, window) = (bytes(&dedup.key), ms(dedup.window));
            words.push_str(&match dedup.until_done {
                true => format!(" unique as {key} for at most {window}"),
                false => format!(" once as {key} in {window}"),
            });
        }
        if let Some(due) = push.due {
            words.push_str(&format!(" due {}", self.due(due)));
        }
        if let Some(time_to_live) = push.time_to_live {
            let limit = ms(time_to_live.limit);
            words.push_str(&match time_to_live.then {
                Outdated::Drop => format!(" dropped after {limit}"),
                Outdated::Bury => format!(" buried after {limit}"),
            });
        }
        if push.overflow == Overflow::DropOldest {
            words.push_str(" or drop the oldest");
        }
        words
    }

    fn due(&self, due: Due) -> String {
        match due {
            Due::After(delay) => format!("in {}", ms(delay)),
            Due::At(time) => format!("at t={}", self.time(time)),
        }
    }
}

/// The deliveries that a call answered.
pub(super) fn deliveries(record: &Record) -> &[Delivery] {
    match record.answer() {
        Some(Answer::Leased(leased) | Answer::SettledAndLeased(_, leased)) => &leased.deliveries,
        _ => &[],
    }
}
