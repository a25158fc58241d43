//! The effects of each call on each message.

use std::time::Duration;

use queue_core::{
    Bytes, Delivery, Extended, Inserted, MessageId, Peeked, Push, Pushed, QueueKind, Receipt,
    Revival, Revived, Settled, Settlement,
    call::{Answer, Call},
};

use super::{Facts, Happened, PushFact, Pushing, What, millis};
use crate::check::{branch::Done, span::Span};

/// The state of a message that starts fresh.
static NO_STATE: Bytes = Bytes::new();

/// The answers to the entries of a call: none where nobody knows them.
macro_rules! answers {
    ($answer:expr, $case:ident) => {
        match $answer {
            Some(Answer::$case(answers)) => &answers[..],
            _ => &[],
        }
    };
}

impl<'a> Facts<'a> {
    pub(super) fn enter(&mut self, done: &Done<'a>, answer: Option<&'a Answer>, span: Span) {
        match &done.record.call {
            Call::Push(messages) => {
                let pushed = answers!(answer, Pushed);
                for (at, push) in messages.iter().enumerate() {
                    self.push_one(entry(span, at), push, pushed.get(at));
                }
            }
            Call::Lease(_, lease_time) => {
                self.lease(span, 0, deliveries(answer), *lease_time);
            }
            // Mostly a wait leases nothing. An execution without an answer may have leased a message.
            Call::WaitToLease(lease_time, ..) => match deliveries(answer) {
                _ if self.may_bring_too_late(done) => self.ghost(span.or_later(), false),
                None if done.executed.is_empty() => {}
                leased => self.lease(span, 0, leased, *lease_time),
            },
            Call::SettleAndLease(batch, _, lease_time, _) => {
                let settled = match answer {
                    Some(Answer::SettledAndLeased(settled, _)) => &settled[..],
                    _ => &[],
                };
                self.settle(span, batch, settled);
                self.lease(span, batch.len(), deliveries(answer), *lease_time);
            }
            Call::Settle(batch) => self.settle(span, batch, answers!(answer, Settled)),
            Call::Extend(receipts, lease_time) => {
                let extended = answers!(answer, Extended);
                for (at, extension) in receipts.iter().enumerate() {
                    let Receipt { id, token } = extension.receipt;
                    let answer = extended.get(at).copied();
                    let what = What::Extended(token, millis(*lease_time), answer);
                    self.add(id, entry(span, at), what);
                    if let Some(progress) = &extension.progress {
                        self.add(id, entry(span, at), What::Reported(token, progress, answer));
                    }
                    if let Some(state) = &extension.state {
                        let took_effect = answer.map(|answer| answer == Extended::Extended);
                        self.add(id, entry(span, at), What::Stored(state, took_effect));
                    }
                }
            }
            Call::Insert(..) | Call::List(_) | Call::Rotate(_) | Call::Remove(_) => {
                self.enter_ring(done, answer, span);
            }
            _ => self.enter_operator(&done.record.call, answer, span),
        }
    }

    /// The effects of a ring's calls.
    fn enter_ring(&mut self, done: &Done<'a>, answer: Option<&'a Answer>, span: Span) {
        match &done.record.call {
            Call::Insert(items) => {
                let inserted = answers!(answer, Inserted);
                for (at, item) in items.iter().enumerate() {
                    let put = inserted.get(at).map(|inserted| match inserted {
                        Inserted::Added(id) => PushFact::Accepted(*id),
                        Inserted::Present(id) => PushFact::Present(*id),
                    });
                    let key = item.key.as_ref();
                    let push = Pushing::of(&item.body, &item.headers);
                    let push = Pushing { key, ..push };
                    self.push(entry(span, at), push, put);
                }
            }
            Call::List(_) => {
                if let Some(Answer::Items(page)) = answer {
                    self.each(&page.entries, span, |_, item| (item.id, What::Seen(item)));
                }
            }
            Call::Rotate(_) => {
                let items = match answer {
                    Some(Answer::Rotated(rotated)) => Some(&rotated.items[..]),
                    _ => None,
                };
                for (at, item) in (1..).zip(items.unwrap_or_default()) {
                    self.add(item.id, entry(span, at), What::Visited(item));
                }
                // It may have visited the items that it leaves out before the others, or after them.
                let is_complete = items.is_some() && done.gone.is_empty();
                if !is_complete {
                    self.ghosts.push(entry(span, 0));
                }
                self.ghost(span, is_complete);
            }
            Call::Remove(ids) => {
                self.each(ids, span, |_, id| (*id, What::Removed(answer.is_some())));
            }
            _ => {}
        }
    }

