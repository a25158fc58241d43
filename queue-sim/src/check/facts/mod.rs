//! The effects of a history's calls, message by message, as far as answers show them.

mod clock;
mod due;
mod entering;
mod life;

use std::time::Duration;

use bytes::Bytes;
use queue_core::{
    Cancelled, DeadLetter, Dedup, Delivery, Disposition, Due, Extended, Found, Headers, Holder,
    LeaseRate, LeasingConfig, Message, MessageId, Overflow, Peeked, Push, QueueConfig, QueueKind,
    Rescheduled, Revived, Settled, TimeToLive, Token,
    call::{Answer, Call},
};

use self::clock::TokenClock;
pub(in crate::check) use self::life::{Lease, MessageLife};
use super::{
    CheckInput,
    branch::{Branch, Done},
    span::Span,
};

/// The facts that the rules check.
#[derive(Debug)]
pub(in crate::check) struct Facts<'a> {
    pub(in crate::check) case: &'a CheckInput<'a>,
    pub(in crate::check) branch: &'a Branch<'a>,
    /// The time at which each call of the branch took effect.
    pub(in crate::check) spans: Vec<Span>,
    /// All pushed messages, in the order of the calls.
    pub(in crate::check) pushes: Vec<Pushing<'a>>,
    /// All events of messages, by id, then in order.
    happened: Vec<Happened<'a>>,
    /// Leases and rotations whose answers do not show all that they took: they may have taken anything.
    pub(in crate::check) ghosts: Vec<Span>,
}

/// A pushed message.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct Pushing<'a> {
    pub(in crate::check) span: Span,
    pub(in crate::check) body: &'a Bytes,
    pub(in crate::check) headers: &'a Headers,
    pub(in crate::check) dedup: Option<&'a Dedup>,
    pub(in crate::check) priority: i16,
    /// The key of its group, on a grouped queue.
    pub(in crate::check) group: Option<&'a [u8]>,
    /// The due time that the push asked for; [`Facts::due_of`] says more.
    pub(in crate::check) due: Option<Due>,
    pub(in crate::check) time_to_live: Option<TimeToLive>,
    /// The distinct key, or the key of a ring's item.
    pub(in crate::check) key: Option<&'a Bytes>,
    /// The longest wait of the messages that replace each other under the key.
    pub(in crate::check) longest: Option<Duration>,
    /// The message that it replaced.
    pub(in crate::check) replaces: Option<MessageId>,
    /// The answer, if there was one.
    pub(in crate::check) put: Option<PushFact>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) enum PushFact {
    Accepted(MessageId),
    /// Present already: a duplicate, or an item whose key the ring has.
    Present(MessageId),
    Full,
}

/// An event of a message.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct Happened<'a> {
    pub(in crate::check) id: MessageId,
    pub(in crate::check) span: Span,
    pub(in crate::check) what: What<'a>,
}

