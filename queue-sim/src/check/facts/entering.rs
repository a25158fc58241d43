//! The effects of each call on each message.

use std::time::Duration;

use queue_core::{
    Delivery, Inserted, MessageId, Push, Pushed, QueueKind, Receipt, Settled, Settlement,
    call::{Answer, Call},
};

use super::{Facts, Happened, PushFact, Pushing, What, millis};
use crate::check::{branch::Done, span::Span};

impl<'a> Facts<'a> {
    pub(super) fn enter(&mut self, done: &Done<'a>, answer: Option<&'a Answer>, span: Span) {
        match &done.record.call {
            Call::Insert(items) => {
                let inserted = match answer {
                    Some(Answer::Inserted(inserted)) => &inserted[..],
                    _ => &[],
                };
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
            Call::Lease(_, lease_time) => {
                let leased = match answer {
                    Some(Answer::Leased(leased)) => Some(&leased.deliveries[..]),
                    _ => None,
                };
                self.lease(span, 0, leased, *lease_time);
            }
            // Mostly a wait leases nothing. An execution without an answer may have leased a message.
            Call::WaitToLease(lease_time, ..) => match answer {
                Some(Answer::Leased(leased)) => {
                    self.lease(span, 0, Some(&leased.deliveries), *lease_time);
                }
                _ if done.executed.is_empty() => {}
                _ => self.lease(span, 0, None, *lease_time),
            },
            Call::SettleAndLease(batch, _, lease_time, _) => {
                let (settled, leased) = match answer {
                    Some(Answer::SettledAndLeased(settled, leased)) => {
                        (&settled[..], Some(&leased.deliveries[..]))
                    }
                    _ => (&[][..], None),
                };
                self.settle(span, batch, settled);
                self.lease(span, batch.len(), leased, *lease_time);
            }
            Call::Settle(batch) => {
                let settled = match answer {
                    Some(Answer::Settled(settled)) => &settled[..],
                    _ => &[],
                };
                self.settle(span, batch, settled);
            }
            Call::Extend(receipts, lease_time) => {
                let extended = match answer {
                    Some(Answer::Extended(extended)) => &extended[..],
                    _ => &[],
                };
                for (at, extension) in receipts.iter().enumerate() {
                    let Receipt { id, token } = extension.receipt;
                    let answer = extended.get(at).copied();
                    let what = What::Extended(token, millis(*lease_time), answer);
                    self.add(id, entry(span, at), what);
                    if let Some(progress) = &extension.progress {
                        self.add(id, entry(span, at), What::Reported(token, progress, answer));
                    }
                }
            }
            Call::Cancel(ids) => {
                let cancelled = match answer {
                    Some(Answer::Cancelled(cancelled)) => &cancelled[..],
                    _ => &[],
                };
                for (at, id) in ids.iter().enumerate() {
                    let what = What::Cancelled(cancelled.get(at).copied());
                    self.add(*id, entry(span, at), what);
                }
            }
            Call::Push(messages) => {
                let pushed = match answer {
                    Some(Answer::Pushed(pushed)) => &pushed[..],
                    _ => &[],
                };
                for (at, push) in messages.iter().enumerate() {
                    self.push_one(entry(span, at), push, pushed.get(at));
                }
            }
            Call::Reschedule(ids, due) => {
                let moved = match answer {
                    Some(Answer::Rescheduled(moved)) => &moved[..],
                    _ => &[],
                };
                for (at, id) in ids.iter().enumerate() {
                    let what = What::Rescheduled(*due, moved.get(at).copied());
                    self.add(*id, entry(span, at), what);
                }
            }
            Call::Resize(_) => {
                if let Some(Answer::Ids(dropped)) = answer {
                    for (at, id) in dropped.iter().enumerate() {
                        self.add(*id, entry(span, at), What::Dropped);
                    }
                }
            }
            Call::Find(ids) => {
                if let Some(Answer::Found(found)) = answer {
                    for (at, (id, found)) in ids.iter().zip(found).enumerate() {
                        self.add(*id, entry(span, at), What::Found(found));
                    }
                }
            }
            Call::Peek(..) => {
                if let Some(Answer::Peeked(page)) = answer {
                    for (at, peeked) in page.entries.iter().enumerate() {
                        self.add(peeked.message.id, entry(span, at), What::Peeked(peeked));
                    }
                }
            }
            Call::Recent(_) => {
                if let Some(Answer::Messages(messages)) = answer {
                    for (at, message) in messages.iter().enumerate() {
                        self.add(message.id, entry(span, at), What::Seen(message));
                    }
                }
            }
            Call::List(_) => {
                if let Some(Answer::Items(page)) = answer {
                    for (at, item) in page.entries.iter().enumerate() {
                        self.add(item.id, entry(span, at), What::Seen(item));
                    }
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
                for (at, id) in ids.iter().enumerate() {
                    self.add(*id, entry(span, at), What::Removed(answer.is_some()));
                }
            }
            Call::DeadLetters(_) => {
                if let Some(Answer::DeadLetters(page)) = answer {
                    for (at, letter) in page.entries.iter().enumerate() {
                        self.add(letter.id, entry(span, at), What::Letter(letter));
                    }
                }
            }
            Call::Revive(ids) => {
                let revived = match answer {
                    Some(Answer::Revived(revived)) => &revived[..],
                    _ => &[],
                };
                for (at, id) in ids.iter().enumerate() {
                    let what = What::Revived(revived.get(at).copied());
                    self.add(*id, entry(span, at), what);
                }
            }
            Call::Discard(ids) => {
                for (at, id) in ids.iter().enumerate() {
                    self.add(*id, entry(span, at), What::Discarded(answer.is_some()));
                }
            }
            _ => {}
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

fn entry(span: Span, at: usize) -> Span {
    Span {
        entry: at as u32,
        ..span
    }
}
