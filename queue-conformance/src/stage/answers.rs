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
        let accepted: Vec<bool> = match answer {
            Answer::Pushed(pushed) => pushed.iter().map(|one| !one.is_duplicate()).collect(),
            Answer::Offered(offered) => {
                let accepts = |one: &Offered| {
                    matches!(one, Offered::Accepted { .. } | Offered::Replaced { .. })
                };
                offered.iter().map(accepts).collect()
            }
            _ => return,
        };
        let pushes = call.pushes().unwrap_or_default();
        for (push, accepted) in pushes.into_iter().zip(accepted) {
            match push
                .time_to_live
                .filter(|_| accepted)
                .map(|lease_time| lease_time.then)
            {
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
        (call, Answer::Pushed(pushed)) => {
            each(call.pushes().map_or(0, |pushes| pushes.len()), pushed.len());
            counts.accepted += accepted(pushed);
        }
        (Call::Offer(messages, _), Answer::Offered(offered)) => {
            each(messages.len(), offered.len());
            for offered in offered {
                match offered {
                    Offered::Accepted { evicted, .. } => {
                        counts.accepted += 1;
                        counts.evicted += u64::from(evicted.is_some());
                    }
                    Offered::Replaced { .. } => {
                        counts.accepted += 1;
                        counts.replaced += 1;
                    }
                    Offered::Duplicate(_) | Offered::Full => {}
                }
            }
        }
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
        (Call::Revive(ids), Answer::Revived(revived)) => {
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

fn accepted(pushed: &[Pushed]) -> u64 {
    let accepted = pushed.iter().filter(|pushed| !pushed.is_duplicate());
    accepted.count() as u64
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
