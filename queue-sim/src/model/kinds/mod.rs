//! The kinds, and the model of any kind of queue.

mod bounded;
mod rotating;

use std::num::NonZeroUsize;

use queue_core::{
    ErrorKind, Leased, QueueConfig, QueueKind, Timestamp,
    call::{Answer, Call},
};

pub use self::rotating::RotatingModel;
use crate::model::{self, LeasingModel, order::ReadyOrder};

/// The reference model of any kind. It takes calls as data.
///
/// ```
/// use std::{num::NonZeroUsize, time::Duration};
/// use queue_core::{
///     Push, QueueConfig, ReliableConfig, Settled, Settlement, Timestamp,
///     call::{Answer, Call},
/// };
/// use queue_sim::model::Model;
///
/// let mut model = Model::new(&QueueConfig::Reliable(ReliableConfig::default()));
/// let mut lease = |model: &mut Model, at: u64| {
///     let call = Call::Lease(NonZeroUsize::MIN, Duration::from_millis(30));
///     match model.apply(Timestamp::from_millis(at), &call) {
///         Ok(Answer::Leased(mut leased)) => leased.deliveries.remove(0),
///         other => panic!("{other:?}"),
///     }
/// };
/// let at = Timestamp::from_millis;
///
/// model.apply(at(100), &Call::Push(vec![Push::new("a")])).unwrap();
/// let first = lease(&mut model, 100);
/// let again = lease(&mut model, 130);
/// assert_eq!(again.attempt, 2);
/// let stale = Call::Settle(vec![Settlement::ack(first.receipt)]);
/// let lost = Answer::Settled(vec![Settled::LeaseLost]);
/// assert_eq!(model.apply(at(131), &stale), Ok(lost));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Model {
    /// A queue of a kind that leases.
    Leasing(QueueKind, LeasingModel),
    /// A ring.
    Rotating(RotatingModel),
}

impl Model {
    /// A new queue.
    pub fn new(config: &QueueConfig) -> Self {
        let (leasing, order, capacity) = match config {
            QueueConfig::Reliable(config) => (&config.leasing, ReadyOrder::Joining, None),
            QueueConfig::Delay(config) => (&config.leasing, ReadyOrder::Due, None),
            QueueConfig::Priority(config) => {
                (&config.leasing, ReadyOrder::of_priority(config), None)
            }
            QueueConfig::Grouped(config) => (&config.leasing, ReadyOrder::of_groups(config), None),
            QueueConfig::Bounded(config) => {
                (&config.leasing, ReadyOrder::Joining, Some(config.capacity))
            }
            QueueConfig::Rotating(config) => return Self::Rotating(RotatingModel::new(config)),
            other => panic!("there is no model of {} queues", other.kind()),
        };
        let mut model = LeasingModel::new(leasing, order, capacity);
        if let QueueConfig::Grouped(config) = config {
            model.change_group_rate(0, config.group_rate);
        }
        Self::Leasing(config.kind(), model)
    }

