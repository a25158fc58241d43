//! Handwritten histories.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    QueueConfig,
    call::{Answer, Call},
    *,
};
use queue_sim::{
    check::{Budget, CheckInput, Finding, Verdict},
    engine::End,
    history::{CallEnd, CallId, Ended, Event, History, Moment, Record},
    model::Model,
    plan::Process,
    world::EPOCH,
};

/// The time of a lease, in ms.
pub(crate) const LEASE_TIME: u64 = 100;

/// A history in the making. Calls get the model's answers, unless the test sets others.
#[derive(Debug)]
pub(crate) struct HistoryBuilder {
    config: QueueConfig,
    model: Model,
    history: History,
    order: u64,
    now: u64,
    pub(crate) end: End,
    pub(crate) slack: Option<Duration>,
}

impl HistoryBuilder {
    pub(crate) fn of(config: QueueConfig) -> Self {
        Self {
            model: Model::new(&config),
            config,
            history: History {
                has_truth: true,
                ..History::default()
            },
            order: 0,
            now: 0,
            end: End::Finished,
            slack: None,
        }
    }

    pub(crate) fn reliable() -> Self {
        let config = ReliableConfig::default().with_max_attempts(2);
        Self::of(QueueConfig::Reliable(config.with_dead_letter_cap(2)))
    }

    /// A reliable queue with one message, which is leased.
    pub(crate) fn leased() -> (Self, Delivery) {
        let mut history = Self::reliable();
        history.push("a");
        let first = history.take();
        (history, first)
    }

    /// This many ms later.
    pub(crate) fn after(&mut self, ms: u64) -> &mut Self {
        self.now += ms;
        self
    }

    pub(crate) fn moment(&mut self) -> Moment {
        self.order += 1;
        Moment {
            order: self.order,
            at: EPOCH.plus_millis(self.now),
        }
    }

    /// Makes a call, with the model's answer.
    pub(crate) fn call(&mut self, call: Call) -> Answer {
        let answer = self.model.apply(EPOCH.plus_millis(self.now), &call);
        let answer = answer.unwrap_or_else(|kind| panic!("{call:?} is {kind:?}"));
        self.record(call, Some(CallEnd::Ok(answer.clone())), true);
        answer
    }

    /// Makes a call that the backend executes, with this answer.
    pub(crate) fn says(&mut self, call: Call, answer: Answer) {
        let _ = self.model.apply(EPOCH.plus_millis(self.now), &call);
        self.record(call, Some(CallEnd::Ok(answer)), true);
    }

    /// Makes a call with this answer that changes nothing.
    pub(crate) fn claims(&mut self, call: Call, answer: Answer) {
        self.record(call, Some(CallEnd::Ok(answer)), true);
    }

    /// Makes a call whose answer is lost.
    pub(crate) fn loses(&mut self, call: Call, executed: bool) {
        if executed {
            let _ = self.model.apply(EPOCH.plus_millis(self.now), &call);
        }
        let outcome = CallEnd::Unknown(ErrorKind::Unavailable, "no reply".to_owned());
        self.record(call, Some(outcome), executed);
    }

    pub(crate) fn record(&mut self, call: Call, outcome: Option<CallEnd>, executed: bool) {
        let began = self.moment();
        let executed = if executed {
            vec![self.moment()]
        } else {
            Vec::new()
        };
        let ended = outcome.map(|outcome| Ended {
            at: self.moment(),
            outcome,
        });
        self.history.records.push(Record {
            id: CallId(self.history.records.len() as u64 + 1),
            process: Process(1),
            queue: QueueName::new("queue").unwrap(),
            call,
            began,
            ended,
            executed,
        });
    }

    pub(crate) fn last(&mut self) -> &mut Record {
        self.history.records.last_mut().expect("a call was made")
    }

    pub(crate) fn last_two(&mut self) -> (&mut Record, &mut Record) {
        match &mut self.history.records[..] {
            [.., first, second] => (first, second),
            _ => panic!("two calls were made"),
        }
    }

    pub(crate) fn event(&mut self, event: Event) {
        let at = self.moment();
        self.history.events.push((at, event));
    }

    pub(crate) fn push(&mut self, body: &'static str) -> MessageId {
        self.put(push(body))
    }

    /// Makes this call, which pushes one message.
    pub(crate) fn put(&mut self, call: Call) -> MessageId {
        match self.call(call) {
            Answer::Pushed(pushed) => pushed[0].id().expect("there is room"),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn lease(&mut self) -> Vec<Delivery> {
        match self.call(lease(1)) {
            Answer::Leased(leased) => leased.deliveries,
            other => panic!("{other:?}"),
        }
    }

    /// Leases a message that must be there.
    pub(crate) fn take(&mut self) -> Delivery {
        self.lease().remove(0)
    }

    pub(crate) fn settle(&mut self, settlement: Settlement) -> Answer {
        self.call(Call::Settle(vec![settlement]))
    }

    fn case<'a>(&'a self, history: &'a History) -> CheckInput<'a> {
        CheckInput {
            config: &self.config,
            history,
            end: &self.end,
            slack: self.slack,
        }
    }

    fn check(&self, history: &History) -> Verdict {
        self.case(history).check(Budget::default())
    }

    pub(crate) fn verdict(&self, budget: Budget) -> Verdict {
        self.case(&self.history).check(budget)
    }

    /// No rule breaks.
    pub(crate) fn holds(&self) {
        assert_eq!(self.check(&self.history), Verdict::Holds);
        assert_eq!(self.blind(), []);
    }

    /// The findings without the truth of what the backend executed when.
    fn blind(&self) -> Vec<Finding> {
        let mut history = self.history.clone();
        history.has_truth = false;
        history.tokens_tell_order = true;
        for record in &mut history.records {
            record.executed.clear();
        }
        match self.check(&history) {
            Verdict::Holds => Vec::new(),
            Verdict::Broken(violations) => violations,
            Verdict::Inconclusive => panic!("nothing is searched for without truth"),
        }
    }

    /// This rule breaks first, also without the truth.
    pub(crate) fn breaks(&self, rule: &str) {
        self.breaks_first(rule);
        let blind = self.blind();
        let found = blind.iter().any(|finding| finding.rule == rule);
        assert!(found, "{rule} is not among {blind:#?}");
    }

    /// This rule breaks first; the checks need the truth to find it.
    pub(crate) fn breaks_first(&self, rule: &str) {
        let Verdict::Broken(violations) = self.check(&self.history) else {
            panic!("{rule} is not seen to be broken");
        };
        assert_eq!(violations[0].rule, rule, "{violations:#?}");
    }
}

pub(crate) fn push(body: &'static str) -> Call {
    Call::Push(vec![Push::new(body)])
}

/// A push under a dedup key, for 50 ms.
pub(crate) fn keyed(body: &'static str) -> Call {
    Call::Push(vec![Push::new(body).with_dedup("key", ms(50))])
}

pub(crate) fn lease(max: usize) -> Call {
    Call::Lease(NonZeroUsize::new(max).unwrap(), ms(LEASE_TIME))
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn leased(delivery: &Delivery) -> Answer {
    Answer::Leased(Leased::of(vec![delivery.clone()]))
}

/// The same delivery with a later token.
pub(crate) fn again(delivery: &Delivery, later: u64) -> Delivery {
    let mut again = delivery.clone();
    let token = Token::new(again.receipt.token.get() + later * Token::PER_MILLI);
    again.receipt.token = token;
    again
}
