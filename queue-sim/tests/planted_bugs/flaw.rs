//! Bugs that any backend can have: a layer in front of a queue that passes on other calls or
//! answers than it gets.

use std::{collections::VecDeque, fmt::Debug, mem, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Cancelled, Counters, Disposition, Due, Headers, Leased, Offered, Outcome, Push, QueueName,
    Receipt, Result, Settled, Settlement,
    call::{Answer, Call, Layer, Service},
};
use queue_sim::engine;

const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// A bug in front of a queue.
#[async_trait]
pub(crate) trait Flaw: Debug + Copy + Send + Sync + 'static {
    /// The call to make instead.
    fn ask(self, call: Call) -> Call {
        call
    }

    /// The answer to give instead.
    fn answer(self, answer: Answer) -> Answer {
        answer
    }

    /// By default, makes the one changed call and changes its answer.
    async fn call(self, queue: &dyn Service, call: Call) -> Result<Answer> {
        Ok(self.answer(queue.call(self.ask(call)).await?))
    }
}

/// Puts a flaw in front of every queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flawed<F>(pub(crate) F);

#[async_trait]
impl<F: Flaw> Layer for Flawed<F> {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        self.0.call(&**queue, call).await
    }
}

/// Every message is due a millisecond too early.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlyByOne;

impl Flaw for EarlyByOne {
    fn ask(self, mut call: Call) -> Call {
        let early = |due: Due| match due {
            Due::After(delay) => Due::After(delay.saturating_sub(MILLISECOND)),
            Due::At(time) => Due::At(queue_core::Timestamp::from_millis(
                time.as_millis().max(1) - 1,
            )),
        };
        if let Call::Schedule(messages) = &mut call {
            messages
                .iter_mut()
                .for_each(|message| message.due = early(message.due));
        }
        for push in call.pushes_mut() {
            push.due = push.due.map(early);
        }
        call
    }
}

/// Takes messages with equal bodies for one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EqualBodiesCollide;

impl Flaw for EqualBodiesCollide {
    fn ask(self, mut call: Call) -> Call {
        for push in call.pushes_mut() {
            if push.dedup.is_none() && !push.body.is_empty() {
                *push = push.clone().with_dedup(push.body.clone(), HOUR);
            }
        }
        call
    }
}

/// Loses headers on the way in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LosesHeaders;

impl Flaw for LosesHeaders {
    fn answer(self, mut answer: Answer) -> Answer {
        if let Answer::Leased(leased) | Answer::Turned(_, leased) = &mut answer {
            for delivery in &mut leased.deliveries {
                delivery.headers = Headers::default();
            }
        }
        answer
    }
}

/// Reverses a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchBackwards;

impl Flaw for BatchBackwards {
    fn ask(self, mut call: Call) -> Call {
        match &mut call {
            Call::Enqueue(messages) => messages.reverse(),
            Call::Offer(messages, _) => messages.reverse(),
            call => {
                let mut pushes: VecDeque<&mut Push> = call.pushes_mut().into();
                while let (Some(first), Some(last)) = (pushes.pop_front(), pushes.pop_back()) {
                    mem::swap(first, last);
                }
            }
        }
        call
    }

    fn answer(self, mut answer: Answer) -> Answer {
        match &mut answer {
            Answer::Pushed(each) => each.reverse(),
            Answer::Offered(each) => each.reverse(),
            _ => {}
        }
        answer
    }
}

/// Leases for an hour, and sets the right length when the reply has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimsForAnHour;

#[async_trait]
impl Flaw for ClaimsForAnHour {
    async fn call(self, queue: &dyn Service, call: Call) -> Result<Answer> {
        let Call::Lease(max, ttl) = call else {
            return queue.call(call).await;
        };
        let mut answer = queue.call(Call::Lease(max, HOUR)).await?;
        engine::yield_now().await;
        if let Answer::Leased(Leased { deliveries, .. }) = &mut answer
            && !deliveries.is_empty()
        {
            let receipts: Vec<Receipt> = deliveries.iter().map(|each| each.receipt).collect();
            queue.call(Call::Extend(receipts, ttl)).await?;
            for delivery in deliveries {
                delivery.time_left = ttl;
            }
        }
        Ok(answer)
    }
}

