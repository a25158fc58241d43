//! The kinds, and the model of any kind of queue.

mod bounded;
mod delay;
mod priority;
mod reliable;
mod rotating;

use std::num::NonZeroUsize;

use queue_core::{
    ErrorKind, Leased, QueueConfig, Timestamp,
    call::{Answer, Call},
};

pub use self::{
    bounded::BoundedModel, delay::DelayModel, priority::PriorityModel, reliable::ReliableModel,
    rotating::RotatingModel,
};
use crate::model::{self, LeasingModel};

/// The reference model of any kind. It takes calls as data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the kinds")]
pub enum Model {
    Reliable(ReliableModel),
    Delay(DelayModel),
    Priority(PriorityModel),
    Bounded(BoundedModel),
    Rotating(RotatingModel),
}

impl Model {
    /// A new queue.
    pub fn new(config: &QueueConfig) -> Self {
        match config {
            QueueConfig::Reliable(config) => Self::Reliable(ReliableModel::new(config)),
            QueueConfig::Delay(config) => Self::Delay(DelayModel::new(config)),
            QueueConfig::Priority(config) => Self::Priority(PriorityModel::new(config)),
            QueueConfig::Bounded(config) => Self::Bounded(BoundedModel::new(config)),
            QueueConfig::Rotating(config) => Self::Rotating(RotatingModel::new(config)),
        }
    }

    /// Applies a call at this time, which must not be earlier than the last call's. A wait changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// The error with which the backend must refuse it; `Invalid` also for a call that the kind
    /// does not have.
    pub fn apply(&mut self, now: Timestamp, call: &Call) -> model::Answer<Answer> {
        if let Call::WaitToLease(ttl, holder, _) = call {
            // A message is handed over as a lease of one would bring it.
            let lease = Call::Turn(Vec::new(), NonZeroUsize::MIN, *ttl, holder.clone());
            return Ok(match self.apply(now, &lease)? {
                Answer::Turned(_, Leased { deliveries, .. }) => {
                    Answer::Leased(Leased::of(deliveries))
                }
                other => other,
            });
        }
        if call.is_wait() {
            return Ok(Answer::Nothing);
        }
        if let Call::Reconfigure(config) = call {
            self.reconfigure(now, config)?;
            return Ok(Answer::Nothing);
        }
        match self {
            Self::Reliable(model) => match call {
                Call::Push(messages) => Ok(Answer::Pushed(model.push(now, messages)?)),
                call => leasing(model, now, call),
            },
            Self::Priority(model) => match call {
                Call::Enqueue(messages) => Ok(Answer::Pushed(model.enqueue(now, messages)?)),
                call => leasing(model, now, call),
            },
            Self::Delay(model) => delay(model, now, call),
            Self::Bounded(model) => bounded(model, now, call),
            Self::Rotating(model) => rotating(model, now, call),
        }
    }

    fn reconfigure(&mut self, now: Timestamp, config: &QueueConfig) -> model::Answer<()> {
        match (self, config) {
            (Self::Reliable(model), QueueConfig::Reliable(_)) => model.reconfigure(now, config),
            (Self::Delay(model), QueueConfig::Delay(_)) => model.reconfigure(now, config),
            (Self::Priority(model), QueueConfig::Priority(_)) => model.reconfigure(now, config),
            (Self::Bounded(model), QueueConfig::Bounded(bounded)) => {
                model.reconfigure(now, config)?;
                if model.capacity() != bounded.capacity {
                    let capacity = NonZeroUsize::new(bounded.capacity);
                    model.resize(now, capacity.ok_or(ErrorKind::Invalid)?)?;
                }
                Ok(())
            }
            (Self::Rotating(ring), QueueConfig::Rotating(config)) => {
                ring.reconfigure(config);
                Ok(())
            }
            _ => Err(ErrorKind::ConfigMismatch),
        }
    }

