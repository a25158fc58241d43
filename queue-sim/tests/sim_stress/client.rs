//! One process: random calls, as fast as possible.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use queue_core::{
    AnyQueue, Bytes, Delivery, Extension, GroupChange, GroupRule, Holder, Insert, Leased,
    MessageId, Overflow, Page, Place, Push, QueueKind, Receipt, Settlement, TimeToLive,
    call::{Answer, Call, Service},
};
use queue_sim::plan::{Decisions, Process, What};

/// No lease expires, since no test can decide when one does in real time.
const LEASE_TIME: Duration = Duration::from_secs(3_600);
/// The keys of groups.
const GROUPS: [&[u8]; 3] = [b"a", b"b", b"c"];
/// The most receipts that processes share.
const SHARED: usize = 16;

pub(crate) struct Client {
    queue: AnyQueue,
    process: u8,
    decisions: Decisions,
    held: Vec<Receipt>,
    /// Receipts of all processes, so that each also settles what others hold.
    shared: Arc<Mutex<Vec<Receipt>>>,
}

impl Client {
    pub(crate) fn new(
        queue: AnyQueue,
        process: u8,
        seed: u64,
        shared: Arc<Mutex<Vec<Receipt>>>,
    ) -> Self {
        Self {
            queue,
            process,
            decisions: Decisions::seeded(seed),
            held: Vec::new(),
            shared,
        }
    }

    /// Makes `steps` random calls, and then gives back its messages.
    pub(crate) async fn play(mut self, steps: u32) {
        for step in 0..steps {
            let call = match (self.choose(10), self.queue.kind()) {
                (0..4, _) => self.put(step),
                (4..7, kind) => self.take(kind),
                (_, QueueKind::Rotating) => self.of_ring(),
                (7..9, _) => Call::Settle(self.settlements()),
                (_, kind) => self.other(kind),
            };
            match call {
                Call::Settle(none) if none.is_empty() => {}
                Call::SettleAndLease(none, max, lease_time, _) if none.is_empty() => {
                    self.call(Call::Lease(max, lease_time)).await;
                }
                call => {
                    self.call(call).await;
                }
            }
        }
        if !self.held.is_empty() {
            let back = self.held.iter().copied().map(Settlement::release);
            let back = Call::Settle(back.collect());
            self.call(back).await;
        }
    }

    /// Acks until no message is left, and counts.
    pub(crate) async fn drain(mut self) {
        if self.queue.kind() == QueueKind::Rotating {
            self.call(Call::Len).await;
            self.call(Call::List(Page::first(1_000))).await;
            return;
        }
        if self.queue.kind() == QueueKind::Grouped {
            // Otherwise it would wait for the ends of the rules.
            for group in GROUPS {
                let none = GroupChange::NoRule;
                self.call(Call::ChangeGroup(Bytes::from_static(group), none))
                    .await;
            }
        }
        let max = NonZeroUsize::MIN.saturating_add(31);
        loop {
            let Answer::Leased(leased) = self.call(Call::Lease(max, LEASE_TIME)).await else {
                unreachable!("a lease answers with messages");
            };
            if leased.is_empty() {
                let Some(next) = leased.next else { break };
                self.call(Call::WaitForArrival(next)).await;
                continue;
            }
            let acks = self.held.drain(..).map(Settlement::ack).collect();
            self.call(Call::Settle(acks)).await;
        }
        self.call(Call::Depth).await;
        self.call(Call::Counters).await;
        self.call(Call::DeadLetters(Page::first(1_000))).await;
    }

    async fn call(&mut self, call: Call) -> Answer {
        let answer = self.queue.call(call).await.expect("nothing goes wrong");
        if let Answer::Leased(leased) | Answer::SettledAndLeased(_, leased) = &answer {
            self.hold(leased);
        }
        answer
    }

    fn hold(&mut self, leased: &Leased) {
        let receipts = leased
            .deliveries
            .iter()
            .map(|Delivery { receipt, .. }| *receipt);
        self.held.extend(receipts.clone());
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.extend(receipts);
        let surplus = shared.len().saturating_sub(SHARED);
        shared.drain(..surplus);
    }

