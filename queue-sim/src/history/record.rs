use queue_core::{
    ErrorKind, QueueName, Timestamp,
    call::{Answer, Call},
};

use crate::{engine::End, plan::Process};

/// The most unended calls of one instant to keep.
const OF_AN_INSTANT: usize = 100;

/// A call's number in its history, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// The moment of an event: its place in the order of all events of the run, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment {
    /// The order grows with each event, also within a millisecond.
    pub order: u64,
    /// The backend's time; for an execution, the time that the call passed to the backend.
    pub at: Timestamp,
}

/// One call of a history.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// The call's number.
    pub id: CallId,
    /// The process that made it.
    pub process: Process,
    /// The queue.
    pub queue: QueueName,
    /// The call and its arguments.
    pub call: Call,
    /// Its beginning.
    pub began: Moment,
    /// Its end for the caller; `None` if it never ended.
    pub ended: Option<Ended>,
    /// The backend's executions of the call: normally one, none if the call got lost on the way, several if it was
    /// repeated or is not atomic. Unknown for calls in real time; see [`History::has_truth`].
    pub executed: Vec<Moment>,
}

/// The end of a call for its caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ended {
    /// The moment.
    pub at: Moment,
    /// The outcome.
    pub outcome: CallEnd,
}

/// The caller's knowledge of a call that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CallEnd {
    /// The backend executed it, and answered this.
    Ok(Answer),
    /// The call failed, and the error says that the backend did not execute it.
    NotApplied(ErrorKind, String),
    /// The call failed, and the backend may or may not have executed it.
    Unknown(ErrorKind, String),
    /// Its caller dropped the future: cancelled it, or the process crashed.
    Dropped,
}

/// An event beside the calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// A process crashed and lost its memory.
    Crashed(Process),
    /// A process stood still until this time.
    Stalled(Process, Timestamp),
    /// A process had an effect outside of the queue: its ledger and its key.
    Effect(Process, String),
    /// A process left an effect out: its ledger, its key, and the reason.
    Spared(Process, String),
    /// A process's handler failed or panicked, with this message.
    Failed(Process, String),
    /// A process sent the server a command of its own, beside the queues: the command, and the reply.
    Command(Process, String),
    /// A fault struck this process: its name.
    Fault(&'static str, Process),
    /// The backend undid its executions after an earlier one: a failover or a power loss. Receipts
    /// of the lost history must match nothing (R1).
    RolledBack {
        /// The order of the last execution that survived.
        to: u64,
    },
    /// The faults are over: from here on every call must succeed (L7).
    Healed,
    /// The number of messages that a bounded queue held right after an execution.
    Length(QueueName, u64),
    /// A rule that broke during the run, and how.
    Broken(&'static str, String),
}

/// The history of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct History {
    /// All calls, in the order of their beginnings.
    pub records: Vec<Record>,
    /// All other events, in order.
    pub events: Vec<(Moment, Event)>,
    /// Whether [`Record::executed`] is complete.
    pub has_truth: bool,
    /// Whether the tokens of a message's deliveries show the order in which the backend made them, as L4 has it. Calls
    /// of real threads overlap, so the checks use that order if the backend's executions are unknown.
    pub tokens_tell_order: bool,
}

impl History {
    /// The faults that struck, by name and in order.
    pub fn faults(&self) -> impl Iterator<Item = &'static str> {
        self.events.iter().filter_map(|(_, event)| match event {
            Event::Fault(fault, _) => Some(*fault),
            _ => None,
        })
    }

    /// The order of the moment at which the faults ended.
    pub(crate) fn healed(&self) -> Option<u64> {
        let mut events = self.events.iter();
        let healed = events.find(|(_, event)| matches!(event, Event::Healed));
        healed.map(|(moment, _)| moment.order)
    }

    /// The number of calls, without those of the final drain.
    pub(crate) fn operations(&self) -> usize {
        let healed = self.healed().unwrap_or(u64::MAX);
        let records = self.records.iter();
        records.filter(|record| record.began.order < healed).count()
    }

    /// For a run that went on although no time passed: the history up to there, and the first calls after it. The rest
    /// repeats the same calls a hundred thousand times.
    #[must_use]
    pub(crate) fn up_to_where_it_spins(mut self, end: &End) -> Self {
        let (End::Spinning(_), Some(last)) = (end, self.records.last()) else {
            return self;
        };
        let instant = last.began.at;
        let mut there = self
            .records
            .iter()
            .filter(|record| record.began.at == instant);
        let Some(Moment { order: limit, .. }) = there.nth(OF_AN_INSTANT).map(|first| first.began)
        else {
            return self;
        };
        self.records.retain(|record| record.began.order < limit);
        for record in &mut self.records {
            record.executed.retain(|moment| moment.order < limit);
            record.ended = record.ended.take().filter(|ended| ended.at.order < limit);
        }
        self.events.retain(|(moment, _)| moment.order < limit);
        self
    }

    /// Whether the backend lost a part of it.
    pub fn has_roll_back(&self) -> bool {
        let mut events = self.events.iter();
        events.any(|(_, event)| matches!(event, Event::RolledBack { .. }))
    }
}

impl Record {
    /// The answer, if the call succeeded. `None` for a wait that brought nothing although a message was leased to it:
    /// that message came too late.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.ended.as_ref()?.outcome {
            CallEnd::Ok(Answer::Leased(leased))
                if leased.is_empty() && self.call.is_wait() && !self.executed.is_empty() =>
            {
                None
            }
            CallEnd::Ok(answer) => Some(answer),
            _ => None,
        }
    }

    /// Whether the call is a wait that brought nothing but a hint.
    pub(crate) fn only_waited(&self) -> bool {
        let brings =
            |answer: &Answer| matches!(answer, Answer::Leased(leased) if !leased.is_empty());
        self.call.is_wait() && !self.answer().is_some_and(brings)
    }
}
