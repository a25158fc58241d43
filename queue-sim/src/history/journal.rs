use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use queue_core::{
    QueueName, Timestamp, Token,
    call::{Answer, Call},
};
use tokio::time::Instant;

use super::{CallEnd, CallId, Ended, Event, History, Moment, Record};
use crate::plan::Process;

/// Writes the history of a run. Clones write to the same history.
#[derive(Clone)]
pub struct Journal(Arc<JournalInner>);

struct JournalInner {
    start: Instant,
    epoch: Timestamp,
    state: Mutex<JournalState>,
}

#[derive(Default)]
struct JournalState {
    history: History,
    order: u64,
    /// A list, because goals are few and the journal reads them often.
    goals: Vec<&'static str>,
    handed_over: Vec<HandedOverLease>,
}

/// A lease that a push made for a call that waits.
struct HandedOverLease {
    queue: QueueName,
    token: Token,
    at: Moment,
    /// The call of which it counts as an execution.
    call: CallId,
}

impl Journal {
    /// An empty history that begins now, at this time of the backend's clock. `has_truth` promises
    /// that the backend's executions will be noted.
    pub fn new(epoch: Timestamp, has_truth: bool) -> Self {
        let mut state = JournalState::default();
        state.history.has_truth = has_truth;
        Self(Arc::new(JournalInner {
            start: Instant::now(),
            epoch,
            state: Mutex::new(state),
        }))
    }

    /// The current time, in whole milliseconds.
    pub fn now(&self) -> Timestamp {
        let since = Instant::now().duration_since(self.0.start);
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.0.epoch.plus_millis(since)
    }

    /// Notes that a call begins.
    pub fn began(&self, process: Process, queue: &QueueName, call: Call) -> CallId {
        let now = self.now();
        let mut state = self.lock();
        let began = state.next(now);
        let id = CallId(state.history.records.len() as u64 + 1);
        state.history.records.push(Record {
            id,
            process,
            queue: queue.clone(),
            call,
            began,
            ended: None,
            executed: Vec::new(),
        });
        id
    }

    /// Notes that a call has ended for its caller.
    pub fn ended(&self, id: CallId, outcome: CallEnd) {
        let now = self.now();
        let mut state = self.lock();
        let at = state.next(now);
        state.disambiguate(id, &outcome);
        if let Some(record) = state.record(id) {
            record.ended.get_or_insert(Ended { at, outcome });
        }
    }

    /// Notes that the backend has just executed a call, at `at` on its clock. Returns the moment.
    pub fn executed(&self, id: CallId, at: Timestamp) -> Moment {
        let mut state = self.lock();
        let moment = state.next(at);
        if let Some(record) = state.record(id) {
            record.executed.push(moment);
        }
        moment
    }

    /// Notes that the backend has just leased a message to a waiting process, by these terms of one of its calls. The
    /// process decides which call takes the message when the message arrives. Until then, and if no call takes it, the
    /// lease is an execution of the call that waits, or that waited last. Returns the beginning of that call.
    pub fn handed_over(
        &self,
        process: Process,
        queue: &QueueName,
        wait: impl Fn(&Call) -> bool,
        token: Token,
        at: Timestamp,
    ) -> Option<Moment> {
        let mut state = self.lock();
        let at = state.next(at);
        let waits = state.history.records.iter_mut().filter(|record| {
            record.process == process && record.queue == *queue && wait(&record.call)
        });
        let taker = waits.max_by_key(|record| (record.ended.is_none(), record.id))?;
        taker.executed.push(at);
        let (call, began) = (taker.id, taker.began);
        let queue = queue.clone();
        state.handed_over.push(HandedOverLease {
            queue,
            token,
            at,
            call,
        });
        Some(began)
    }

    /// Notes another event.
    pub fn note(&self, event: Event) {
        let now = self.now();
        let mut state = self.lock();
        let at = state.next(now);
        state.history.events.push((at, event));
    }

    /// Notes a goal. Runs must reach each goal now and then, or they prove little.
    pub fn reached(&self, goal: &'static str) {
        let mut state = self.lock();
        if !state.goals.contains(&goal) {
            state.goals.push(goal);
        }
    }

    /// The goals that the run reached.
    pub fn goals(&self) -> BTreeSet<&'static str> {
        self.lock().goals.iter().copied().collect()
    }

    /// The order of the last event.
    pub fn order(&self) -> u64 {
        self.lock().order
    }

    /// Takes the history so far out; the journal begins again.
    pub fn take(&self) -> History {
        let mut state = self.lock();
        state.handed_over.clear();
        std::mem::take(&mut state.history)
    }

    fn lock(&self) -> MutexGuard<'_, JournalState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JournalState {
    fn next(&mut self, at: Timestamp) -> Moment {
        self.order += 1;
        Moment {
            order: self.order,
            at,
        }
    }

    /// Makes the lease of a message that this call brings an execution of this call.
    fn disambiguate(&mut self, id: CallId, outcome: &CallEnd) {
        let CallEnd::Ok(Answer::Leased(leased)) = outcome else {
            return;
        };
        let [delivery] = &leased.deliveries[..] else {
            return;
        };
        let token = delivery.receipt.token;
        let Some(record) = self.record(id).filter(|record| record.call.is_wait()) else {
            return;
        };
        let queue = record.queue.clone();
        let mut all = self.handed_over.iter_mut();
        let handed = all.find(|handed| handed.token == token && handed.queue == queue);
        let Some(handed) = handed.filter(|handed| handed.call != id) else {
            return;
        };
        let (before, at) = (std::mem::replace(&mut handed.call, id), handed.at);
        if let Some(before) = self.record(before) {
            before.executed.retain(|moment| *moment != at);
        }
        if let Some(record) = self.record(id) {
            record.executed.push(at);
            record.executed.sort();
        }
    }

    fn record(&mut self, id: CallId) -> Option<&mut Record> {
        self.history.records.get_mut(id.0 as usize - 1)
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("calls", &self.lock().history.records.len())
            .finish_non_exhaustive()
    }
}
