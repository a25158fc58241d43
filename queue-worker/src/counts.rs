//! What a worker has done, counted from its events alone.

use super::{
    event::{Event, Verb},
    fate::Fate,
    guard::Broken,
    handler::Ending,
};

/// What a worker has done since it was started.
///
/// When it has ended, every delivery has come to one end:
/// `leased = acked + retried + deferred + released + died + lost + unconfirmed + unsettled +
/// abandoned`, which [`balance`](Self::balance) checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Deliveries taken.
    pub leased: u64,
    /// Deliveries given to a handler.
    pub started: u64,
    /// Settled as done.
    pub acked: u64,
    /// Settled as failed, to come again.
    pub retried: u64,
    /// Settled as deferred, the attempt refunded.
    pub deferred: u64,
    /// Given back at shutdown, the attempt refunded.
    pub released: u64,
    /// Ended among the dead letters: buried, or failed on their last attempt.
    pub died: u64,
    /// Leases lost before the handler was started or ended, or before its result was settled.
    pub lost: u64,
    /// Settlements whose reply was lost, and whose repetition found no lease or no answer either:
    /// perhaps they took effect, perhaps the lease was lost.
    pub unconfirmed: u64,
    /// Results that could not be settled while their lease lived.
    pub unsettled: u64,
    /// Deliveries whose handler did not stop when it was cut off; their leases expire.
    pub abandoned: u64,
    /// Handlings that panicked. They are counted above as well.
    pub panicked: u64,
    /// Handlings that took longer than the timeout. They are counted above as well.
    pub timed_out: u64,
    /// Bodies that did not decode. They are counted above as well.
    pub undecodable: u64,
    /// Delays that [`Backoff::custom`](super::Backoff::custom) did not say, since it panicked. The
    /// default was taken.
    pub backoff_panics: u64,
    /// Leases extended.
    pub extended: u64,
    /// Calls of `lease`, `settle` and `turn`: round trips, where a call is one.
    pub calls: u64,
    /// Calls of `extend`, each for many leases.
    pub heartbeats: u64,
    /// Calls that failed, of every verb.
    pub errors: u64,
}

impl Counts {
    /// Whether every delivery came to one end. It does once the worker has ended.
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

    /// Deliveries that ended without the backend's word that they are settled.
    pub(crate) const fn open(&self) -> u64 {
        self.abandoned + self.lost + self.unsettled + self.unconfirmed
    }

    pub(crate) fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Called { verb: Verb::Turn } => self.calls += 1,
            Event::Called { verb: Verb::Extend } => self.heartbeats += 1,
            Event::Failed { .. } => self.errors += 1,
            Event::Leased { .. } => self.leased += 1,
            Event::Started { .. } => self.started += 1,
            Event::Ended { ending, .. } => match ending {
                Some(Ending::Undecodable(_)) => self.undecodable += 1,
                Some(Ending::Broken(Broken::Panicked(_))) => self.panicked += 1,
                Some(Ending::Broken(Broken::TimedOut(_))) => self.timed_out += 1,
                Some(Ending::Said(_)) | None => {}
            },
            Event::NoDelay { .. } => self.backoff_panics += 1,
            Event::Extended { leases } => self.extended += *leases as u64,
            _ => {}
        }
        if let Some(fate) = Fate::of(event) {
            *match fate {
                Fate::Acked => &mut self.acked,
                Fate::Retried => &mut self.retried,
                Fate::Deferred => &mut self.deferred,
                Fate::Released => &mut self.released,
                Fate::Died => &mut self.died,
                Fate::Lost => &mut self.lost,
                Fate::Unconfirmed => &mut self.unconfirmed,
                Fate::Unsettled => &mut self.unsettled,
                Fate::Abandoned => &mut self.abandoned,
            } += 1;
        }
    }
}
