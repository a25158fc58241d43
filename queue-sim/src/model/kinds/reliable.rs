//! First in, first out.

use queue_core::{Push, Pushed, ReliableConfig, Timestamp};

use crate::model::{Answer, LeasingModel, limits, order::Order};

/// The model of a reliable queue; [`LeasingModel`] has the verbs of all leasing kinds.
///
/// ```
/// use std::{num::NonZeroUsize, time::Duration};
/// use queue_core::{Push, ReliableConfig, Settlement, Settled, Timestamp};
/// use queue_sim::model::ReliableModel;
///
/// let mut model = ReliableModel::new(&ReliableConfig::default());
/// let (one, ttl) = (NonZeroUsize::MIN, Duration::from_millis(30));
/// let at = Timestamp::from_millis;
///
/// model.push(at(100), &[Push::new("a")]).unwrap();
/// let first = model.lease(at(100), one, ttl).unwrap().deliveries.remove(0);
/// let again = model.lease(at(130), one, ttl).unwrap().deliveries.remove(0);
/// assert_eq!(again.attempt, 2);
/// let stale = Settlement::ack(first.receipt);
/// assert_eq!(model.settle(at(131), &[stale]).unwrap(), [Settled::LeaseLost]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReliableModel {
    leasing: LeasingModel,
}

impl ReliableModel {
    /// A new queue.
    pub fn new(config: &ReliableConfig) -> Self {
        Self {
            leasing: LeasingModel::new(&config.leasing, Order::Joining),
        }
    }

    /// Puts messages at the tail.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn push(&mut self, now: Timestamp, messages: &[Push]) -> Answer<Vec<Pushed>> {
        limits::pushes(messages.iter(), self.config.max_body)?;
        let now = self.begin(now);
        let mut pushed = Vec::new();
        for push in messages {
            pushed.push(match self.duplicate_of(now, push.dedup.as_ref()) {
                Some(first) => Pushed::Duplicate(first),
                None => {
                    let at = self.accept(now, push);
                    Pushed::Accepted(self.entries[at].id)
                }
            });
        }
        Ok(pushed)
    }
}

crate::model::leasing::built_on_leasing!(ReliableModel);
