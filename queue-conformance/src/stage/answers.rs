//! The sums of a queue's answers (L5).

use queue_core::{
    call::{Answer, Call},
    *,
};

/// The counts that a queue's answers prove, and the number of further messages that may have ended without an answer.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) counts: Counters,
    /// The accepted messages that the queue is to drop at their ends (L17).
    pub(super) to_drop: u64,
    /// The accepted messages that the queue is to bury at their ends (L17).
    pub(super) to_bury: u64,
    /// The waits for a message that brought none. A message that is handed over to such a wait is released.
    pub(super) waited_in_vain: u64,
}

impl Answered {
    /// Adds the answer to a call, which has one answer for each entry of the call.
    pub(super) fn record(&mut self, call: &Call, answer: &Answer) {
        self.record_ends(call, answer);
        record(call, answer, &mut self.counts);
    }

    /// Adds the messages that were accepted with a time to live (L17).
    fn record_ends(&mut self, call: &Call, answer: &Answer) {
        let (Call::Push(pushes), Answer::Pushed(pushed)) = (call, answer) else {
            return;
        };
        for (push, pushed) in pushes.iter().zip(pushed) {
            let time_to_live = push.time_to_live.filter(|_| is_accepted(*pushed));
            match time_to_live.map(|limit| limit.then) {
                Some(Outdated::Drop) => self.to_drop += 1,
                Some(Outdated::Bury) => self.to_bury += 1,
                None => {}
            }
        }
    }
}

fn record(call: &Call, answer: &Answer, counts: &mut Counters) {
    let each = |entries: usize, answers: usize| {
        assert_eq!(answers, entries, "one answer for each entry");
    };
    match (call, answer) {
        (Call::Push(messages), Answer::Pushed(pushed)) => {
            each(messages.len(), pushed.len());
            for pushed in pushed {
                counts.accepted += u64::from(is_accepted(*pushed));
                counts.evicted += u64::from(matches!(pushed, Pushed::Evicted { .. }));
                counts.replaced += u64::from(matches!(pushed, Pushed::Replaced { .. }));
            }
        }
        (Call::Reschedule(ids, _), Answer::Rescheduled(moved)) => each(ids.len(), moved.len()),
        (Call::Resize(_), Answer::Ids(dropped)) => counts.evicted += dropped.len() as u64,
        (Call::Cancel(ids), Answer::Cancelled(cancelled)) => {
            each(ids.len(), cancelled.len());
            let gone = cancelled.iter().filter(|one| **one == Cancelled::Cancelled);
            counts.cancelled += gone.count() as u64;
        }
        (Call::Peek(place, page), Answer::Peeked(paged)) => check_page(*place, page.limit, paged),
        (Call::Lease(max, _), Answer::Leased(leased)) => {
            assert!(
                leased.deliveries.len() <= max.get(),
                "no more than asked for"
            );
            assert!(
                leased.is_empty() || leased.next.is_none(),
                "`next` is answered only when nothing is handed out: {leased:?}"
            );
        }
        (Call::Settle(batch), Answer::Settled(settled))
        | (Call::SettleAndLease(batch, ..), Answer::SettledAndLeased(settled, _)) => {
            each(batch.len(), settled.len());
            for (settlement, settled) in batch.iter().zip(settled) {
                record_settled(&settlement.disposition, *settled, counts);
            }
        }
        (Call::Revive(ids, _), Answer::Revived(revived)) => {
            each(ids.len(), revived.len());
            let back = revived.iter().filter(|one| **one == Revived::Revived);
            counts.revived += back.count() as u64;
        }
        (Call::Discard(_), Answer::Count(count)) => counts.discarded += count,
        (Call::Purge(_), Answer::Count(count)) => counts.purged += count,
        _ => {}
    }
}

/// Fails unless the page keeps to its limits, and shows messages of this place alone.
fn check_page(place: Place, limit: usize, paged: &Paged<Peeked>) {
    let Paged { entries, next, .. } = paged;
    assert!(entries.len() <= limit, "no more than asked for");
    assert!(
        next.is_none() || !entries.is_empty(),
        "L16: a page that is not the last has entries"
    );
    let bytes: usize = entries.iter().map(Peeked::size).sum();
    assert!(
        bytes <= limits::MAX_BATCH_BYTES || entries.len() == 1,
        "L16: a page of {bytes} bytes"
    );
    for peeked in entries {
        let shown = match peeked.standing {
            Standing::Ready => Place::Ready,
            Standing::Delayed { .. } => Place::Delayed,
            Standing::Leased { receipt, .. } => {
                assert_eq!(receipt.id, peeked.message.id, "L16: another's receipt");
                Place::Leased
            }
        };
        assert_eq!(shown, place, "L16: {:?}", peeked.message.id);
    }
}

fn is_accepted(pushed: Pushed) -> bool {
    !matches!(pushed, Pushed::Duplicate(_) | Pushed::Full)
}

fn record_settled(disposition: &Disposition, settled: Settled, counts: &mut Counters) {
    match (settled, disposition) {
        (Settled::LeaseLost, _) => {}
        (Settled::Dead, _) => counts.died += 1,
        (Settled::Done, Disposition::Ack | Disposition::AckWith(_)) => counts.acked += 1,
        (Settled::Done, Disposition::Retry { .. }) => counts.retried += 1,
        (Settled::Done, Disposition::Defer { .. }) => counts.deferred += 1,
        (Settled::Done, Disposition::Release) => counts.released += 1,
        (Settled::Done, Disposition::Bury { .. }) => panic!("L6: a burial answers Dead"),
    }
}
