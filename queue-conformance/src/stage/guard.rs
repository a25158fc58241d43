//! The calls that a case may make on a queue that lacks something.

use std::{
    collections::{BTreeMap, HashSet},
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    call::{Answer, Call, Layer, Service},
    *,
};
use tokio::time::{Instant, sleep};

use super::{
    numbers::{Numbered, Numbers},
    seen::{SeenMessages, pushes},
};
use crate::{Skip, ending::Exit, steps::LONG};

/// The time between two polls of a queue that hands out due messages late.
const AGAIN: Duration = Duration::from_millis(5);

/// Ends the case as skipped where it asks a queue for something that its guarantees lack: a layer
/// in front of the backend, behind the audit.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    guarantees: Arc<Guarantees>,
    exit: Exit,
    patience: Duration,
    queues: Arc<Mutex<BTreeMap<QueueName, GuardState>>>,
}

/// The state that the handles of a queue share.
#[derive(Debug, Clone, Default)]
struct GuardState {
    seen: Arc<Mutex<SeenMessages>>,
    numbers: Arc<Mutex<Numbers>>,
}

impl Guard {
    pub(super) fn new(guarantees: Guarantees, exit: Exit, patience: Duration) -> Self {
        Self {
            guarantees: Arc::new(guarantees),
            exit,
            patience,
            queues: Arc::default(),
        }
    }
}

impl Layer for Guard {
    fn before(self: &Arc<Self>, name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service> {
        let mut queues = lock(&self.queues);
        let GuardState { seen, numbers } = queues.entry(name.clone()).or_default().clone();
        let queue = match self.guarantees.has(Feature::Ids) {
            true => queue,
            false => Arc::new(Numbered::new(queue, numbers)),
        };
        Arc::new(Guarded {
            guard: Arc::clone(self),
            queue,
            seen,
            got: Mutex::default(),
        })
    }
}

/// A handle of a guarded queue.
#[derive(Debug)]
struct Guarded {
    guard: Arc<Guard>,
    queue: Arc<dyn Service>,
    seen: Arc<Mutex<SeenMessages>>,
    /// The receipts that this handle got.
    got: Mutex<HashSet<Receipt>>,
}

#[async_trait]
impl Service for Guarded {
    async fn call(&self, call: Call) -> Result<Answer> {
        if let Some(skip) = self.lack(&call) {
            self.guard.exit.skip(skip);
        }
        let deadline = Instant::now() + self.guard.patience;
        let mut answered = self.queue.call(call.clone()).await;
        while let Some(rest) = self.late(&call, &answered)
            && Instant::now() < deadline
        {
            sleep(AGAIN).await;
            answered = joined(answered, self.queue.call(rest).await);
        }
        if self.late(&call, &answered).is_some()
            && let Some(skip) = forgetful(&self.guard.guarantees)
        {
            self.guard.exit.skip(skip);
        }
        if let Ok(Answer::Leased(leased) | Answer::SettledAndLeased(_, leased)) = &answered {
            let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
            lock(&self.got).extend(receipts);
        }
        lock(&self.seen).note(&call, &answered);
        answered
    }
}

impl Guarded {
    /// The reason to skip, if the call needs something that the queue lacks.
    fn lack(&self, call: &Call) -> Option<Skip> {
        let guarantees = &*self.guard.guarantees;
        if let Err(error) = guarantees.check(call) {
            return Some(Skip::Lacks(error.to_string()));
        }
        let lacking = [
            (Feature::Several, self.several(call)),
            (Feature::SharedReceipts, self.others_receipt(call)),
            (Feature::Expiry, expires(call)),
            (Feature::Sizes, self.large(call)),
        ];
        for (feature, asked) in lacking {
            if asked && !guarantees.has(feature) {
                return Some(lacks(guarantees, feature));
            }
        }
        self.equal_bodies(call).or_else(|| self.held_depth(call))
    }

    /// True for a lease of more than one message, or of another message while one is held.
    fn several(&self, call: &Call) -> bool {
        let held = &lock(&self.seen).held;
        match call {
            Call::Lease(max, _) => max.get() > 1 || !held.is_empty(),
            Call::SettleAndLease(batch, max, ..) => {
                let settles = |receipt: &Receipt| batch.iter().any(|each| each.receipt == *receipt);
                max.get() > 1 || !held.iter().all(settles)
            }
            _ => false,
        }
    }

    fn others_receipt(&self, call: &Call) -> bool {
        let got = lock(&self.got);
        match call {
            Call::Settle(batch) | Call::SettleAndLease(batch, ..) => {
                batch.iter().any(|each| !got.contains(&each.receipt))
            }
            Call::Extend(extensions, _) => {
                extensions.iter().any(|each| !got.contains(&each.receipt))
            }
            _ => false,
        }
    }

    /// Whether an answer could exceed the bytes that an answer may hold.
    fn large(&self, call: &Call) -> bool {
        let most = match call {
            Call::Lease(max, _) | Call::SettleAndLease(_, max, ..) | Call::Rotate(max) => max.get(),
            Call::Recent(n) => *n,
            Call::List(page) | Call::DeadLetters(page) | Call::Peek(_, page) => page.limit,
            _ => 0,
        };
        most > 1 && lock(&self.seen).bytes > limits::MAX_BATCH_BYTES
    }

