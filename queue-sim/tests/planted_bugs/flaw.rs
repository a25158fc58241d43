//! Bugs that any backend can have: a layer in front of a queue that passes on other calls or
//! answers than it gets.

use std::{mem, num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Cancelled, Disposition, Due, Headers, Leased, Outcome, Pushed, QueueName, Result, Rotated,
    Settled, Settlement, Timestamp,
    call::{Answer, Call, Layer, Service},
};
use queue_sim::engine;

const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// A bug in front of every queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flaw {
    /// Every message is due a millisecond too early.
    EarlyByOne,
    /// Treats messages with equal bodies as one.
    EqualBodiesCollide,
    /// Loses headers.
    LosesHeaders,
    /// Reverses a batch.
    BatchBackwards,
    /// Leases for an hour, and sets the right length when the reply has come.
    ClaimsForAnHour,
    /// Repeats each call of unknown outcome.
    RepeatsTheUnknown,
    /// Reports a settlement with a lost lease as done.
    LostMeansDone,
    /// Reports a message as cancelled that was gone.
    GoneMeansCancelled,
    /// Charges an attempt for a defer.
    DeferCharges,
    /// Forgets the delay of a retry.
    RetriesAtOnce,
    /// Returns a time until the next change that is a millisecond too short.
    NextRoundedDown,
    /// Counts releases as retries.
    CountsWrong,
    /// Does not report the messages that the queue dropped for lack of room.
    SilentEviction,
    /// Does not report the messages that a smaller capacity dropped.
    SilentResize,
    /// Reads the newest messages oldest first.
    RecentBackwards,
}

#[async_trait]
impl Layer for Flaw {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        match (self, call) {
            (Self::ClaimsForAnHour, Call::Lease(max, lease_time)) => {
                claim_for_an_hour(&**queue, max, lease_time).await
            }
            (Self::RepeatsTheUnknown, call) => match queue.call(call.clone()).await {
                Err(error) if error.outcome() == Outcome::Unknown => queue.call(call).await,
                answer => answer,
            },
            (flaw, mut call) => {
                flaw.change_call(&mut call);
                let mut answer = queue.call(call).await?;
                flaw.change_answer(&mut answer);
                Ok(answer)
            }
        }
    }
}

async fn claim_for_an_hour(
    queue: &dyn Service,
    max: NonZeroUsize,
    lease_time: Duration,
) -> Result<Answer> {
    let mut answer = queue.call(Call::Lease(max, HOUR)).await?;
    engine::yield_now().await;
    if let Answer::Leased(Leased { deliveries, .. }) = &mut answer
        && !deliveries.is_empty()
    {
        let extensions = deliveries.iter().map(|each| each.receipt.into());
        let extend = Call::Extend(extensions.collect(), lease_time);
        queue.call(extend).await?;
        for delivery in deliveries {
            delivery.time_left = lease_time;
        }
    }
    Ok(answer)
}

impl Flaw {
    fn change_call(self, call: &mut Call) {
        match (self, call) {
            (Self::EarlyByOne, Call::Push(messages)) => {
                let early = |due: Due| match due {
                    Due::After(delay) => Due::After(delay.saturating_sub(MILLISECOND)),
                    Due::At(time) => Due::At(Timestamp::from_millis(time.as_millis().max(1) - 1)),
                };
                for push in messages {
                    push.due = push.due.map(early);
                }
            }
            (Self::EqualBodiesCollide, Call::Push(messages)) => {
                for push in messages {
                    if push.dedup.is_none() && !push.body.is_empty() {
                        *push = push.clone().with_dedup(push.body.clone(), HOUR);
                    }
                }
            }
            (Self::BatchBackwards, Call::Push(messages)) => messages.reverse(),
            (Self::DeferCharges, Call::Settle(each) | Call::SettleAndLease(each, ..)) => {
                for Settlement { disposition, .. } in each {
                    if let Disposition::Defer { delay } = *disposition {
                        let reason = None;
                        *disposition = Disposition::Retry { delay, reason };
                    }
                }
            }
            (Self::RetriesAtOnce, Call::Settle(each) | Call::SettleAndLease(each, ..)) => {
                for Settlement { disposition, .. } in each {
                    if let Disposition::Retry { delay, .. } = disposition {
                        *delay = Duration::ZERO;
                    }
                }
            }
            _ => {}
        }
    }

    fn change_answer(self, answer: &mut Answer) {
        match (self, answer) {
            (Self::LosesHeaders, Answer::Leased(leased) | Answer::SettledAndLeased(_, leased)) => {
                for delivery in &mut leased.deliveries {
                    delivery.headers = Headers::default();
                }
            }
            (Self::BatchBackwards, Answer::Pushed(each)) => each.reverse(),
            (Self::LostMeansDone, Answer::Settled(each) | Answer::SettledAndLeased(each, _)) => {
                for settled in each {
                    if *settled == Settled::LeaseLost {
                        *settled = Settled::Done;
                    }
                }
            }
            (Self::GoneMeansCancelled, Answer::Cancelled(each)) => each.fill(Cancelled::Cancelled),
            (
                Self::NextRoundedDown,
                Answer::Leased(Leased { next, .. })
                | Answer::SettledAndLeased(_, Leased { next, .. })
                | Answer::Rotated(Rotated { next, .. })
                | Answer::Next(next),
            ) => *next = next.map(|next| next.saturating_sub(MILLISECOND)),
            (Self::CountsWrong, Answer::Counters(counters)) => {
                counters.retried += mem::take(&mut counters.released);
            }
            (Self::SilentEviction, Answer::Pushed(each)) => {
                for pushed in each {
                    if let Pushed::Evicted { id, .. } = *pushed {
                        *pushed = Pushed::Accepted(id);
                    }
                }
            }
            (Self::SilentResize, Answer::Ids(ids)) => ids.clear(),
            (Self::RecentBackwards, Answer::Messages(messages)) => messages.reverse(),
            _ => {}
        }
    }
}
