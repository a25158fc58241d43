use queue_core::{
    ErrorKind, QueueName, Timestamp,
    call::{Answer, Call},
};

use crate::{engine::End, plan::Lane};

/// How many calls of an instant are kept that never ended.
const OF_AN_INSTANT: usize = 100;

/// A call's number in its history, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// When something happened: its place in the order of everything that happened in the run, and
/// the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment {
    /// Grows with everything that happens, also within a millisecond.
    pub order: u64,
    /// The backend's time; of an execution, the time that it was told.
    pub at: Timestamp,
}

/// One call of a history.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// Which call.
    pub id: CallId,
    /// Whose.
    pub lane: Lane,
    /// On which queue.
    pub queue: QueueName,
    /// What was asked.
    pub call: Call,
    /// When it began.
    pub began: Moment,
    /// When and how it ended for its caller; `None` if it never did.
    pub ended: Option<Ended>,
    /// When the backend executed it: once as a rule, never if it got lost on the way, more than
    /// once if it was repeated or is not atomic. Not known of calls in real time, see
    /// [`History::has_truth`].
    pub executed: Vec<Moment>,
}

/// How a call ended for its caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ended {
    /// When.
    pub at: Moment,
    /// How.
    pub outcome: Outcome,
}

/// What a caller knows of a call that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was executed, and this came back.
    Ok(Answer),
    /// It failed, and is said not to have been executed.
    NotApplied(ErrorKind, String),
    /// It failed, and may or may not have been executed.
    Unknown(ErrorKind, String),
    /// Its future was dropped: cancelled, or its lane crashed.
    Dropped,
}

/// Something that happened beside the calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// A lane crashed and lost what it knew.
    Crashed(Lane),
    /// A lane stood still until this time.
    Stalled(Lane, Timestamp),
    /// A lane had an effect on something outside of the queue: which, and on what.
    Effect(Lane, String),
    /// A lane left out an effect on something outside of the queue: which, on what, and why.
    Spared(Lane, String),
    /// A handler of a lane failed, or panicked: what it said.
    Failed(Lane, String),
    /// A lane sent the server a command of its own, beside the queues: what was executed, and the
    /// reply.
    Command(Lane, String),
    /// A fault struck: its name, and whom.
    Fault(&'static str, Lane),
    /// What the backend executed from this moment on is undone: a failover or a power loss, and
    /// the receipts of the lost history must match nothing (R1).
    RolledBack {
        /// The order of the last execution that survived.
        to: u64,
    },
    /// The faults are over: from here on everything must go well (L7).
    Healed,
    /// A bounded queue held so many messages, right after an execution.
    Length(QueueName, u64),
    /// A rule that was seen to be broken while the run went on, and how.
    Broken(&'static str, String),
}

/// A run, written down.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct History {
    /// Every call, in the order of beginning.
    pub records: Vec<Record>,
    /// What else happened, in order.
    pub events: Vec<(Moment, Event)>,
    /// Whether [`Record::executed`] is known.
    pub has_truth: bool,
}

impl History {
    /// Where something happens next: after everything so far.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// The order of the moment at which the faults were over.
    pub(crate) fn healed(&self) -> Option<u64> {
        let mut events = self.events.iter();
        let healed = events.find(|(_, event)| matches!(event, Event::Healed));
        healed.map(|(moment, _)| moment.order)
    }

    /// How many calls there are, without those of the drain at its end.
    pub(crate) fn operations(&self) -> usize {
        let healed = self.healed().unwrap_or(u64::MAX);
        let records = self.records.iter();
        records.filter(|record| record.began.order < healed).count()
    }

    /// Of a run that went on and on without any time passing: what came before that, and the first
    /// calls of it. The rest says the same again, a hundred thousand times.
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

    /// Whether nothing was called.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl Record {
    /// What came back, if it ended well.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.ended.as_ref()?.outcome {
            Outcome::Ok(answer) => Some(answer),
            _ => None,
        }
    }
}