    /// The rule that equal bodies break, if the call pushes a body for the second time.
    fn equal_bodies(&self, call: &Call) -> Option<Skip> {
        let mut caveats = self.guard.guarantees.caveats.iter();
        let broken = caveats.find(|caveat| caveat.when == Condition::EqualBodies)?;
        let mut bodies = lock(&self.seen).bodies.clone();
        let mut all = pushes(call).into_iter();
        let again = all.any(|(body, _)| !bodies.insert(body));
        again.then_some(Skip::Breaks {
            rule: broken.rule,
            because: broken.because,
        })
    }

    /// The broken rule, if the call reads the depth while a message is held, and the queue counts held messages in no
    /// place.
    fn held_depth(&self, call: &Call) -> Option<Skip> {
        let reads = matches!(call, Call::Depth) && !lock(&self.seen).held.is_empty();
        reads
            .then(|| broken_alone(&self.guard.guarantees, "L5"))
            .flatten()
    }

    /// The call that asks again for due messages that the answer lacks, on a queue that may be late.
    fn late(&self, call: &Call, answered: &Result<Answer>) -> Option<Call> {
        if self.guard.guarantees.has(Feature::AtOnce) {
            return None;
        }
        let due = lock(&self.seen).due.len();
        match (call, answered) {
            (Call::Lease(max, lease_time), Ok(Answer::Leased(leased))) => {
                let left = max.get().min(due).checked_sub(leased.deliveries.len())?;
                Some(Call::Lease(NonZeroUsize::new(left)?, *lease_time))
            }
            (call, Ok(Answer::Leased(leased))) => {
                (leased.is_empty() && due > 0).then(|| call.clone())
            }
            (call, Ok(Answer::Depth(depth))) => (depth.ready < due as u64).then(|| call.clone()),
            _ => None,
        }
    }
}

/// The messages of both leases, or else the later answer.
fn joined(answered: Result<Answer>, again: Result<Answer>) -> Result<Answer> {
    match (answered, again) {
        (Ok(Answer::Leased(first)), Ok(Answer::Leased(mut second))) => {
            let mut deliveries = first.deliveries;
            deliveries.append(&mut second.deliveries);
            second.deliveries = deliveries;
            Ok(Answer::Leased(second))
        }
        (_, again) => again,
    }
}

/// A lease that ends within the case.
fn expires(call: &Call) -> bool {
    match call {
        Call::Lease(_, lease_time)
        | Call::SettleAndLease(_, _, lease_time, _)
        | Call::Extend(_, lease_time) => !lease_time.is_zero() && *lease_time < LONG,
        _ => false,
    }
}

/// The rule that a queue breaks if it may forget to move messages that are due.
pub(super) fn forgetful(guarantees: &Guarantees) -> Option<Skip> {
    match guarantees.has(Feature::AtOnce) {
        true => None,
        false => broken_alone(guarantees, "L7"),
    }
}

pub(super) fn lacks(guarantees: &Guarantees, feature: Feature) -> Skip {
    Skip::Lacks(format!("{} lacks {feature}", guarantees.name))
}

/// The rule, if these guarantees break it without any fault and with any bodies.
pub(super) fn broken_alone(guarantees: &Guarantees, rule: &str) -> Option<Skip> {
    let always = |when| {
        matches!(
            when,
            Condition::NoFaults | Condition::Absent | Condition::Partitions
        )
    };
    let mut caveats = guarantees.caveats.iter();
    let broken = caveats.find(|caveat| caveat.rule == rule && always(caveat.when))?;
    Some(Skip::Breaks {
        rule: broken.rule,
        because: broken.because,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A case that ends as skipped may unwind while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue whose leases bring two messages at most, like a queue that moves due messages bit by bit.
    #[derive(Debug)]
    struct BitByBit;

    #[async_trait]
    impl Service for BitByBit {
        async fn call(&self, call: Call) -> Result<Answer> {
            let deliveries = |max: usize| (1..=max.min(2) as u64).map(delivery).collect();
            Ok(match call {
                Call::Push(batch) => {
                    let ids = (1..=batch.len() as u64).map(MessageId::new);
                    Answer::Pushed(ids.map(Pushed::Accepted).collect())
                }
                Call::Lease(max, _) => Answer::Leased(Leased::of(deliveries(max.get()))),
                other => panic!("{other:?} is not asked"),
            })
        }
    }

    fn delivery(id: u64) -> Delivery {
        let receipt = Receipt::new(MessageId::new(id), Token::new(id));
        Delivery::new(receipt, 1, LONG, Bytes::new())
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_on_a_queue_that_is_late_waits_for_all_that_is_due() {
        let late = Guarantees::all("late", QueueKind::Delay).without(Feature::AtOnce);
        let guard = Arc::new(Guard::new(late, Exit::default(), LONG));
        let name = QueueName::new("late").expect("the name is allowed");
        let queue = guard.before(&name, Arc::new(BitByBit));
        let push = Call::Push(vec![Push::new("x"); 5]);
        queue.call(push).await.expect("pushes");
        for (asked, brought) in [(4, 4), (2, 2)] {
            let max = NonZeroUsize::new(asked).expect("not zero");
            let answered = queue.call(Call::Lease(max, LONG)).await;
            let Ok(Answer::Leased(leased)) = answered else {
                panic!("{answered:?}")
            };
            assert_eq!(leased.deliveries.len(), brought);
        }
    }
}