/// An event's kind. `None` in it means a missing answer.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) enum What<'a> {
    /// Pushed, with its place among the pushes.
    Accepted(usize),
    Delivered(&'a Delivery, u64),
    Settled(Token, &'a Disposition, Option<Settled>),
    Extended(Token, u64, Option<Extended>),
    /// Progress was reported under the lease with this token.
    Reported(Token, &'a Bytes, Option<Extended>),
    /// A state was stored, if the call took effect.
    Stored(&'a Bytes, Option<bool>),
    Cancelled(Option<Cancelled>),
    Rescheduled(Due, Option<Rescheduled>),
    Evicted,
    Dropped,
    Replaced,
    Letter(&'a DeadLetter),
    Revived(Option<Revived>),
    /// Whether the answer came.
    Discarded(bool),
    /// Shown, and not taken.
    Seen(&'a Message),
    /// Shown, with its place.
    Peeked(&'a Peeked),
    /// Found by its id.
    Found(&'a Found),
    Visited(&'a Message),
    /// Whether the answer came.
    Removed(bool),
}

impl What<'_> {
    /// Whether the event may have given the message another due time.
    pub(in crate::check) fn may_move(&self) -> bool {
        matches!(self, Self::Rescheduled(_, None | Some(Rescheduled::Moved)))
    }

    /// Whether the event shows that the message was in the queue then.
    pub(in crate::check) fn shows_it(&self) -> bool {
        matches!(
            self,
            Self::Delivered(..)
                | Self::Letter(_)
                | Self::Seen(_)
                | Self::Peeked(_)
                | Self::Evicted
                | Self::Dropped
                | Self::Replaced
        )
    }
}

impl<'a> Facts<'a> {
    pub(in crate::check) fn of(case: &'a CheckInput<'a>, branch: &'a Branch<'a>) -> Self {
        let clock = TokenClock::of(branch);
        let spans = branch.calls.iter().map(|done| clock.span(done));
        let mut facts = Self {
            case,
            branch,
            spans: spans.collect(),
            pushes: Vec::with_capacity(branch.calls.len()),
            happened: Vec::with_capacity(2 * branch.calls.len()),
            ghosts: Vec::new(),
        };
        for (at, done) in branch.calls.iter().enumerate() {
            facts.enter(done, done.answer, facts.spans[at]);
            for _ in 1..done.executed.len() {
                let again = true;
                facts.enter(
                    done,
                    None,
                    Span {
                        again,
                        ..facts.spans[at]
                    },
                );
            }
        }
        let place = |happened: &Happened<'_>| {
            let Happened { id, span, .. } = happened;
            (*id, span.first, span.call, span.entry)
        };
        facts.happened.sort_by_key(place);
        if case.history.tokens_tell_order {
            by_token(&mut facts.happened);
        }
        facts
    }

    pub(in crate::check) fn kind(&self) -> QueueKind {
        self.case.config.kind()
    }

    /// The fewest and the most attempts that a configuration of the run allows.
    pub(in crate::check) fn max_attempts(&self) -> (u32, u32) {
        let all = || self.configs().map(|leasing| leasing.max_attempts);
        (
            all().min().unwrap_or(u32::MAX),
            all().max().unwrap_or(u32::MAX),
        )
    }

    /// The most dead letters that a configuration of the run keeps; `None` for a ring.
    pub(in crate::check) fn dead_letter_cap(&self) -> Option<u64> {
        self.configs().map(|leasing| leasing.dead_letter_cap).max()
    }

    /// The largest limit at once of the run, if each of its configurations has one.
    pub(in crate::check) fn at_once(&self) -> Option<u32> {
        let limits: Option<Vec<u32>> = self.configs().map(|leasing| leasing.at_once).collect();
        limits?.into_iter().max()
    }

    /// The rate of the run, if it never changes.
    pub(in crate::check) fn rate(&self) -> Option<LeaseRate> {
        let rate = self.case.config.leasing()?.rate?;
        let is_same = |leasing: &LeasingConfig| leasing.rate == Some(rate);
        self.configs().all(is_same).then_some(rate)
    }

    /// The first configuration, and the configurations that calls changed it to.
    fn configs(&self) -> impl Iterator<Item = &LeasingConfig> {
        let changed = self
            .calls()
            .filter_map(|(done, _)| match &done.record.call {
                Call::Reconfigure(config) => config.leasing(),
                _ => None,
            });
        self.case.config.leasing().into_iter().chain(changed)
    }

    /// The events of each message, in order.
    pub(in crate::check) fn lives(&self) -> impl Iterator<Item = MessageLife<'_, 'a>> {
        let lives = self.happened.chunk_by(|one, other| one.id == other.id);
        lives.map(MessageLife)
    }

    /// The events of this message.
    pub(in crate::check) fn life(&self, id: MessageId) -> MessageLife<'_, 'a> {
        let start = self.happened.partition_point(|happened| happened.id < id);
        let rest = &self.happened[start..];
        MessageLife(&rest[..rest.partition_point(|happened| happened.id == id)])
    }

    /// The push of this message, if its answer came.
    pub(in crate::check) fn push_of(&self, id: MessageId) -> Option<&Pushing<'a>> {
        self.life(id).push().map(|at| &self.pushes[at])
    }

    /// The calls, with their spans.
    pub(in crate::check) fn calls(&self) -> impl Iterator<Item = (&Done<'a>, Span)> {
        self.branch.calls.iter().zip(self.spans.iter().copied())
    }

    /// The holder's name that the leasing call passed.
    pub(in crate::check) fn holder(&self, lease: &Lease<'_>) -> Option<&Holder> {
        let mut calls = self.calls();
        let (done, _) = calls.find(|(done, _)| done.record.id == lease.span.call)?;
        match &done.record.call {
            Call::SettleAndLease(.., holder) | Call::WaitToLease(_, holder, _) => holder.as_ref(),
            _ => None,
        }
    }

    /// The earliest and the latest possible due time of a message after its push, in ms. A longest wait counts from the
    /// first of the messages that replaced each other.
    pub(in crate::check) fn due_of(&self, push: &Pushing<'a>) -> (u64, u64) {
        let (earliest, latest) = push.asked();
        let Some(longest) = push.longest.map(millis) else {
            return (earliest, latest);
        };
        let since = self.first_of_chain(push);
        let bound =
            |due: u64, since: u64, now: u64| due.min(since.saturating_add(longest)).max(now);
        let span = push.span;
        (
            bound(earliest, since.0, span.earliest),
            bound(latest, since.1, span.latest),
        )
    }

    /// The earliest and the latest possible time of the first of the pushes that replaced each other, each with a
    /// longest wait.
    fn first_of_chain(&self, push: &Pushing<'a>) -> (u64, u64) {
        let mut first = push;
        // A broken queue may answer that messages replace each other in a circle.
        for _ in 0..self.pushes.len() {
            let span = first.span;
            let Some(replaced) = first.replaces else {
                return (span.earliest, span.latest);
            };
            first = match self.push_of(replaced) {
                Some(older) if older.longest.is_some() => older,
                Some(_) => return (span.earliest, span.latest),
                // Nobody saw the answer of its push.
                None => return (0, span.latest),
            };
        }
        (0, first.span.latest)
    }

    /// Whether the message was delayed after its push; `None` if that is not sure. On a delay queue its rank says more.
    pub(in crate::check) fn is_delayed(&self, push: &Pushing<'a>) -> Option<bool> {
        if push.longest.is_some() && push.replaces.is_some() {
            let (earliest, latest) = self.due_of(push);
            let known = self.case.history.has_truth;
            let sure = match () {
                () if earliest > push.span.latest => Some(true),
                () if latest <= push.span.earliest => Some(false),
                () => None,
            };
            return sure.filter(|_| known);
        }
        match push.due {
            None => Some(false),
            Some(Due::After(delay)) => Some(!delay.is_zero()),
            // Without the backend's own times, a time on its clock and a time on ours cannot be compared.
            Some(Due::At(_)) if !self.case.history.has_truth => None,
            Some(Due::At(time)) if time.as_millis() <= push.span.earliest => Some(false),
            Some(Due::At(time)) if time.as_millis() > push.span.latest => Some(true),
            Some(Due::At(_)) => None,
        }
    }

    /// Whether a call before `then` may have ended the message: its time to live may have been over (L17).
    pub(in crate::check) fn may_be_outdated(&self, life: MessageLife<'_, '_>, then: &Span) -> bool {
        let over = |push: &Pushing<'_>| {
            push.ends()
                .is_some_and(|(earliest, _)| earliest <= then.clock)
        };
        match life.push() {
            Some(at) => over(&self.pushes[at]),
            // The message may be any of those whose answers nobody saw.
            None => {
                let mut pushes = self.pushes.iter();
                pushes.any(|push| push.put.is_none() && over(push))
            }
        }
    }

    /// Whether a call before `then` may have taken or removed messages without an answer that names them.
    pub(in crate::check) fn may_take_unknown(&self, then: &Span) -> bool {
        let removes =
            |(done, span): (&Done<'_>, Span)| self.removes_unknown(done) && span.may_precede(then);
        self.ghosts_before(then) > 0 || self.calls().any(removes)
    }

    /// Whether the call may have removed undelivered messages that its answer does not name.
    pub(in crate::check) fn removes_unknown(&self, done: &Done<'_>) -> bool {
        let is_unseen = done.answer.is_none() || done.executed.len() > 1;
        match &done.record.call {
            Call::Purge(_) | Call::OpenOrResize(_) => true,
            Call::Reconfigure(config) => matches!(config, QueueConfig::Bounded(_)),
            Call::Resize(_) => is_unseen,
            Call::Push(messages) => {
                let removes =
                    |push: &Push| push.distinct.is_some() || push.overflow != Overflow::Reject;
                is_unseen && messages.iter().any(removes)
            }
            _ => false,
        }
    }

    /// Whether the call is a wait for which a message may have been leased that its answer does not show. The client
    /// gives such a message back, or its lease expires (L8). Where the executions are known, they show such a lease.
    /// Recipes hand over no messages, and their tokens do not tell the order.
    pub(in crate::check) fn may_bring_too_late(&self, done: &Done<'_>) -> bool {
        let brings = matches!(done.answer, Some(Answer::Leased(leased)) if !leased.is_empty());
        let is_wait = matches!(done.record.call, Call::WaitToLease(..));
        let history = &self.case.history;
        is_wait && !brings && !history.has_truth && history.tokens_tell_order
    }

    /// Whether the message may have been leased to a wait that did not bring it, and given back, before `until`. Then it
    /// was not ready all the time. If the lease expired, the next attempt says so.
    pub(in crate::check) fn may_have_been_out(&self, push: &Pushing<'a>, until: &Span) -> bool {
        let mut waits = self
            .calls()
            .filter(|(done, _)| self.may_bring_too_late(done));
        waits.any(|(done, span)| match &done.record.call {
            Call::WaitToLease(lease_time, _, timeout) => {
                // A lease is made before the wait is over, and given back before the lease is over.
                let longest = millis(*timeout).saturating_add(millis(*lease_time));
                let end = span.earliest.saturating_add(longest);
                span.earliest <= until.latest && push.span.earliest <= end
            }
            _ => false,
        })
    }

    /// The number of leases without an answer that may have come before `span`.
    pub(in crate::check) fn ghosts_before(&self, span: &Span) -> u32 {
        let ghosts = self.ghosts.iter();
        ghosts.filter(|ghost| ghost.may_precede(span)).count() as u32
    }
}

impl<'a> Pushing<'a> {
    const fn of(body: &'a Bytes, headers: &'a Headers) -> Self {
        Self {
            span: Span::NEVER,
            body,
            headers,
            dedup: None,
            priority: 0,
            group: None,
            due: None,
            time_to_live: None,
            key: None,
            longest: None,
            replaces: None,
            put: None,
        }
    }

    fn of_push(push: &'a Push) -> Self {
        let distinct = push.distinct.as_ref();
        Self {
            dedup: push.dedup.as_ref(),
            priority: push.priority.unwrap_or(0),
            due: push.due,
            time_to_live: push.time_to_live,
            key: distinct.map(|distinct| &distinct.key),
            longest: distinct.and_then(|distinct| distinct.longest),
            ..Self::of(&push.body, &push.headers)
        }
    }

    /// The earliest and the latest possible due time that the push asked for, in ms.
    pub(in crate::check) fn asked(&self) -> (u64, u64) {
        due(self.due.unwrap_or(Due::After(Duration::ZERO)), &self.span)
    }

    /// Whether its dedup mark ends with its message.
    pub(in crate::check) fn is_unique(&self) -> bool {
        self.dedup.is_some_and(|dedup| dedup.until_done)
    }

    /// The earliest and the latest possible end of its dedup mark's window, in ms.
    pub(in crate::check) fn window_ends(&self) -> (u64, u64) {
        let window = self.dedup.map_or(0, |dedup| millis(dedup.window));
        (
            self.span.earliest.saturating_add(window),
            self.span.latest.saturating_add(window),
        )
    }

    /// The earliest and the latest possible end of its time to live, in ms; `None` if it has none.
    pub(in crate::check) fn ends(&self) -> Option<(u64, u64)> {
        let limit = millis(self.time_to_live?.limit);
        Some((
            self.span.earliest.saturating_add(limit),
            self.span.latest.saturating_add(limit),
        ))
    }
}

/// The earliest and the latest possible due time, in ms, that a due value means at that time.
pub(in crate::check) fn due(due: Due, span: &Span) -> (u64, u64) {
    match due {
        Due::After(delay) => (
            span.earliest.saturating_add(millis(delay)),
            span.latest.saturating_add(millis(delay)),
        ),
        Due::At(time) => (
            time.as_millis().max(span.earliest),
            time.as_millis().max(span.latest),
        ),
    }
}

/// Whole milliseconds, rounded up.
pub(in crate::check) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Puts the deliveries of each message in the order of their tokens: calls of real threads overlap, so a call that
/// began first may have leased last.
fn by_token(happened: &mut [Happened<'_>]) {
    let token = |happened: &Happened<'_>| match happened.what {
        What::Delivered(delivery, _) => Some(delivery.receipt.token),
        _ => None,
    };
    for life in happened.chunk_by_mut(|one, other| one.id == other.id) {
        let places = (0..life.len()).filter(|at| token(&life[*at]).is_some());
        let places: Vec<usize> = places.collect();
        let mut deliveries: Vec<_> = places.iter().map(|at| life[*at]).collect();
        deliveries.sort_by_key(token);
        for (at, delivery) in places.into_iter().zip(deliveries) {
            life[at] = delivery;
        }
    }
}
