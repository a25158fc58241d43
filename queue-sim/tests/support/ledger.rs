//! The account of what clients did in real time, on real threads and servers: each call with its answer, and when
//! failovers and removals came. The rules of the simulator judge it, each surviving history of the queue alone (R1).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use queue_core::{
    AnyQueue, Bytes, Counters, ErrorKind, Guarantees, QueueConfig, QueueName, Settled, Timestamp,
    Token,
    call::{Answer, Call, Layer},
};
use queue_sim::{
    check::{Budget, CheckInput, Finding, Verdict},
    engine::End,
    history::{CallEnd, CallId, History, Journal, Moment, Record, Recorder},
    plan::Process,
    report::timeline,
};

/// Longer histories are not shown whole.
const SHOWN: usize = 1_000;

/// The place of a partition's number in the ids of its messages.
const PARTITION: u32 = 56;

/// The calls of a queue's clients, and the events that ended or undid some of its history.
#[derive(Debug)]
pub(crate) struct Ledger {
    name: QueueName,
    config: QueueConfig,
    /// The rules that the queue keeps as a whole, and not only in each partition.
    guarantees: Guarantees,
    journal: Journal,
    /// The queue's counters before the first call.
    before: Counters,
    marks: Mutex<Marks>,
}

#[derive(Debug, Default)]
struct Marks {
    failovers: Vec<Spell>,
    removals: Vec<Spell>,
    /// Processes whose last call before this place in the order is known to be at a replica (R2).
    confirmed: Vec<(Process, u64)>,
    /// Calls of other programs, each with a moment before it.
    heard: Vec<(CallId, Moment)>,
}

/// From one place in the order of the run to another.
#[derive(Debug, Clone, Copy)]
struct Spell {
    begin: u64,
    end: u64,
}

/// The number of messages that failovers and removals affected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Toll {
    pub(crate) accepted: usize,
    /// Pushes and acks that are known to be at a replica.
    pub(crate) confirmed: usize,
    /// Acknowledged pushes whose messages nobody acked.
    pub(crate) lost: usize,
}

/// The place in the order at which the call ended.
fn ended(record: &Record) -> u64 {
    record
        .ended
        .as_ref()
        .map_or(u64::MAX, |ended| ended.at.order)
}

impl Ledger {
    /// An empty account of a queue that counts this, and holds nothing.
    pub(crate) fn new(
        name: QueueName,
        config: QueueConfig,
        guarantees: Guarantees,
        before: Counters,
    ) -> Self {
        assert_eq!(before.depth.occupied() + before.depth.dead, 0);
        Self {
            name,
            config,
            guarantees,
            journal: Journal::new(Timestamp::from_millis(1_000), false),
            before,
            marks: Mutex::default(),
        }
    }

    pub(crate) const fn name(&self) -> &QueueName {
        &self.name
    }

    pub(crate) const fn config(&self) -> &QueueConfig {
        &self.config
    }

    /// The recorder of a client, which makes one call at a time.
    pub(crate) fn recorder(&self, number: usize) -> Recorder {
        Recorder::new(process(number), self.journal.clone())
    }