    /// Applies a call at this time, which must not be earlier than the last call's. A wait changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// The error with which the backend must refuse it; `Invalid` also for a call that the kind
    /// does not have.
    pub fn apply(&mut self, now: Timestamp, call: &Call) -> model::ModelResult<Answer> {
        if let Call::WaitToLease(lease_time, holder, _) = call {
            // A message is handed over exactly as a lease of one message would bring it.
            let lease =
                Call::SettleAndLease(Vec::new(), NonZeroUsize::MIN, *lease_time, holder.clone());
            return Ok(match self.apply(now, &lease)? {
                Answer::SettledAndLeased(_, Leased { deliveries, .. }) => {
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
            Self::Leasing(kind, model) if has(*kind, call) => leasing(model, now, call),
            Self::Leasing(..) => Err(ErrorKind::Invalid),
            Self::Rotating(ring) => rotating(ring, now, call),
        }
    }

    fn reconfigure(&mut self, now: Timestamp, config: &QueueConfig) -> model::ModelResult<()> {
        match (self, config) {
            (Self::Leasing(kind, model), config) if *kind == config.kind() => {
                model.reconfigure(now, config)
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
        match self {
            Self::Leasing(_, model) => model.would_lease(now),
            Self::Rotating(ring) => ring.due(now) > 0,
        }
    }

    /// Whether it is a ring with a pace.
    pub(crate) fn is_paced(&self) -> bool {
        matches!(self, Self::Rotating(ring) if ring.is_paced())
    }

    /// The same queue, but no message in it is ever outdated.
    pub(crate) fn lasting(&self) -> Self {
        let mut model = self.clone();
        if let Self::Leasing(_, model) = &mut model {
            model.outlive();
        }
        model
    }

    /// The first due time of the delayed messages, after `now`.
    pub fn first_due(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Leasing(_, model) => model.first_due(now),
            Self::Rotating(ring) => ring.next_boundary(now),
        }
    }

    /// Whether there is room for a message after the last call. A message whose last lease has
    /// expired keeps its place until a call reclaims it.
    pub fn has_room(&self) -> bool {
        match self {
            Self::Leasing(_, model) => model.has_room(),
            Self::Rotating(_) => true,
        }
    }

    /// The number of different dedup keys that have ever left a mark.
    pub fn marks_ever(&self) -> u64 {
        match self {
            Self::Leasing(_, model) => model.marks_ever(),
            Self::Rotating(_) => 0,
        }
    }

    /// The time after `now` at which the next change comes without a call.
    pub fn next_boundary(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Leasing(_, model) => model.next_boundary(now),
            Self::Rotating(ring) => ring.next_boundary(now),
        }
    }
}

/// Whether queues of this kind, or the backend for them, have this call.
fn has(kind: QueueKind, call: &Call) -> bool {
    match call {
        Call::OpenOrResize(_) => kind == QueueKind::Bounded,
        call => Call::names(kind).any(|name| name == call.name()),
    }
}

fn leasing(model: &mut LeasingModel, now: Timestamp, call: &Call) -> model::ModelResult<Answer> {
    Ok(match call {
        Call::Push(messages) => Answer::Pushed(model.push(now, messages)?),
        Call::ChangeGroup(key, change) => {
            model.change_group(now, key, change)?;
            Answer::Nothing
        }
        Call::Groups(page) => Answer::Groups(model.groups(now, *page)?),
        Call::Reschedule(ids, due) => Answer::Rescheduled(model.reschedule(now, ids, *due)?),
        Call::NextDue => Answer::Next(model.next_due(now)),
        Call::Recent(n) => Answer::Messages(model.recent(now, *n)?),
        Call::Capacity => {
            let capacity = model.capacity.and_then(NonZeroUsize::new);
            Answer::Capacity(capacity.ok_or(ErrorKind::Internal)?)
        }
        Call::Resize(capacity) => Answer::Ids(model.resize(now, *capacity)?),
        Call::OpenOrResize(capacity) => {
            // The answer of this call does not name the dropped messages.
            model.resize_to(now, *capacity)?;
            Answer::Nothing
        }
        Call::Lease(max, lease_time) => Answer::Leased(model.lease(now, *max, *lease_time)?),
        Call::Settle(batch) => Answer::Settled(model.settle(now, batch)?),
        Call::SettleAndLease(batch, max, lease_time, holder) => {
            let (settled, leased) =
                model.settle_and_lease(now, batch, *max, *lease_time, holder.as_ref())?;
            Answer::SettledAndLeased(settled, leased)
        }
        Call::Extend(extensions, lease_time) => {
            Answer::Extended(model.extend(now, extensions, *lease_time)?)
        }
        Call::Depth => Answer::Depth(model.depth(now)),
        Call::Counters => Answer::Counters(Box::new(model.counters(now))),
        Call::DeadLetters(page) => Answer::DeadLetters(model.dead_letters(now, *page)?),
        Call::Revive(ids, revival) => Answer::Revived(model.revive(now, ids, *revival)?),
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
        Call::Find(ids) => Answer::Found(model.find(now, ids)?),
        _ => return Err(ErrorKind::Invalid),
    })
}

fn rotating(model: &mut RotatingModel, now: Timestamp, call: &Call) -> model::ModelResult<Answer> {
    Ok(match call {
        Call::Insert(items) => Answer::Inserted(model.insert(items)?),
        Call::Rotate(max) => Answer::Rotated(model.rotate(now, *max)?),
        Call::List(page) => Answer::Items(model.list(*page)?),
        Call::Remove(ids) => Answer::Count(model.remove(ids)?),
        Call::Len => Answer::Count(model.len()),
        _ => return Err(ErrorKind::Invalid),
    })
}