    /// Whether a lease or a rotation would hand out a message.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        match self.kind() {
            Ok(model) => model.would_lease(now),
            Err(ring) => ring.due(now) > 0,
        }
    }

    /// Whether it is a ring with a pace.
    pub(crate) fn is_paced(&self) -> bool {
        self.kind().is_err_and(RotatingModel::is_paced)
    }

    /// The same queue, but no message in it is ever outdated.
    pub(crate) fn lasting(&self) -> Self {
        let mut model = self.clone();
        match &mut model {
            Self::Reliable(model) => model.outlive(),
            Self::Delay(model) => model.outlive(),
            Self::Priority(model) => model.outlive(),
            Self::Bounded(model) => model.outlive(),
            Self::Rotating(_) => {}
        }
        model
    }

    /// The first due time of the delayed messages, after `now`.
    pub fn first_due(&self, now: Timestamp) -> Option<Timestamp> {
        match self.kind() {
            Ok(model) => model.first_due(now),
            Err(ring) => ring.next_boundary(now),
        }
    }

    /// Whether there is room for a message after the last call. A message whose last lease has
    /// expired keeps its place until a call reclaims it.
    pub fn has_room(&self) -> bool {
        match self {
            Self::Bounded(model) => model.has_room(),
            _ => true,
        }
    }

    /// The number of different dedup keys that have ever left a mark.
    pub fn marks_ever(&self) -> u64 {
        self.kind().map_or(0, LeasingModel::marks_ever)
    }

    /// The time after `now` at which the next change comes by itself.
    pub fn next_boundary(&self, now: Timestamp) -> Option<Timestamp> {
        match self.kind() {
            Ok(model) => model.next_boundary(now),
            Err(ring) => ring.next_boundary(now),
        }
    }

    /// The kind: a queue that leases, or a ring.
    fn kind(&self) -> Result<&LeasingModel, &RotatingModel> {
        match self {
            Self::Reliable(model) => Ok(model),
            Self::Delay(model) => Ok(model),
            Self::Priority(model) => Ok(model),
            Self::Bounded(model) => Ok(model),
            Self::Rotating(ring) => Err(ring),
        }
    }
}

fn delay(model: &mut DelayModel, now: Timestamp, call: &Call) -> model::Answer<Answer> {
    Ok(match call {
        Call::Schedule(messages) => Answer::Pushed(model.schedule(now, messages)?),
        Call::Reschedule(id, due) => Answer::Rescheduled(model.reschedule(now, *id, *due)?),
        Call::NextDue => Answer::Next(model.next_due(now)),
        call => leasing(model, now, call)?,
    })
}

fn bounded(model: &mut BoundedModel, now: Timestamp, call: &Call) -> model::Answer<Answer> {
    Ok(match call {
        Call::Offer(messages, overflow) => Answer::Offered(model.offer(now, messages, *overflow)?),
        Call::Recent(n) => Answer::Messages(model.recent(now, *n)?),
        Call::Capacity => {
            let capacity = std::num::NonZeroUsize::new(model.capacity());
            Answer::Capacity(capacity.ok_or(ErrorKind::Internal)?)
        }
        Call::Resize(capacity) => Answer::Ids(model.resize(now, *capacity)?),
        Call::OpenOrResize(capacity) => {
            // This call does not answer the dropped messages.
            if model.capacity() != capacity.get() {
                model.resize(now, *capacity)?;
            }
            Answer::Nothing
        }
        call => leasing(model, now, call)?,
    })
}

fn rotating(model: &mut RotatingModel, now: Timestamp, call: &Call) -> model::Answer<Answer> {
    Ok(match call {
        Call::Insert(items) => Answer::Inserted(model.insert(items)?),
        Call::Rotate(max) => Answer::Rotated(model.rotate(now, *max)?),
        Call::List(page) => Answer::Items(model.list(*page)?),
        Call::Remove(ids) => Answer::Count(model.remove(ids)?),
        Call::Len => Answer::Count(model.len()),
        _ => return Err(ErrorKind::Invalid),
    })
}

fn leasing(model: &mut LeasingModel, now: Timestamp, call: &Call) -> model::Answer<Answer> {
    Ok(match call {
        Call::Lease(max, ttl) => Answer::Leased(model.lease(now, *max, *ttl)?),
        Call::Settle(batch) => Answer::Settled(model.settle(now, batch)?),
        Call::Turn(batch, max, ttl, holder) => {
            let (settled, leased) = model.turn(now, batch, *max, *ttl, holder.as_ref())?;
            Answer::Turned(settled, leased)
        }
        Call::Extend(receipts, ttl) => Answer::Extended(model.extend(now, receipts, *ttl)?),
        Call::Depth => Answer::Depth(model.depth(now)),
        Call::Counters => Answer::Counters(Box::new(model.counters(now))),
        Call::DeadLetters(page) => Answer::DeadLetters(model.dead_letters(now, *page)?),
        Call::Revive(ids) => Answer::Revived(model.revive(now, ids)?),
        Call::Discard(ids) => Answer::Count(model.discard(now, ids)?),
        Call::Pause => {
            model.pause();
            Answer::Nothing
        }
        Call::Resume => {
            model.resume();
            Answer::Nothing
        }
        Call::Purge(max) => Answer::Count(model.purge(now, *max)?),
        Call::Cancel(ids) => Answer::Cancelled(model.cancel(now, ids)?),
        Call::Peek(place, page) => Answer::Peeked(model.peek(now, *place, *page)?),
        _ => return Err(ErrorKind::Invalid),
    })
}
