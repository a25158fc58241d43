//! A worker's counts, made from its events alone.

use super::{
    event::{CallKind, Event},
    guard::AbnormalEnd,
    handler_result::HandlerResult,
    outcome::DeliveryOutcome,
};

/// A worker's counts since its start.
///
/// Once the worker has ended, every delivery has one outcome:
/// `leased = acked + retried + deferred + released + died + lost + unconfirmed + unsettled + abandoned`,
/// which [`balance`](Self::balance) checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Deliveries taken.
    pub leased: u64,
    /// Deliveries handed to a handler.
    pub started: u64,
    /// Settled as done.
    pub acked: u64,
    /// Settled as failed, to be delivered again.
    pub retried: u64,
    /// Settled as deferred, the attempt refunded.
    pub deferred: u64,
    /// Given back at shutdown, the attempt refunded.
    pub released: u64,
    /// Ended in the dead letters: buried, or failed on their last attempt.
    pub died: u64,
    /// Leases lost before the handler started or ended, or before the backend settled its result.
    pub lost: u64,
    /// Settlements whose reply was lost, and whose repetition found no lease or got no reply: either they
    /// took effect or the lease was lost.
    pub unconfirmed: u64,
    /// Results that the worker could not settle while their lease lived.
    pub unsettled: u64,
    /// Deliveries whose handler did not stop when the worker cut it off; their leases expire.
    pub abandoned: u64,
    /// Handlings that panicked, also in a drop or when the worker cut them off. They count above as well.
    pub panicked: u64,
    /// Handlings that took longer than the timeout. They count above as well.
    pub timed_out: u64,
    /// Attempts whose body did not decode, so no handler ran. They count above as well.
    pub undecodable: u64,
    /// Delays for which the rule of [`Backoff::custom`](super::Backoff::custom) panicked. The
    /// worker took the default.
    pub backoff_panics: u64,
    /// Settlements, progress and extensions that the backend refused for good while it took those of other messages.
    /// The deliveries count above as well: a message whose settlement was refused is buried, so it `died`.
    pub refused: u64,
    /// Leases extended.
    pub extended: u64,
    /// Calls of `settle_and_lease` and `settle`: round trips, on a backend that needs one for each.
    pub calls: u64,
    /// Calls of `extend`, each for many leases.
    pub heartbeats: u64,
    /// Calls that failed, of every verb.
    pub errors: u64,
    /// Times that heartbeats of a queue were late by half a lease or more, because a handler blocked the worker's
    /// thread, or the process stood still.
    pub held_up: u64,
}

impl Counts {
    /// Whether every delivery has one outcome. It holds once the worker has ended.
    pub const fn balance(&self) -> bool {
        let ended = self.acked
            + self.retried
            + self.deferred
            + self.released
            + self.died
            + self.lost
            + self.unconfirmed
            + self.unsettled
            + self.abandoned;
        self.leased == ended
    }

    /// Deliveries that ended without the backend's confirmation that it settled them.
    pub(crate) const fn open(&self) -> u64 {
        self.abandoned + self.lost + self.unsettled + self.unconfirmed
    }

    pub(crate) fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Called {
                verb: CallKind::SettleAndLease,
            } => self.calls += 1,
            Event::Called {
                verb: CallKind::Extend,
            } => self.heartbeats += 1,
            Event::Failed { .. } => self.errors += 1,
            Event::Refused { .. } => self.refused += 1,
            Event::Leased { .. } => self.leased += 1,
            Event::Started { .. } => self.started += 1,
            Event::Ended { ending, .. } => match ending {
                Some(HandlerResult::Undecodable(_)) => self.undecodable += 1,
                Some(HandlerResult::Abnormal(AbnormalEnd::Panicked(_))) => self.panicked += 1,
                Some(HandlerResult::Abnormal(AbnormalEnd::TimedOut(_))) => self.timed_out += 1,
                Some(HandlerResult::Returned(_)) | None => {}
            },
            Event::NoDelay { .. } => self.backoff_panics += 1,
            Event::HeldUp { .. } => self.held_up += 1,
            Event::Extended { leases } => self.extended += *leases as u64,
            _ => {}
        }
        if let Some((fate, _)) = DeliveryOutcome::of(event) {
            *match fate {
                DeliveryOutcome::Acked => &mut self.acked,
                DeliveryOutcome::Retried => &mut self.retried,
                DeliveryOutcome::Deferred => &mut self.deferred,
                DeliveryOutcome::Released => &mut self.released,
                DeliveryOutcome::Died => &mut self.died,
                DeliveryOutcome::Lost => &mut self.lost,
                DeliveryOutcome::Unconfirmed => &mut self.unconfirmed,
                DeliveryOutcome::Unsettled => &mut self.unsettled,
                DeliveryOutcome::Abandoned => &mut self.abandoned,
            } += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_miss_an_outcome_do_not_balance() {
        let mut counts = Counts {
            leased: 2,
            acked: 1,
            ..Counts::default()
        };
        assert!(!counts.balance());
        counts.lost = 1;
        assert!(counts.balance());
        counts.died = 1;
        assert!(!counts.balance());
    }

    #[test]
    fn each_delivery_that_no_settlement_ended_is_open() {
        let counts = Counts {
            abandoned: 1,
            lost: 10,
            unsettled: 100,
            unconfirmed: 1_000,
            ..Counts::default()
        };
        assert_eq!(counts.open(), 1_111);
    }
}
