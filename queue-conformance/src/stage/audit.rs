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

/// Counts what the queues of a case answer: a layer in front of its backend.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audit(Arc<Mutex<BTreeMap<QueueName, Entry>>>);

#[derive(Debug)]
struct Entry {
    expected: Arc<ExpectedCounts>,
    queue: Arc<dyn Service>,
}

impl Audit {
    /// Fails unless the counters of each queue agree with its answers; of a queue without counters,
    /// unless its depth does.
    pub(crate) async fn close(&self, guarantees: &Guarantees) {
        let entries = std::mem::take(&mut *self.lock());
        let look = match guarantees.calls.contains("counters") {
            true => Call::Counters,
            // The depth says nothing of what is nowhere, or was dropped untold.
            false if broken_alone(guarantees, "L5").is_some() => return,
            false if guarantees.calls.contains("depth") => Call::Depth,
            false => return,
        };
        for Entry { expected, queue } in entries.into_values() {
            match queue.call(look.clone()).await.expect("counters") {
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueName, Entry>> {
        self.0.lock().expect("no entry panics")
    }
}

impl Layer for Audit {
    fn before(&self, name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service> {
        let mut entries = self.lock();
        let expected = entries.get(name).map(|entry| Arc::clone(&entry.expected));
        let expected = expected.unwrap_or_default();
        let entry = Entry {
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
            ("released", expected.released, counters.released),
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

    /// Fails unless the queue has what its answers say is left.
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
        // No answer tells which of those have ended that were to be dropped at their ends.
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

/// If it is dropped before its call has answered, makes the counts unsure, since nobody knows the
/// call's effect (L8).
struct CallGuard<'a>(Option<&'a ExpectedCounts>);

impl CallGuard<'_> {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        if let Some(expected) = self.0 {
            expected.mark_unsure();
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
        // What only looks or waits may be given up: no count depends on it.
        let guard = (!call.is_wait()).then(|| CallGuard(Some(&self.expected)));
        let answered = self.queue.call(call.clone()).await;
        if let Some(guard) = guard {
            guard.answered();
        }
        self.expected.record(&call, &answered);
        answered
    }
}
