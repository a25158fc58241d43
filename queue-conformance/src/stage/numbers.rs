//! Numbers for the messages of a queue whose ids are names.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use queue_core::{
    call::{Answer, Call, Service},
    *,
};

use super::seen::settlements;

/// A queue that numbers its messages in the order of arrival, as the cases expect. It stands in front of a queue whose
/// ids are names.
///
/// Messages of equal names look the same; they are handed out in the order of their numbers.
#[derive(Debug)]
pub(super) struct Numbered {
    queue: Arc<dyn Service>,
    numbers: Arc<Mutex<Numbers>>,
}

impl Numbered {
    pub(super) const fn new(queue: Arc<dyn Service>, numbers: Arc<Mutex<Numbers>>) -> Self {
        Self { queue, numbers }
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        // A case that ends as skipped may unwind while it is held.
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Service for Numbered {
    async fn call(&self, call: Call) -> Result<Answer> {
        let asked = self.numbers().named(call.clone());
        let _pushing = Pushing::begin(self, &call);
        let answer = self.queue.call(asked).await?;
        Ok(self.numbers().numbered(&call, answer))
    }
}

/// A push that is under way. A consumer may have its messages before it answers.
struct Pushing<'a>(Option<&'a Numbered>);

impl<'a> Pushing<'a> {
    fn begin(queue: &'a Numbered, call: &Call) -> Self {
        let pushes = matches!(call, Call::Push(_) | Call::Insert(_));
        if pushes {
            queue.numbers().under_way += 1;
        }
        Self(pushes.then_some(queue))
    }
}

impl Drop for Pushing<'_> {
    fn drop(&mut self) {
        if let Some(queue) = self.0 {
            queue.numbers().under_way -= 1;
        }
    }
}

/// The numbers of one queue's messages.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    last: u64,
    under_way: usize,
    by_name: HashMap<MessageId, Bearers>,
    names: HashMap<MessageId, MessageId>,
    /// Messages that come back or came back, and that nobody has had since: their names may be new.
    back: VecDeque<MessageId>,
}

/// The messages of one name.
#[derive(Debug, Default)]
struct Bearers {
    all: Vec<MessageId>,
    /// Messages that nobody has.
    free: VecDeque<MessageId>,
    /// Messages that were handed out before their pushes returned.
    early: VecDeque<MessageId>,
}

impl Numbers {
    /// The call with names in place of numbers.
    fn named(&mut self, mut call: Call) -> Call {
        // A consumer may have them before their settlement returns.
        let back = settlements(&call).iter().filter(|each| returns(each));
        self.back.extend(back.map(|each| each.receipt.id));
        let receipt = |receipt: &mut Receipt| receipt.id = self.name(receipt.id);
        match &mut call {
            Call::Settle(batch) | Call::SettleAndLease(batch, ..) => {
                batch.iter_mut().for_each(|each| receipt(&mut each.receipt));
            }
            Call::Extend(extensions, _) => {
                extensions
                    .iter_mut()
                    .for_each(|each| receipt(&mut each.receipt));
            }
            Call::Cancel(ids)
            | Call::Revive(ids, _)
            | Call::Discard(ids)
            | Call::Remove(ids)
            | Call::Reschedule(ids, _)
            | Call::Find(ids) => {
                ids.iter_mut().for_each(|id| *id = self.name(*id));
            }
            Call::WaitForEnd(id, _) => *id = self.name(*id),
            _ => {}
        }
        call
    }

    fn name(&self, number: MessageId) -> MessageId {
        self.names.get(&number).copied().unwrap_or(number)
    }

    /// The answer with numbers in place of names.
    fn numbered(&mut self, call: &Call, mut answer: Answer) -> Answer {
        match &mut answer {
            Answer::Pushed(pushed) => pushed.iter_mut().for_each(|pushed| match pushed {
                Pushed::Accepted(id) => *id = self.arrived(*id),
                Pushed::Replaced { id, replaced: left } | Pushed::Evicted { id, evicted: left } => {
                    *left = self.nth(*left, 0);
                    *id = self.arrived(*id);
                }
                Pushed::Duplicate(id) => *id = self.nth(*id, 0),
                Pushed::Full => {}
            }),
            Answer::Inserted(inserted) => inserted.iter_mut().for_each(|inserted| match inserted {
                Inserted::Added(id) => *id = self.arrived(*id),
                Inserted::Present(id) => *id = self.nth(*id, 0),
            }),
            Answer::Settled(settled) => self.returned(call, settled),
            Answer::Leased(leased) => self.handed_out(leased),
            Answer::SettledAndLeased(settled, leased) => {
                self.returned(call, settled);
                self.handed_out(leased);
            }
            Answer::Messages(messages) => self.seen(messages, |message| &mut message.id),
            Answer::Rotated(rotated) => self.seen(&mut rotated.items, |item| &mut item.id),
            Answer::Items(page) => self.seen(&mut page.entries, |item| &mut item.id),
            Answer::DeadLetters(page) => self.seen(&mut page.entries, |letter| &mut letter.id),
            Answer::Peeked(page) => self.peeked(&mut page.entries),
            Answer::Found(found) => {
                for one in found {
                    if let Found::Present {
                        standing: Standing::Leased { receipt, .. },
                        ..
                    } = one
                    {
                        receipt.id = self.nth(receipt.id, 0);
                    }
                }
            }
            _ => {}
        }
        answer
    }

