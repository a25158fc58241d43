//! The messages of a queue that the guard has seen.

use std::collections::HashSet;

use queue_core::{
    call::{Answer, Call},
    *,
};

/// The messages that the calls of a case have put into a queue, and got out of it.
#[derive(Debug, Default)]
pub(super) struct SeenMessages {
    /// Messages that are leased and not settled.
    pub(super) held: HashSet<Receipt>,
    /// The bodies of all messages.
    pub(super) bodies: HashSet<Bytes>,
    /// The bytes of all messages.
    pub(super) bytes: usize,
    /// The messages that were due at once and that nobody has had since.
    pub(super) due: HashSet<MessageId>,
    delivered: HashSet<MessageId>,
}

impl SeenMessages {
    pub(super) fn note(&mut self, call: &Call, answered: &Result<Answer>) {
        match answered {
            Ok(answer) => self.note_answer(call, answer),
            Err(error) if error.outcome() == Outcome::Unknown => self.give_up(call),
            Err(_) => {}
        }
    }

    fn note_answer(&mut self, call: &Call, answer: &Answer) {
        match answer {
            Answer::Pushed(pushed) => {
                let ids = pushed.iter().map(|pushed| match pushed {
                    Pushed::Duplicate(_) => None,
                    pushed => pushed.id(),
                });
                self.note_pushes(call, ids.collect());
                for pushed in pushed {
                    if let Pushed::Replaced { replaced: left, .. }
                    | Pushed::Evicted { evicted: left, .. } = pushed
                    {
                        self.due.remove(left);
                    }
                }
            }
            Answer::Inserted(inserted) => {
                let ids = inserted.iter().map(|inserted| match inserted {
                    Inserted::Added(id) => Some(*id),
                    Inserted::Present(_) => None,
                });
                self.note_pushes(call, ids.collect());
            }
            Answer::Leased(leased) => self.note_leased(leased),
            Answer::Settled(settled) => self.note_settled(call, settled),
            Answer::SettledAndLeased(settled, leased) => {
                self.note_settled(call, settled);
                self.note_leased(leased);
            }
            Answer::Cancelled(cancelled) => self.note_cancelled(call, cancelled),
            Answer::Rescheduled(moved) => self.note_moved(call, moved),
            _ => {}
        }
    }

    fn note_pushes(&mut self, call: &Call, accepted: Vec<Option<MessageId>>) {
        let at_once: Vec<bool> = match call {
            Call::Push(messages) => messages.iter().map(|push| is_at_once(push.due)).collect(),
            _ => vec![true; accepted.len()],
        };
        for (((body, bytes), id), at_once) in pushes(call).into_iter().zip(accepted).zip(at_once) {
            let Some(id) = id else { continue };
            self.bodies.insert(body);
            self.bytes += bytes;
            if at_once && !self.delivered.contains(&id) {
                self.due.insert(id);
            }
        }
    }

    fn note_leased(&mut self, leased: &Leased) {
        for delivery in &leased.deliveries {
            self.held.insert(delivery.receipt);
            self.delivered.insert(delivery.id());
            self.due.remove(&delivery.id());
        }
    }

    fn note_settled(&mut self, call: &Call, settled: &[Settled]) {
        for (settlement, settled) in settlements(call).iter().zip(settled) {
            self.held.remove(&settlement.receipt);
            let back = match settlement.disposition {
                Disposition::Retry { delay, .. } | Disposition::Defer { delay } => delay.is_zero(),
                Disposition::Release => true,
                Disposition::Ack | Disposition::AckWith(_) | Disposition::Bury { .. } => false,
            };
            if back && *settled == Settled::Done {
                self.due.insert(settlement.receipt.id);
            }
        }
    }

    fn note_cancelled(&mut self, call: &Call, cancelled: &[Cancelled]) {
        let Call::Cancel(ids) = call else { return };
        for (id, cancelled) in ids.iter().zip(cancelled) {
            if *cancelled == Cancelled::Cancelled {
                self.due.remove(id);
            }
        }
    }

    fn note_moved(&mut self, call: &Call, moved: &[Rescheduled]) {
        let Call::Reschedule(ids, due) = call else {
            return;
        };
        for (id, moved) in ids.iter().zip(moved) {
            match (moved, is_at_once(Some(*due))) {
                (Rescheduled::TooLate, _) => {}
                (Rescheduled::Moved, true) => drop(self.due.insert(*id)),
                (Rescheduled::Moved, false) => drop(self.due.remove(id)),
            }
        }
    }

    /// Forgets the held messages, because nobody knows what became of them.
    fn give_up(&mut self, call: &Call) {
        for settlement in settlements(call) {
            self.held.remove(&settlement.receipt);
        }
    }
}

pub(super) fn settlements(call: &Call) -> &[Settlement] {
    match call {
        Call::Settle(batch) | Call::SettleAndLease(batch, ..) => batch,
        _ => &[],
    }
}

/// The messages that a call puts in: their bodies, and their bytes.
pub(super) fn pushes(call: &Call) -> Vec<(Bytes, usize)> {
    let push = |push: &Push| (push.body.clone(), push.size());
    match call {
        Call::Insert(items) => {
            let items = items.iter();
            items.map(|item| (item.body.clone(), item.size())).collect()
        }
        Call::Push(messages) => messages.iter().map(push).collect(),
        _ => Vec::new(),
    }
}

const fn is_at_once(due: Option<Due>) -> bool {
    match due {
        Some(Due::After(delay)) => delay.is_zero(),
        Some(Due::At(_)) => false,
        None => true,
    }
}
