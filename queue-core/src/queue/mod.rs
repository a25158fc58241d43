//! The kinds of queue as object-safe traits over bytes, with an `…Ext` beside each for
//! callers.

mod any;
mod bounded;
mod delay;
mod leasing;
mod patience;
mod priority;
mod reliable;
mod rotating;

pub use self::{
    any::{AnyQueue, QueueConfig},
    bounded::{BoundedQueue, BoundedQueueExt, Offer, Offered, Overflow},
    delay::{DelayQueue, DelayQueueExt, Rescheduled, Scheduled},
    leasing::{Leasing, LeasingExt},
    priority::{Prioritized, PriorityQueue, PriorityQueueExt},
    reliable::{ReliableQueue, ReliableQueueExt},
    rotating::{Insert, Inserted, Rotated, RotatingQueue, RotatingQueueExt},
};