    fn new_number(&mut self, name: MessageId) -> MessageId {
        self.last += 1;
        let number = MessageId::new(self.last);
        self.names.insert(number, name);
        self.by_name.entry(name).or_default().all.push(number);
        number
    }

    fn arrived(&mut self, name: MessageId) -> MessageId {
        let early = self.by_name.entry(name).or_default().early.pop_front();
        early.unwrap_or_else(|| {
            let number = self.new_number(name);
            self.by_name.entry(name).or_default().free.push_back(number);
            number
        })
    }

    fn handed_out(&mut self, leased: &mut Leased) {
        for delivery in &mut leased.deliveries {
            let name = delivery.receipt.id;
            let bearers = self.by_name.entry(name).or_default();
            let last = bearers.all.last().copied();
            delivery.receipt.id = match (bearers.free.pop_front(), last) {
                (Some(number), _) => {
                    self.back.retain(|back| *back != number);
                    number
                }
                // The message came back without a settlement, or its settlement has not returned.
                (None, Some(number)) if self.under_way == 0 => {
                    self.back.retain(|back| *back != number);
                    number
                }
                // The message came back under another name.
                (None, None) if self.under_way == 0 && !self.back.is_empty() => self.renamed(name),
                (None, _) => {
                    let number = self.new_number(name);
                    self.by_name
                        .entry(name)
                        .or_default()
                        .early
                        .push_back(number);
                    number
                }
            };
        }
    }

    fn renamed(&mut self, name: MessageId) -> MessageId {
        let Some(number) = self.back.pop_front() else {
            return self.new_number(name);
        };
        self.names.insert(number, name);
        self.by_name.entry(name).or_default().all.push(number);
        number
    }

    fn returned(&mut self, call: &Call, settled: &[Settled]) {
        let back = settlements(call).iter().zip(settled);
        for (settlement, settled) in back.filter(|(each, _)| returns(each)) {
            let number = settlement.receipt.id;
            if *settled != Settled::Done {
                self.back.retain(|back| *back != number);
                continue;
            }
            let free = &mut self.by_name.entry(self.name(number)).or_default().free;
            match settlement.disposition {
                Disposition::Release => free.push_front(number),
                _ => free.push_back(number),
            }
        }
    }

    /// Numbers the messages that an answer shows: the nth message of a name in the answer is the nth that bears it.
    fn seen<T>(&mut self, entries: &mut [T], id: impl Fn(&mut T) -> &mut MessageId) {
        let mut counts = HashMap::<MessageId, usize>::new();
        for entry in entries {
            let id = id(entry);
            let count = counts.entry(*id).or_default();
            let nth = *count;
            *count += 1;
            *id = self.nth(*id, nth);
        }
    }

    fn peeked(&mut self, entries: &mut [Peeked]) {
        self.seen(entries, |peeked| &mut peeked.message.id);
        for Peeked {
            message, standing, ..
        } in entries
        {
            if let Standing::Leased { receipt, .. } = standing {
                receipt.id = message.id;
            }
        }
    }

    /// The number of the nth message of `name`, or of the last message if there are fewer.
    fn nth(&mut self, name: MessageId, nth: usize) -> MessageId {
        let bearers = self.by_name.get(&name);
        let number = bearers.and_then(|bearers| bearers.all.get(nth).or(bearers.all.last()));
        number.copied().unwrap_or_else(|| {
            let number = self.new_number(name);
            // A repeat of a push may return before the push does.
            if self.under_way > 0 {
                let bearers = self.by_name.entry(name).or_default();
                bearers.early.push_back(number);
            }
            number
        })
    }
}

/// Whether the settlement puts its message back.
const fn returns(settlement: &Settlement) -> bool {
    !matches!(
        settlement.disposition,
        Disposition::Ack | Disposition::Bury { .. }
    )
}