    /// The queue as a client has it.
    pub(crate) fn client(&self, number: usize, queue: &AnyQueue) -> AnyQueue {
        let recorder = Arc::new(self.recorder(number));
        let service = recorder.before(&self.name, Arc::new(queue.clone()));
        AnyQueue::behind(service, queue.kind())
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Moment {
        Moment {
            order: self.journal.order(),
            at: self.journal.now(),
        }
    }

    /// Another program says that it made this call some time after `since`, with this outcome.
    pub(crate) fn heard(&self, number: usize, since: Moment, call: Call, outcome: CallEnd) {
        let id = self.journal.began(process(number), &self.name, call);
        self.journal.ended(id, outcome);
        self.marks().heard.push((id, since));
    }

    /// The last call of this client is known to be at a replica.
    pub(crate) fn confirmed(&self, number: usize) {
        let last = (process(number), self.journal.order());
        self.marks().confirmed.push(last);
    }

    /// A failover begins. All calls answered so far must reach the replica before the primary is struck.
    pub(crate) fn failover_begins(&self) {
        self.begin(|marks| &mut marks.failovers);
    }

    /// There is one primary again, and only another failover can undo its calls.
    pub(crate) fn failover_is_over(&self) {
        self.end(|marks| &mut marks.failovers);
    }

    /// The queue is about to be removed.
    pub(crate) fn removal_begins(&self) {
        self.begin(|marks| &mut marks.removals);
    }

    /// All earlier messages of the queue are gone.
    pub(crate) fn removal_is_over(&self) {
        self.end(|marks| &mut marks.removals);
    }

    fn begin(&self, of: impl Fn(&mut Marks) -> &mut Vec<Spell>) {
        let begin = self.journal.order();
        let end = u64::MAX;
        of(&mut self.marks()).push(Spell { begin, end });
    }

    fn end(&self, of: impl Fn(&mut Marks) -> &mut Vec<Spell>) {
        let order = self.journal.order();
        let mut marks = self.marks();
        of(&mut marks).last_mut().expect("it had begun").end = order;
    }

    /// Fails if a surviving history of the queue breaks a rule. Otherwise counts what became of its messages.
    pub(crate) fn judge(&self) -> Toll {
        let mut whole = self.journal.take();
        whole.tokens_tell_order = true;
        let marks = self.marks();
        for (id, since) in &marks.heard {
            whole.records[id.0 as usize - 1].began = *since;
        }
        marks.check_receipts(&whole);
        let undone = marks.undone(&whole);
        for generation in 0..=marks.removals.len() {
            let mut history = marks.generation(&whole, &undone, generation);
            if generation == 0 {
                self.leave_out_what_was_before(&mut history);
            }
            let keeps = |rule: &str| self.guarantees.keeps(rule);
            let partitions = partitions(&history);
            for partition in partitions.iter().filter(|_| partitions.len() > 1) {
                check(&self.config, of_partition(&history, *partition), |_| true);
            }
            check(&self.config, history, keeps);
        }
        toll(&whole, marks.confirmed.len())
    }

    fn leave_out_what_was_before(&self, history: &mut History) {
        for record in &mut history.records {
            if let Some(ended) = &mut record.ended
                && let CallEnd::Ok(Answer::Counters(counters)) = &mut ended.outcome
            {
                counters.accepted -= self.before.accepted;
                counters.acked -= self.before.acked;
            }
        }
    }

    /// After a panic elsewhere, the test reports that panic, not the poisoned lock.
    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn process(number: usize) -> Process {
    Process(u8::try_from(number + 1).expect("a few clients"))
}

impl Marks {
    /// The calls that a failover may have undone, by their ids: answered during the failover, and not confirmed.
    fn undone(&self, whole: &History) -> BTreeSet<u64> {
        let at_risk = whole.records.iter().filter(|record| {
            let mut failovers = self.failovers.iter();
            failovers.any(|spell| record.began.order <= spell.end && spell.begin < ended(record))
        });
        let mut undone: BTreeSet<u64> = at_risk.map(|record| record.id.0).collect();
        let mut last = BTreeMap::new();
        let mut confirmed = self.confirmed.iter().peekable();
        for record in &whole.records {
            while let Some((process, _)) =
                confirmed.next_if(|(_, order)| *order < record.began.order)
            {
                undone.remove(&last[process]);
            }
            last.insert(record.process, record.id.0);
        }
        for (process, _) in confirmed {
            undone.remove(&last[process]);
        }
        undone
    }

    /// The first and the last history of the queue that the call may belong to: a removal begins the next.
    fn generations(&self, record: &Record) -> (usize, usize) {
        let (began, ended) = (record.began.order, ended(record));
        let over = self.removals.iter().filter(|spell| spell.end < began);
        let begun = self.removals.iter().filter(|spell| spell.begin < ended);
        (over.count(), begun.count())
    }

    /// Fails if a receipt of a removed queue settled (R1). In the history after the removal, that receipt may be one of
    /// a lease that nobody saw.
    fn check_receipts(&self, whole: &History) {
        let mut leased = BTreeMap::new();
        for record in &whole.records {
            let (first, last) = self.generations(record);
            match (&record.call, record.answer()) {
                (_, Some(Answer::Leased(answer))) => {
                    let receipts = answer.deliveries.iter().map(|one| one.receipt);
                    leased.extend(receipts.map(|one| ((one.id, one.token), last)));
                }
                (Call::Settle(settlements), Some(Answer::Settled(settled))) => {
                    for (one, settled) in settlements.iter().zip(settled) {
                        let receipt = one.receipt;
                        let last = leased.get(&(receipt.id, receipt.token));
                        assert!(
                            *settled == Settled::LeaseLost
                                || last.is_none_or(|last| *last >= first),
                            "R1: a receipt of a removed queue settled: {record:?}"
                        );
                    }
                }
                _ => {}
            }
        }
    }

    /// The history of the queue after this many removals. Nobody knows whether it has a call that was undone, or that
    /// was made during a removal.
    fn generation(&self, whole: &History, undone: &BTreeSet<u64>, generation: usize) -> History {
        let mut history = History {
            tokens_tell_order: whole.tokens_tell_order,
            ..History::default()
        };
        for record in &whole.records {
            let (first, last) = self.generations(record);
            if !(first..=last).contains(&generation) {
                continue;
            }
            let mut record = record.clone();
            if let Some(ended) = &mut record.ended
                && matches!(ended.outcome, CallEnd::Ok(_))
                && (first != last || undone.contains(&record.id.0))
            {
                let why = "undone, perhaps".to_owned();
                ended.outcome = CallEnd::Unknown(ErrorKind::Unavailable, why);
            }
            history.records.push(record);
        }
        history
    }
}

/// Fails if the history of the queue breaks one of these rules, and shows the first finding with its calls.
fn check(config: &QueueConfig, mut history: History, keeps: impl Fn(&str) -> bool) {
    for (record, number) in history.records.iter_mut().zip(1..) {
        record.id = CallId(number);
    }
    let case = CheckInput {
        config,
        history: &history,
        end: &End::Finished,
        slack: None,
    };
    let verdict = case.check(Budget::default());
    assert_ne!(
        verdict,
        Verdict::Inconclusive,
        "without the truth no search is made"
    );
    let findings = verdict.findings().iter();
    let findings: Vec<&Finding> = findings.filter(|finding| keeps(&finding.rule)).collect();
    let Some(first) = findings.first() else {
        return;
    };
    let shown = match history.records.len() {
        0..=SHOWN => timeline(config, &history, first, None),
        _ => {
            let records = history.records.iter();
            let shows = records.filter(|record| first.calls.contains(&record.id));
            format!("{first}\n{:#?}", shows.collect::<Vec<_>>())
        }
    };
    panic!("{} rules are broken:\n{shown}", findings.len());
}

/// The partitions that accepted messages.
fn partitions(history: &History) -> BTreeSet<u64> {
    let answers = history.records.iter().filter_map(Record::answer);
    let pushed = answers.filter_map(|answer| match answer {
        Answer::Pushed(pushed) => Some(pushed),
        _ => None,
    });
    let ids = pushed.flatten().filter_map(|pushed| pushed.id());
    ids.map(|id| id.get() >> PARTITION).collect()
}

/// The history of one partition: the messages of a push have one, and leases of several are cut.
fn of_partition(history: &History, partition: u64) -> History {
    let is_here = |id: queue_core::MessageId| id.get() >> PARTITION == partition;
    let mut part = history.clone();
    part.records.retain_mut(|record| {
        if let Call::Settle(settlements) = &record.call {
            return settlements.iter().all(|one| is_here(one.receipt.id));
        }
        let Some(CallEnd::Ok(answer)) = record.ended.as_mut().map(|ended| &mut ended.outcome)
        else {
            return true;
        };
        match answer {
            Answer::Pushed(pushed) => pushed.iter().filter_map(|one| one.id()).all(is_here),
            Answer::Leased(leased) => {
                leased.deliveries.retain(|one| is_here(one.receipt.id));
                true
            }
            // They are of the whole queue.
            _ => false,
        }
    });
    part
}

fn toll(whole: &History, confirmed: usize) -> Toll {
    let mut bodies: BTreeMap<Token, &Bytes> = BTreeMap::new();
    let (mut accepted, mut done) = (BTreeSet::new(), BTreeSet::new());
    let lost = Answer::Settled(vec![Settled::LeaseLost]);
    for record in &whole.records {
        match (&record.call, record.answer()) {
            (Call::Push(messages), Some(_)) => {
                accepted.extend(messages.iter().map(|push| &push.body));
            }
            (Call::Settle(acks), answer) if answer != Some(&lost) => {
                let tokens = acks.iter().map(|ack| ack.receipt.token);
                done.extend(tokens.filter_map(|token| bodies.get(&token).copied()));
            }
            (_, Some(Answer::Leased(leased))) => {
                let deliveries = leased.deliveries.iter();
                bodies.extend(deliveries.map(|one| (one.receipt.token, &one.body)));
            }
            _ => {}
        }
    }
    Toll {
        accepted: accepted.len(),
        confirmed,
        lost: accepted.difference(&done).count(),
    }
}