    /// The effects of calls that name messages, or look at them.
    fn enter_operator(&mut self, call: &'a Call, answer: Option<&'a Answer>, span: Span) {
        match (call, answer) {
            (Call::Cancel(ids), _) => {
                let cancelled = answers!(answer, Cancelled);
                let what = |at: usize| What::Cancelled(cancelled.get(at).copied());
                self.each(ids, span, |at, id| (*id, what(at)));
            }
            (Call::Reschedule(ids, due), _) => {
                let moved = answers!(answer, Rescheduled);
                let what = |at: usize| What::Rescheduled(*due, moved.get(at).copied());
                self.each(ids, span, |at, id| (*id, what(at)));
            }
            (Call::Revive(ids, revival), _) => {
                let revived = answers!(answer, Revived);
                let what = |at: usize| What::Revived(revived.get(at).copied());
                self.each(ids, span, |at, id| (*id, what(at)));
                if *revival == Revival::Fresh {
                    let stored = |at: usize| {
                        let took_effect = revived.get(at).map(|one| *one == Revived::Revived);
                        What::Stored(&NO_STATE, took_effect)
                    };
                    self.each(ids, span, |at, id| (*id, stored(at)));
                }
            }
            (Call::Discard(ids), _) => {
                self.each(ids, span, |_, id| (*id, What::Discarded(answer.is_some())));
            }
            (Call::Resize(_), Some(Answer::Ids(dropped))) => {
                self.each(dropped, span, |_, id| (*id, What::Dropped));
            }
            (Call::Find(ids), Some(Answer::Found(found))) => {
                let both = ids.iter().zip(found);
                self.each(both, span, |_, (id, found)| (*id, What::Found(found)));
            }
            (Call::Peek(..), Some(Answer::Peeked(page))) => {
                let what = |_, peeked: &'a Peeked| (peeked.message.id, What::Peeked(peeked));
                self.each(&page.entries, span, what);
            }
            (Call::Recent(_), Some(Answer::Messages(messages))) => {
                self.each(messages, span, |_, seen| (seen.id, What::Seen(seen)));
            }
            (Call::DeadLetters(_), Some(Answer::DeadLetters(page))) => {
                self.each(&page.entries, span, |_, dead| (dead.id, What::Letter(dead)));
            }
            _ => {}
        }
    }

    /// Adds what happened to the message of each entry of a call.
    fn each<T>(
        &mut self,
        entries: impl IntoIterator<Item = T>,
        span: Span,
        happened: impl Fn(usize, T) -> (MessageId, What<'a>),
    ) {
        for (at, one) in entries.into_iter().enumerate() {
            let (id, what) = happened(at, one);
            self.add(id, entry(span, at), what);
        }
    }

    fn add(&mut self, id: MessageId, span: Span, what: What<'a>) {
        self.happened.push(Happened { id, span, what });
    }

    fn push(&mut self, span: Span, push: Pushing<'a>, put: Option<PushFact>) {
        if let Some(PushFact::Accepted(id)) = put {
            self.add(id, span, What::Accepted(self.pushes.len()));
        }
        self.pushes.push(Pushing { span, put, ..push });
    }

    fn push_one(&mut self, span: Span, push: &'a Push, pushed: Option<&Pushed>) {
        let mut fact = Pushing {
            group: (self.kind() == QueueKind::Grouped).then(|| push.group_key()),
            ..Pushing::of_push(push)
        };
        let put = pushed.map(|pushed| match *pushed {
            Pushed::Accepted(id) => PushFact::Accepted(id),
            Pushed::Evicted { id, evicted } => {
                self.add(evicted, span, What::Evicted);
                PushFact::Accepted(id)
            }
            Pushed::Replaced { id, replaced } => {
                self.add(replaced, span, What::Replaced);
                fact.replaces = Some(replaced);
                PushFact::Accepted(id)
            }
            Pushed::Duplicate(first) => PushFact::Present(first),
            Pushed::Full => PushFact::Full,
        });
        self.push(span, fact, put);
    }

    fn settle(&mut self, span: Span, batch: &'a [Settlement], settled: &'a [Settled]) {
        for (at, settlement) in batch.iter().enumerate() {
            let Receipt { id, token } = settlement.receipt;
            let settled = settled.get(at).copied();
            let what = What::Settled(token, &settlement.disposition, settled);
            self.add(id, entry(span, at), what);
            if let Some(state) = &settlement.state {
                let took_effect = settled.map(|settled| settled != Settled::LeaseLost);
                self.add(id, entry(span, at), What::Stored(state, took_effect));
            }
        }
    }

    fn lease(
        &mut self,
        span: Span,
        first: usize,
        leased: Option<&'a [Delivery]>,
        lease_time: Duration,
    ) {
        for (at, delivery) in leased.unwrap_or_default().iter().enumerate() {
            let what = What::Delivered(delivery, millis(lease_time));
            self.add(delivery.receipt.id, entry(span, first + at), what);
        }
        self.ghost(span, leased.is_some());
    }

    fn ghost(&mut self, span: Span, answered: bool) {
        if !answered {
            let entry = u32::MAX;
            self.ghosts.push(Span { entry, ..span });
        }
    }
}

/// The messages that a call leased, if it answered.
fn deliveries(answer: Option<&Answer>) -> Option<&[Delivery]> {
    match answer {
        Some(Answer::Leased(leased) | Answer::SettledAndLeased(_, leased)) => {
            Some(&leased.deliveries)
        }
        _ => None,
    }
}

fn entry(span: Span, at: usize) -> Span {
    Span {
        entry: at as u32,
        ..span
    }
}