    fn put(&self, step: u32) -> Call {
        // On a delay queue, each message has a due time of its own.
        let has_due = self.queue.kind() == QueueKind::Delay;
        let message = |nth| {
            let push = Push::new(format!("{}.{step}.{nth}", self.process));
            match self.choose(4) {
                0 if !has_due => push.with_due(Duration::from_millis(self.choose(3).into())),
                1 => push.with_unique(format!("key {}", self.choose(3)), LEASE_TIME),
                2 => {
                    // Longer than any delay here.
                    let limit = Duration::from_millis(3 + u64::from(self.choose(3)));
                    push.with_time_to_live(match self.choose(2) {
                        0 => TimeToLive::drop_after(limit),
                        _ => TimeToLive::bury_after(limit),
                    })
                }
                _ => push,
            }
        };
        let messages = 0..=self.choose(3);
        match self.queue.kind() {
            QueueKind::Rotating => {
                let each = messages.map(|nth| {
                    let item = Insert::new(format!("{}.{step}.{nth}", self.process));
                    match self.choose(2) {
                        0 => item,
                        _ => item.with_key(format!("key {}", self.choose(4))),
                    }
                });
                Call::Insert(each.collect())
            }
            QueueKind::Bounded => {
                let overflow = [Overflow::Reject, Overflow::DropOldest][self.choose(2) as usize];
                let each = messages.map(|nth| message(nth).with_overflow(overflow));
                Call::Push(each.collect())
            }
            kind => {
                let each = messages.map(|nth| match kind {
                    QueueKind::Delay => {
                        let delay = Duration::from_millis(self.choose(3).into());
                        message(nth).with_due(delay)
                    }
                    QueueKind::Priority => {
                        message(nth).with_priority([0, 5, -3][self.choose(3) as usize])
                    }
                    QueueKind::Grouped => message(nth).with_group(self.group()),
                    _ => message(nth),
                });
                Call::Push(each.collect())
            }
        }
    }

    fn take(&mut self, kind: QueueKind) -> Call {
        let max = NonZeroUsize::MIN.saturating_add(self.choose(3) as usize);
        match kind {
            QueueKind::Rotating => Call::Rotate(max),
            _ if self.choose(3) == 0 => {
                Call::SettleAndLease(self.settlements(), max, LEASE_TIME, self.name())
            }
            _ => Call::Lease(max, LEASE_TIME),
        }
    }

    /// Settlements of its own messages, and of others', past or present.
    fn settlements(&mut self) -> Vec<Settlement> {
        let mut settlements = Vec::new();
        if let Some(receipt) = self.held.pop() {
            let zero = Duration::ZERO;
            settlements.push(match self.choose(8) {
                0 => Settlement::retry(receipt, zero),
                1 => Settlement::release(receipt),
                2 => Settlement::defer(receipt, Duration::from_millis(1)),
                3 => Settlement::bury(receipt, "broken"),
                _ => Settlement::ack(receipt),
            });
        }
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if !shared.is_empty() {
            let stale = shared[self.choose(shared.len() as u32) as usize];
            settlements.push(Settlement::ack(stale));
        }
        settlements
    }

    fn group(&self) -> Bytes {
        Bytes::from_static(GROUPS[self.choose(3) as usize])
    }

    fn of_ring(&self) -> Call {
        match self.choose(3) {
            0 => Call::Remove(vec![self.id()]),
            1 => Call::Len,
            _ => Call::List(Page::first(1_000)),
        }
    }

    fn other(&self, kind: QueueKind) -> Call {
        match (self.choose(6), kind) {
            (4, _) => Call::Cancel(vec![self.id()]),
            (5, _) => {
                let place = [Place::Ready, Place::Delayed, Place::Leased][self.choose(3) as usize];
                Call::Peek(place, Page::first(1_000))
            }
            (1, QueueKind::Delay) => Call::Reschedule(vec![self.id()], Duration::ZERO.into()),
            // Nothing ends by time, since no test can decide when.
            (0, QueueKind::Grouped) => Call::ChangeGroup(self.group(), GroupChange::NoRule),
            (1, QueueKind::Grouped) => {
                let rule = GroupRule::lasting(LEASE_TIME).with_weight(1 + self.choose(3));
                let rule = rule.with_at_once(1 + self.choose(3));
                Call::ChangeGroup(self.group(), GroupChange::Rule(rule))
            }
            (0, QueueKind::Bounded) => Call::Recent(3),
            (1, QueueKind::Bounded) => {
                let capacity = NonZeroUsize::MIN.saturating_add(3 + self.choose(5) as usize);
                Call::Resize(capacity)
            }
            (2, _) if !self.held.is_empty() => Call::Extend(
                self.held
                    .iter()
                    .copied()
                    .take(2)
                    .map(Extension::from)
                    .collect(),
                LEASE_TIME,
            ),
            (3, _) => Call::WaitForArrival(Duration::from_millis(1)),
            _ => Call::Depth,
        }
    }

    fn name(&self) -> Option<Holder> {
        Holder::new(format!("process {}", self.process)).ok()
    }

    fn id(&self) -> MessageId {
        MessageId::new(1 + u64::from(self.choose(60)))
    }

    fn choose(&self, options: u32) -> u32 {
        let process = Process(self.process);
        let point = self.decisions.choice_point(process, What::Argument);
        self.decisions.choose(point, options)
    }
}
