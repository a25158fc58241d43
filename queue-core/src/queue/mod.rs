//! The kinds of queue: object-safe traits over bytes with an `…Ext` beside each for callers, the messages
//! that they take and give, and configurations; and a queue of any kind.

mod bounded;
mod cancel;
mod config;
mod confirmation;
mod dead;
mod delay;
mod find;
mod grouped;
mod leasing;
mod message;
mod patience;
mod peek;
mod priority;
mod push;
mod reliable;
mod reschedule;
mod rotating;
mod settings;
mod settlement;

use std::sync::Arc;

pub use self::{
    bounded::{BoundedConfig, BoundedQueue, BoundedQueueExt, check_capacity},
    cancel::Cancelled,
    config::{LAYOUT_VERSION, LeaseRate, LeasingConfig, config_mismatch},
    confirmation::{Confirmation, Confirmed, Confirmer, Copies},
    dead::{DeadLetter, DeathReason, Revival, Revived},
    delay::{DelayConfig, DelayQueue},
    find::Found,
    grouped::{
        Group, GroupChange, GroupOrder, GroupRule, GroupedConfig, GroupedQueue, GroupedQueueExt,
        OnDeath,
    },
    leasing::{Leasing, LeasingExt},
    message::{Delivery, Message},
    peek::{Peeked, Place, Standing},
    priority::{PriorityConfig, PriorityQueue},
    push::{Dedup, Distinct, Overflow, Push, Pushed},
    reliable::{ReliableConfig, ReliableQueue},
    reschedule::Rescheduled,
    rotating::{Insert, Inserted, Rotated, RotatingConfig, RotatingQueue, RotatingQueueExt},
    settlement::{Disposition, Extended, Extension, KeptResult, Leased, Settled, Settlement},
};
pub(crate) use self::{
    confirmation::confirm,
    leasing::{chunks, half_way},
};
use crate::{Counters, Depth, Error, QueueKind, Result};

/// A queue of any kind. As a [`Service`](crate::call::Service) it makes every call of
/// its kind, and returns `Invalid` for any other.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the kinds")]
#[non_exhaustive]
pub enum AnyQueue {
    Reliable(Arc<dyn ReliableQueue>),
    Delay(Arc<dyn DelayQueue>),
    Priority(Arc<dyn PriorityQueue>),
    Grouped(Arc<dyn GroupedQueue>),
    Bounded(Arc<dyn BoundedQueue>),
    Rotating(Arc<dyn RotatingQueue>),
}

/// The configuration of a queue of any kind; its variant is the kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the kinds")]
#[non_exhaustive]
pub enum QueueConfig {
    Reliable(ReliableConfig),
    Delay(DelayConfig),
    Priority(PriorityConfig),
    Grouped(GroupedConfig),
    Bounded(BoundedConfig),
    Rotating(RotatingConfig),
}

macro_rules! any {
    ($($kind:ident: $config:ident, $queue:ident;)*) => {
        impl AnyQueue {
            /// The kind of queue.
            pub const fn kind(&self) -> QueueKind {
                match self {
                    $(Self::$kind(_) => QueueKind::$kind,)*
                }
            }
        }

        impl QueueConfig {
            /// The kind of queue.
            pub const fn kind(&self) -> QueueKind {
                match self {
                    $(Self::$kind(_) => QueueKind::$kind,)*
                }
            }

            /// Checks the limits, as every open does first.
            ///
            /// # Errors
            ///
            /// `Invalid`, naming the value.
            pub fn check(&self) -> Result<()> {
                match self {
                    $(Self::$kind(config) => config.check(),)*
                }
            }
        }

        $(
            impl From<Arc<dyn $queue>> for AnyQueue {
                fn from(queue: Arc<dyn $queue>) -> Self {
                    Self::$kind(queue)
                }
            }

            impl From<$config> for QueueConfig {
                fn from(config: $config) -> Self {
                    Self::$kind(config)
                }
            }
        )*
    };
}

any! {
    Reliable: ReliableConfig, ReliableQueue;
    Delay: DelayConfig, DelayQueue;
    Priority: PriorityConfig, PriorityQueue;
    Grouped: GroupedConfig, GroupedQueue;
    Bounded: BoundedConfig, BoundedQueue;
    Rotating: RotatingConfig, RotatingQueue;
}

