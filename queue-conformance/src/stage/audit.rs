//! An independent count beside each queue of a case (L5).

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use queue_core::{
    call::{Answer, Call, Layer, Service},
    *,
};

use super::{answers::Answered, guard::broken_alone};

/// Counts the answers of a case's queues: a layer in front of its backend.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audit(Arc<Mutex<BTreeMap<QueueName, AuditEntry>>>);

#[derive(Debug)]
struct AuditEntry {
    expected: Arc<ExpectedCounts>,
    queue: Arc<dyn Service>,
}

impl Audit {
    /// Fails unless the counters of each queue agree with its answers. For a queue without counters, its depth must
    /// agree.
    pub(crate) async fn close(&self, guarantees: &Guarantees) {
        let entries = std::mem::take(&mut *self.lock());
        let read = match guarantees.calls.contains("counters") {
            true => Call::Counters,
            // The depth does not show messages that are in no place, or that were dropped without an answer.
            false if broken_alone(guarantees, "L5").is_some() => return,
            false if guarantees.calls.contains("depth") => Call::Depth,
            false => return,
        };
        for AuditEntry { expected, queue } in entries.into_values() {
            match queue.call(read.clone()).await.expect("counters") {
                Answer::Counters(counters) => expected.check(&counters),
                Answer::Depth(depth) => expected.check_depth(depth),
                other => panic!("counters answer {other:?}"),
            }
        }
    }

    /// Forgets every queue.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueName, AuditEntry>> {
        self.0.lock().expect("no entry panics")
    }
}

impl Layer for Audit {
    fn before(self: &Arc<Self>, name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service> {
        let mut entries = self.lock();
        let expected = entries.get(name).map(|entry| Arc::clone(&entry.expected));
        let expected = expected.unwrap_or_default();
        let entry = AuditEntry {
            expected: Arc::clone(&expected),
            queue: Arc::clone(&queue),
        };
        entries.insert(name.clone(), entry);
        Arc::new(Audited { queue, expected })
    }
}

/// The counts that a queue's answers add up to. The suite keeps them, not the backend.
#[derive(Debug, Default)]
pub(crate) struct ExpectedCounts {
    answers: Mutex<Answered>,
    unsure: AtomicBool,
}

impl ExpectedCounts {
    /// Fails unless the queue's counters add up, and agree with its answers.
    pub(crate) fn check(&self, counters: &Counters) {
        assert!(
            counters.balance(),
            "L5: the counts of {counters:?} do not add up"
        );
        if self.unsure.load(Ordering::SeqCst) {
            return;
        }
        let answers = self.lock();
        let expected = &answers.counts;
        let pairs = [
            ("accepted", expected.accepted, counters.accepted),
            ("acked", expected.acked, counters.acked),
            ("retried", expected.retried, counters.retried),
            ("deferred", expected.deferred, counters.deferred),
            ("revived", expected.revived, counters.revived),
            ("evicted", expected.evicted, counters.evicted),
            ("replaced", expected.replaced, counters.replaced),
            ("cancelled", expected.cancelled, counters.cancelled),
            ("discarded", expected.discarded, counters.discarded),
            ("purged", expected.purged, counters.purged),
        ];
        for (name, answered, counted) in pairs {
            assert_eq!(
                counted, answered,
                "L5: {name}: the queue counts {counted}, its answers add up to {answered}"
            );
        }
        let (released, least, in_vain) =
            (counters.released, expected.released, answers.waited_in_vain);
        assert!(
            released >= least && released <= least + in_vain,
            "L5: released: the queue counts {released}, its answers add up to {least}, and {in_vain} \
             waits may have given back what came too late for them"
        );
        let (died, least) = (counters.died, expected.died);
        let (expired, to_bury) = (counters.expired, answers.to_bury);
        assert!(
            died >= least && died <= least + expired + to_bury,
            "L5: died: the queue counts {died}, its answers add up to {least}, {expired} leases \
             expired, and {to_bury} messages were to be buried at their ends"
        );
        let (outdated, to_drop) = (counters.outdated, answers.to_drop);
        assert!(
            outdated <= to_drop,
            "L5: outdated: the queue counts {outdated}, and {to_drop} messages were to be dropped \
             at their ends"
        );
    }

