//! The delivery orders of the kinds.

use queue_core::{GroupOrder, GroupedConfig, OnDeath, PriorityConfig};

use super::{
    entry::{ModelEntry, ModelPlace},
    limits,
    turns::{self, Name},
};

/// The delivery order of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReadyOrder {
    /// Messages that came back, by id; then the others in the order of joining. For reliable and bounded queues.
    Joining,
    /// By (due, id), ready or not. For delay queues.
    Due,
    /// As `Joining`, within each priority.
    Priority,
    /// As `Joining`, within each group (G2), for showing. `deliverable` says which group is next.
    Groups {
        /// Whether a message that waits for its retry holds up its group.
        strict: bool,
        /// The most messages of a group that hold places.
        most: u32,
        /// Whether the death of a message parks its group.
        parks: bool,
    },
    /// By (arrival − priority × ageing in ms, id).
    Ageing(u64),
}

impl ReadyOrder {
    pub(super) fn of_priority(config: &PriorityConfig) -> Self {
        match config.ageing {
            None => Self::Priority,
            Some(per_step) => Self::Ageing(limits::millis(per_step)),
        }
    }

    pub(super) fn of_groups(config: &GroupedConfig) -> Self {
        Self::Groups {
            strict: config.order == GroupOrder::Strict,
            most: config.per_group,
            parks: config.on_death == OnDeath::Park,
        }
    }

    /// Whether messages have priorities.
    pub(super) const fn has_priorities(self) -> bool {
        matches!(self, Self::Priority | Self::Ageing(_))
    }

    /// Whether messages have groups.
    pub(super) const fn has_groups(self) -> bool {
        matches!(self, Self::Groups { .. })
    }

    /// Whether messages have the same places in both. The effect of a death changes no place.
    pub(super) fn is_same_order(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Groups { strict, most, .. },
                Self::Groups {
                    strict: other_strict,
                    most: other_most,
                    ..
                },
            ) => (strict, most) == (other_strict, other_most),
            _ => self == other,
        }
    }

    pub(super) fn is_ready(self, entry: &ModelEntry, now: u64) -> bool {
        match entry.place {
            ModelPlace::Ready | ModelPlace::Returned => true,
            ModelPlace::Delayed { due } => self == Self::Due && due <= now,
            _ => false,
        }
    }

    /// The rank of a ready message; a smaller rank goes first.
    pub(super) fn rank(self, entry: &ModelEntry) -> (i64, Name, bool, u64) {
        let came_back = entry.place == ModelPlace::Returned;
        let id = entry.id.get();
        let within = if came_back { id } else { entry.joined };
        let (first, came_back, within) = match self {
            Self::Joining | Self::Groups { .. } => (0, !came_back, within),
            Self::Due => (entry.due().unwrap_or(0) as i64, false, id),
            Self::Priority => (-i64::from(entry.priority), !came_back, within),
            Self::Ageing(step) => {
                let head_start = i64::from(entry.priority) * step as i64;
                (entry.arrival as i64 - head_start, false, id)
            }
        };
        (first, turns::name(entry), came_back, within)
    }

    /// The line of a ready message.
    pub(super) fn line(self, entry: &ModelEntry) -> (i16, Name, bool) {
        let came_back = entry.place == ModelPlace::Returned;
        let (level, came_back) = match self {
            Self::Joining | Self::Groups { .. } => (0, came_back),
            Self::Priority => (entry.priority, came_back),
            Self::Due | Self::Ageing(_) => (0, false),
        };
        (level, turns::name(entry), came_back)
    }
}
