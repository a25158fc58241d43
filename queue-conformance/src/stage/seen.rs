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
                    Pushed::Accepted(id) => Some(*id),
                    Pushed::Duplicate(_) => None,
                });
                self.note_pushes(call, ids.collect());
            }
            Answer::Offered(offered) => {
                let ids = offered.iter().map(|offered| match offered {
                    Offered::Accepted { id, .. } | Offered::Replaced { id, .. } => Some(*id),
                    Offered::Duplicate(_) | Offered::Full => None,
                });
                self.note_pushes(call, ids.collect());
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
            _ => {}
        }
    }

    fn note_pushes(&mut self, call: &Call, accepted: Vec<Option<MessageId>>) {
        let at_once = due_at_once(call, accepted.len());
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
        call => call.pushes().into_iter().flatten().map(push).collect(),
    }
}

/// For each of the call's `count` messages, whether it is due at once.
fn due_at_once(call: &Call, count: usize) -> Vec<bool> {
    let at_once = |due: Option<Due>| match due {
        Some(Due::After(delay)) => delay.is_zero(),
        Some(Due::At(_)) => false,
        None => true,
    };
    match (call, call.pushes()) {
        (Call::Schedule(messages), _) => messages
            .iter()
            .map(|each| at_once(Some(each.due)))
            .collect(),
        (_, Some(pushes)) => pushes.iter().map(|push| at_once(push.due)).collect(),
        _ => vec![true; count],
    }
}