/// Makes each call of unknown outcome again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RepeatsTheUnknown;

#[async_trait]
impl Flaw for RepeatsTheUnknown {
    async fn call(self, queue: &dyn Service, call: Call) -> Result<Answer> {
        match queue.call(call.clone()).await {
            Err(error) if error.outcome() == Outcome::Unknown => queue.call(call).await,
            answer => answer,
        }
    }
}

/// Answers that a settlement with a lost lease is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LostMeansDone;

impl Flaw for LostMeansDone {
    fn answer(self, mut answer: Answer) -> Answer {
        if let Answer::Settled(each) | Answer::Turned(each, _) = &mut answer {
            for settled in each {
                if *settled == Settled::LeaseLost {
                    *settled = Settled::Done;
                }
            }
        }
        answer
    }
}

/// Answers that a message is cancelled that was there no longer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoneMeansCancelled;

impl Flaw for GoneMeansCancelled {
    fn answer(self, mut answer: Answer) -> Answer {
        if let Answer::Cancelled(each) = &mut answer {
            each.fill(Cancelled::Cancelled);
        }
        answer
    }
}

/// Charges an attempt for a defer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeferCharges;

impl Flaw for DeferCharges {
    fn ask(self, call: Call) -> Call {
        disposing(call, |disposition| match disposition {
            Disposition::Defer { delay } => Disposition::Retry {
                delay,
                reason: None,
            },
            other => other,
        })
    }
}

/// Forgets the delay of a retry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetriesAtOnce;

impl Flaw for RetriesAtOnce {
    fn ask(self, call: Call) -> Call {
        disposing(call, |disposition| match disposition {
            Disposition::Retry { reason, .. } => Disposition::Retry {
                delay: Duration::ZERO,
                reason,
            },
            other => other,
        })
    }
}

fn disposing(mut call: Call, of: impl Fn(Disposition) -> Disposition) -> Call {
    if let Call::Settle(each) | Call::Turn(each, ..) = &mut call {
        for Settlement { disposition, .. } in each {
            *disposition = of(disposition.clone());
        }
    }
    call
}

/// Answers the time until the next change a millisecond too short.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NextRoundedDown;

impl Flaw for NextRoundedDown {
    fn answer(self, mut answer: Answer) -> Answer {
        let next = match &mut answer {
            Answer::Leased(leased) | Answer::Turned(_, leased) => &mut leased.next,
            Answer::Rotated(rotated) => &mut rotated.next,
            Answer::Next(next) => next,
            _ => return answer,
        };
        *next = next.map(|next| next.saturating_sub(MILLISECOND));
        answer
    }
}

/// Counts releases as retries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountsWrong;

impl Flaw for CountsWrong {
    fn answer(self, mut answer: Answer) -> Answer {
        if let Answer::Counters(counters) = &mut answer {
            let Counters {
                retried, released, ..
            } = &mut **counters;
            *retried += mem::take(released);
        }
        answer
    }
}

/// Does not answer which messages the queue dropped for lack of room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SilentEviction;

impl Flaw for SilentEviction {
    fn answer(self, mut answer: Answer) -> Answer {
        if let Answer::Offered(each) = &mut answer {
            for offered in each {
                if let Offered::Accepted { evicted, .. } = offered {
                    *evicted = None;
                }
            }
        }
        answer
    }
}

/// Does not answer which messages a smaller capacity dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SilentResize;

impl Flaw for SilentResize {
    fn answer(self, answer: Answer) -> Answer {
        match answer {
            Answer::Ids(_) => Answer::Ids(Vec::new()),
            answer => answer,
        }
    }
}

/// Reads the newest messages oldest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecentBackwards;

impl Flaw for RecentBackwards {
    fn answer(self, mut answer: Answer) -> Answer {
        if let Answer::Messages(messages) = &mut answer {
            messages.reverse();
        }
        answer
    }
}