    /// Fails unless the queue has the messages that are left by its answers.
    fn check_depth(&self, depth: Depth) {
        if self.unsure.load(Ordering::SeqCst) {
            return;
        }
        let answers = self.lock();
        let counts = &answers.counts;
        let gone = [
            counts.acked,
            counts.evicted,
            counts.replaced,
            counts.cancelled,
            counts.discarded,
            counts.purged,
        ];
        let left = counts.accepted.checked_sub(gone.iter().sum());
        let there = depth.ready + depth.delayed + depth.leased + depth.dead;
        // No answer shows which messages were dropped at their ends.
        let agrees = left.is_some_and(|left| there <= left && left <= there + answers.to_drop);
        assert!(
            agrees,
            "L5: {depth:?} does not agree with the answers, which add up to {answers:?}"
        );
    }

    fn lock(&self) -> MutexGuard<'_, Answered> {
        self.answers.lock().expect("no entry panics")
    }

    fn record(&self, call: &Call, answered: &Result<Answer>) {
        let has_brought = matches!(answered, Ok(Answer::Leased(leased)) if !leased.is_empty());
        if matches!(call, Call::WaitToLease(..)) && !has_brought {
            self.lock().waited_in_vain += 1;
        }
        match answered {
            Ok(answer) => self.lock().record(call, answer),
            Err(error) if error.outcome() == Outcome::Unknown => self.mark_unsure(),
            Err(_) => {}
        }
    }

    fn mark_unsure(&self) {
        self.unsure.store(true, Ordering::SeqCst);
    }
}

/// A call under way. If the guard is dropped before the answer, nobody knows the call's effect (L8).
struct CallGuard<'a>(Option<(&'a ExpectedCounts, &'a Call)>);

impl CallGuard<'_> {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        match self.0 {
            // A message that is handed over to it now is released.
            Some((expected, Call::WaitToLease(..))) => expected.lock().waited_in_vain += 1,
            Some((expected, call)) if !call.is_wait() => expected.mark_unsure(),
            _ => {}
        }
    }
}

/// A queue that records its answers in the expected counts.
#[derive(Debug)]
struct Audited {
    queue: Arc<dyn Service>,
    expected: Arc<ExpectedCounts>,
}

#[async_trait]
impl Service for Audited {
    async fn call(&self, call: Call) -> Result<Answer> {
        let guard = CallGuard(Some((&self.expected, &call)));
        let answered = self.queue.call(call.clone()).await;
        guard.answered();
        self.expected.record(&call, &answered);
        answered
    }
}

#[cfg(test)]
mod tests {
    use std::{panic::AssertUnwindSafe, time::Duration};

    use tokio::time::timeout;

    use super::*;

    /// A queue on which every wait lasts.
    #[derive(Debug)]
    struct Endless;

    #[async_trait]
    impl Service for Endless {
        async fn call(&self, _call: Call) -> Result<Answer> {
            std::future::pending().await
        }
    }

    async fn give_up(call: Call) -> Arc<ExpectedCounts> {
        let expected = Arc::<ExpectedCounts>::default();
        let audited = Audited {
            queue: Arc::new(Endless),
            expected: Arc::clone(&expected),
        };
        let given_up = timeout(Duration::from_millis(1), audited.call(call)).await;
        assert!(given_up.is_err(), "nothing answers");
        expected
    }

    fn released(released: u64) -> Counters {
        let mut counters = Counters::default();
        counters.released = released;
        counters
    }

    fn is_refused(expected: &ExpectedCounts, counters: &Counters) -> bool {
        let check = AssertUnwindSafe(|| expected.check(counters));
        std::panic::catch_unwind(check).is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_may_give_one_message_back() {
        let long = Duration::from_secs(60);
        let expected = give_up(Call::WaitToLease(long, None, long)).await;
        expected.check(&released(0));
        expected.check(&released(1));
        assert!(is_refused(&expected, &released(2)));
        let expected = give_up(Call::WaitForArrival(long)).await;
        expected.check(&released(0));
        assert!(is_refused(&expected, &released(1)));
    }
}