impl AnyQueue {
    /// The queue as one that leases; `None` for a ring.
    pub fn leasing(&self) -> Option<Arc<dyn Leasing>> {
        Some(match self {
            Self::Reliable(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
            Self::Delay(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
            Self::Priority(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
            Self::Grouped(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
            Self::Bounded(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
            Self::Rotating(_) => return None,
        })
    }

    /// The queue's counters. Of a ring: its items as ready, and nothing else.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::counters`], and of a ring's [`len`](RotatingQueue::len).
    pub async fn counters(&self) -> Result<Counters> {
        match self {
            Self::Reliable(queue) => queue.counters().await,
            Self::Delay(queue) => queue.counters().await,
            Self::Priority(queue) => queue.counters().await,
            Self::Grouped(queue) => queue.counters().await,
            Self::Bounded(queue) => queue.counters().await,
            Self::Rotating(ring) => {
                let mut counters = Counters::default();
                counters.depth.ready = ring.len().await?;
                Ok(counters)
            }
        }
    }
}

impl QueueConfig {
    /// The default configuration of a kind, for plain messages; a bounded queue has this capacity. A grouped queue is
    /// loose, with any number of messages of a group under leases.
    pub fn of(kind: QueueKind, capacity: usize) -> Self {
        match kind {
            QueueKind::Reliable => Self::Reliable(ReliableConfig::default()),
            QueueKind::Delay => Self::Delay(DelayConfig::default()),
            QueueKind::Priority => Self::Priority(PriorityConfig::default()),
            QueueKind::Grouped => Self::Grouped(GroupedConfig::loose(u32::MAX)),
            QueueKind::Bounded => Self::Bounded(BoundedConfig::new(capacity)),
            QueueKind::Rotating => Self::Rotating(RotatingConfig::default()),
        }
    }

    /// The same with this limit on bodies, which is a handle's own and never stored.
    #[must_use]
    pub const fn with_max_body(mut self, bytes: usize) -> Self {
        match &mut self {
            Self::Reliable(config) => config.leasing.max_body = bytes,
            Self::Delay(config) => config.leasing.max_body = bytes,
            Self::Priority(config) => config.leasing.max_body = bytes,
            Self::Grouped(config) => config.leasing.max_body = bytes,
            Self::Bounded(config) => config.leasing.max_body = bytes,
            Self::Rotating(config) => config.max_body = bytes,
        }
        self
    }

    /// The limit on bodies.
    pub const fn max_body(&self) -> usize {
        match self {
            Self::Reliable(config) => config.leasing.max_body,
            Self::Delay(config) => config.leasing.max_body,
            Self::Priority(config) => config.leasing.max_body,
            Self::Grouped(config) => config.leasing.max_body,
            Self::Bounded(config) => config.leasing.max_body,
            Self::Rotating(config) => config.max_body,
        }
    }

    /// Checks this against the stored configuration. A stored capacity that a
    /// [`resize`](BoundedQueue::resize) has changed (`resized`) wins.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values, or both kinds.
    pub fn check_stored(&self, stored: &Self, resized: bool) -> Result<()> {
        match (self, stored) {
            (Self::Reliable(asked), Self::Reliable(stored)) => asked.check_stored(stored),
            (Self::Delay(asked), Self::Delay(stored)) => asked.check_stored(stored),
            (Self::Priority(asked), Self::Priority(stored)) => asked.check_stored(stored),
            (Self::Grouped(asked), Self::Grouped(stored)) => asked.check_stored(stored),
            (Self::Bounded(asked), Self::Bounded(stored)) => asked.check_stored(stored, resized),
            (Self::Rotating(asked), Self::Rotating(stored)) => asked.check_stored(stored),
            _ => Err(config_mismatch("kind", stored.kind(), self.kind())),
        }
    }

    /// How many of a queue's messages keep this configuration from replacing the stored one: by another ageing, all
    /// that are ready; by another order of groups, all but the dead.
    pub fn kept_from(&self, stored: &Self, depth: &Depth) -> u64 {
        match (self, stored) {
            (Self::Priority(asked), Self::Priority(stored)) if asked.ageing != stored.ageing => {
                depth.ready
            }
            (Self::Grouped(asked), Self::Grouped(stored))
                if (asked.order, asked.per_group) != (stored.order, stored.per_group) =>
            {
                depth.ready + depth.delayed + depth.leased
            }
            _ => 0,
        }
    }

    /// The error of a change of the order while `kept` messages are there.
    pub fn order_of_kept(&self, kept: u64) -> Error {
        match self {
            Self::Grouped(_) => GroupedConfig::order_of_held(kept),
            _ => PriorityConfig::ageing_of_ready(kept),
        }
    }

    /// The configuration that all leasing queues share; `None` for a ring.
    pub const fn leasing_mut(&mut self) -> Option<&mut LeasingConfig> {
        Some(match self {
            Self::Reliable(config) => &mut config.leasing,
            Self::Delay(config) => &mut config.leasing,
            Self::Priority(config) => &mut config.leasing,
            Self::Grouped(config) => &mut config.leasing,
            Self::Bounded(config) => &mut config.leasing,
            Self::Rotating(_) => return None,
        })
    }

    /// The configuration that all leasing queues share; `None` for a ring.
    pub const fn leasing(&self) -> Option<&LeasingConfig> {
        Some(match self {
            Self::Reliable(config) => &config.leasing,
            Self::Delay(config) => &config.leasing,
            Self::Priority(config) => &config.leasing,
            Self::Grouped(config) => &config.leasing,
            Self::Bounded(config) => &config.leasing,
            Self::Rotating(_) => return None,
        })
    }
}
