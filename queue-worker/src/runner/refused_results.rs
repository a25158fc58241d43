//! Results that the backend refused for good as one batch: they are settled one by one, so that a bad result harms no
//! other. The message of a bad result is buried.

use std::collections::VecDeque;

use queue_core::{Disposition, Error, Outcome, Settlement, with_sources};
use tokio::time::Instant;

use super::{
    Runner,
    in_flight::{Burial, Pending},
};
use crate::event::{CallKind, Event, RefusedPart};

/// The results of a refused batch.
#[derive(Default)]
pub(super) struct SettlingAlone {
    left: VecDeque<Pending>,
    /// Results that the backend refused, and then refused to bury.
    refused: Vec<(Pending, Error)>,
    /// Whether the backend took any.
    took_any: bool,
    /// The last error, which every result got if the backend took none.
    error: Option<Error>,
}

impl SettlingAlone {
    /// All results that are not settled.
    pub(super) fn into_results(self) -> impl Iterator<Item = Pending> {
        let refused = self.refused.into_iter().map(|(pending, _)| pending);
        refused.chain(self.left)
    }
}

impl Pending {
    /// The burial of a message whose settlement was refused. Without one the result comes back: its settlement was a
    /// burial, or gives the message back.
    fn buried(self, error: &Error) -> Result<Self, Box<Self>> {
        let gives_up = matches!(
            self.settlement.disposition,
            Disposition::Release | Disposition::Bury { .. }
        );
        planted!(NoBurial => gives_up = true);
        planted!(BuriesTheReleased => gives_up = false);
        if gives_up || self.burial.is_some() {
            return Err(Box::new(self));
        }
        let reason = format!("its settlement was refused: {}", with_sources(error));
        let settlement = Settlement::bury(self.settlement.receipt, &*reason);
        Ok(Self {
            burial: Some(Box::new(Burial {
                settlement: self.settlement,
                reason: self.reason,
                error: error.clone(),
            })),
            settlement,
            reason: Some(reason),
            ..self
        })
    }

    /// The result as it was before a burial of its message was tried.
    fn unburied(mut self) -> Self {
        if let Some(burial) = self.burial.take() {
            (self.settlement, self.reason) = (burial.settlement, burial.reason);
        }
        self
    }
}

impl Runner {
    /// The next result that is settled alone, if there is one. Gives up those whose lease is over.
    pub(super) fn next_alone(&mut self, index: usize, now: Instant) -> Option<Pending> {
        let served = &mut self.queues[index];
        let alone = served.alone.as_mut()?;
        while let Some(next) = alone.left.pop_front() {
            if now < next.lease.deadline() {
                return Some(next);
            }
            self.events.emit(&served.name, &next.unsettled());
        }
        // The leases of all were over.
        self.end_alone(index, now);
        None
    }

    /// Notes a call with results that failed: by a permanent error, each result is sent again alone.
    pub(super) fn refused(
        &mut self,
        index: usize,
        mut batch: Vec<Pending>,
        error: &Error,
        now: Instant,
    ) {
        let unknown = error.outcome() == Outcome::Unknown;
        planted!(ForgetsDoubt => unknown = false);
        let is_transient = error.is_transient();
        planted!(TakesOutagesForRefusals => is_transient = self.queues[index].alone.is_none() && is_transient);
        let served = &mut self.queues[index];
        if is_transient || batch.is_empty() {
            match &mut served.alone {
                None => self.put_back(index, batch, unknown, now),
                Some(alone) => {
                    for mut pending in batch.into_iter().rev() {
                        pending.doubtful |= unknown;
                        alone.left.push_front(pending);
                    }
                }
            }
            self.note_result(index, CallKind::SettleAndLease, Some(error), now);
            return;
        }
        for pending in &mut batch {
            pending.doubtful |= unknown;
        }
        let Some(alone) = &mut served.alone else {
            served.alone = Some(SettlingAlone {
                left: batch.into(),
                error: Some(error.clone()),
                ..SettlingAlone::default()
            });
            self.note_result(index, CallKind::SettleAndLease, Some(error), now);
            self.queues[index].call_outage.try_now();
            return;
        };
        alone.error = Some(error.clone());
        for pending in batch {
            match pending.buried(error) {
                Ok(burial) => alone.left.push_front(burial),
                Err(pending) => {
                    let first = pending.burial.as_ref().map(|burial| burial.error.clone());
                    let error = first.unwrap_or_else(|| error.clone());
                    alone.refused.push((pending.unburied(), error));
                }
            }
        }
    }

    /// Notes that the backend took a result that was sent alone.
    pub(super) fn settled_alone(&mut self, index: usize, batch: &[Pending]) {
        let served = &mut self.queues[index];
        let Some(alone) = served.alone.as_mut().filter(|_| !batch.is_empty()) else {
            return;
        };
        alone.took_any = true;
        for pending in batch {
            if let Some(burial) = &pending.burial {
                let refused = Event::Refused {
                    lease: &pending.lease,
                    part: RefusedPart::Settlement,
                    error: &burial.error,
                };
                self.events.emit(&served.name, &refused);
            }
        }
    }

    /// Ends settling alone once nothing is left. Results that the backend took in no way are given up if it took
    /// others. If it took none, the fault is not theirs: they are sent again, as after any failed call.
    pub(super) fn end_alone(&mut self, index: usize, now: Instant) {
        let served = &mut self.queues[index];
        let Some(alone) = served.alone.take_if(|alone| alone.left.is_empty()) else {
            return;
        };
        let took_any = alone.took_any;
        planted!(GivesUpAllResults => took_any = true);
        if took_any {
            for (pending, error) in alone.refused {
                let refused = Event::Refused {
                    lease: &pending.lease,
                    part: RefusedPart::Settlement,
                    error: &error,
                };
                self.events.emit(&served.name, &refused);
                self.events.emit(&served.name, &pending.unsettled());
            }
            return;
        }
        let SettlingAlone { refused, error, .. } = alone;
        let batch = refused.into_iter().map(|(pending, _)| pending).collect();
        self.put_back(index, batch, false, now);
        self.note_result(index, CallKind::SettleAndLease, error.as_ref(), now);
    }
}
