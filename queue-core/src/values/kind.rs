//! The kinds of queue.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Error, ErrorKind, QueueName};

/// The kinds of queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QueueKind {
    /// First in, first out: [`ReliableQueue`](crate::ReliableQueue).
    Reliable,
    /// Each message at its due time: [`DelayQueue`](crate::DelayQueue).
    Delay,
    /// The most urgent first: [`PriorityQueue`](crate::PriorityQueue).
    Priority,
    /// Each group in order, and all groups in turn: [`GroupedQueue`](crate::GroupedQueue).
    Grouped,
    /// A fixed length, never exceeded: [`BoundedQueue`](crate::BoundedQueue).
    Bounded,
    /// A ring, each item in turn: [`RotatingQueue`](crate::RotatingQueue).
    Rotating,
}

impl QueueKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Reliable,
        Self::Delay,
        Self::Priority,
        Self::Grouped,
        Self::Bounded,
        Self::Rotating,
    ];

    /// The kinds that hand out messages under leases.
    pub const LEASING: [Self; 5] = [
        Self::Reliable,
        Self::Delay,
        Self::Priority,
        Self::Grouped,
        Self::Bounded,
    ];

    /// The kind's name, in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::Delay => "delay",
            Self::Priority => "priority",
            Self::Grouped => "grouped",
            Self::Bounded => "bounded",
            Self::Rotating => "rotating",
        }
    }

    /// The rule of its delivery order.
    pub const fn order(self) -> &'static str {
        match self {
            Self::Reliable | Self::Bounded => "F1",
            Self::Delay => "D2",
            Self::Priority => "P2",
            Self::Grouped => "G2",
            Self::Rotating => "T1",
        }
    }

    /// The error of a backend that lacks queues of this kind.
    pub fn missing(self, name: &QueueName) -> Error {
        let message = format!("this backend has no {self} queues");
        Error::new(ErrorKind::Configuration, message).with_queue(name)
    }
}

impl fmt::Display for QueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
