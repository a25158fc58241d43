//! What the answers of calls add to the counters of a queue.

use queue_core::{
    Cancelled, Counters, Disposition, QueueConfig, Revived, Settled,
    call::{Answer, Call},
};

use crate::{
    check::{
        branch::Done,
        facts::{Facts, PushFact, What},
        span::Span,
    },
    named::named,
};

/// The least and the most that a call adds to the queue's counters.
pub(super) struct Balance {
    pub(super) span: Span,
    pub(super) what: Count,
    pub(super) least: u64,
    pub(super) most: u64,
}

named! {
    /// A counter that the answers of calls add up to.
    pub(super) enum Count {
        Accepted = "accepted",
        Acked = "acked",
        Retried = "retried",
        Deferred = "deferred",
        Released = "released",
        Revived = "revived",
        Evicted = "evicted",
        Replaced = "replaced",
        Cancelled = "cancelled",
        Discarded = "discarded",
        Purged = "purged",
    }
}

impl Count {
    pub(super) const fn of(self, counters: &Counters) -> u64 {
        match self {
            Self::Accepted => counters.accepted,
            Self::Acked => counters.acked,
            Self::Retried => counters.retried,
            Self::Deferred => counters.deferred,
            Self::Released => counters.released,
            Self::Revived => counters.revived,
            Self::Evicted => counters.evicted,
            Self::Replaced => counters.replaced,
            Self::Cancelled => counters.cancelled,
            Self::Discarded => counters.discarded,
            Self::Purged => counters.purged,
        }
    }
}

pub(super) fn sums(facts: &Facts<'_>) -> Vec<Balance> {
    let mut sums = Vec::new();
    let mut add = |span, what, least, most| {
        sums.push(Balance {
            span,
            what,
            least,
            most,
        });
    };
    for push in &facts.pushes {
        match push.put {
            Some(PushFact::Accepted(_)) => add(push.span, Count::Accepted, 1, 1),
            Some(_) => {}
            None => add(push.span, Count::Accepted, 0, 1),
        }
    }
    for happened in facts.lives().flat_map(|life| life.iter()) {
        if let Some((what, is_sure)) = of_message(&happened.what) {
            add(happened.span, what, u64::from(is_sure), 1);
        }
    }
    for (done, span) in facts.calls() {
        if facts.may_bring_too_late(done) {
            add(span.or_later(), Count::Released, 0, 1);
        }
        of_call(done, |what, least, most| add(span, what, least, most));
    }
    sums
}

/// What an event of a message counts as, and whether it surely took effect.
fn of_message(what: &What<'_>) -> Option<(Count, bool)> {
    match what {
        What::Settled(_, disposition, settled) => {
            let what = match disposition {
                Disposition::Ack | Disposition::AckWith(_) => Count::Acked,
                Disposition::Retry { .. } => Count::Retried,
                Disposition::Defer { .. } => Count::Deferred,
                Disposition::Release => Count::Released,
                Disposition::Bury { .. } => return None,
            };
            let may_count = settled.is_none_or(|settled| settled == Settled::Done);
            may_count.then_some((what, settled.is_some()))
        }
        What::Cancelled(answer) => {
            let may_count = answer.is_none_or(|answer| answer == Cancelled::Cancelled);
            may_count.then_some((Count::Cancelled, answer.is_some()))
        }
        What::Revived(answer) => {
            let may_count = answer.is_none_or(|answer| answer == Revived::Revived);
            may_count.then_some((Count::Revived, answer.is_some()))
        }
        What::Evicted | What::Dropped => Some((Count::Evicted, true)),
        What::Replaced => Some((Count::Replaced, true)),
        _ => None,
    }
}

/// What a call counts for messages that its answer does not name.
fn of_call(done: &Done<'_>, mut add: impl FnMut(Count, u64, u64)) {
    const ALL: u64 = u32::MAX as u64;
    // The answer of this call does not name the dropped messages.
    if matches!(
        done.record.call,
        Call::OpenOrResize(_) | Call::Reconfigure(QueueConfig::Bounded(_))
    ) {
        add(Count::Evicted, 0, ALL);
    }
    if let Some(Answer::Count(count)) = done.answer {
        match done.record.call {
            Call::Discard(_) => add(Count::Discarded, *count, *count),
            Call::Purge(_) => add(Count::Purged, *count, *count),
            _ => {}
        }
    }
    let unseen = done.executed.len().max(1) as u64 - u64::from(done.answer.is_some());
    if unseen == 0 {
        return;
    }
    match &done.record.call {
        Call::Discard(ids) => add(Count::Discarded, 0, unseen * ids.len() as u64),
        Call::Purge(max) => add(Count::Purged, 0, unseen * max.get() as u64),
        Call::Resize(_) => add(Count::Evicted, 0, ALL),
        Call::Push(messages) => {
            add(Count::Evicted, 0, unseen * messages.len() as u64);
            add(Count::Replaced, 0, unseen * messages.len() as u64);
        }
        _ => {}
    }
}
