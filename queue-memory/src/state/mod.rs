//! One pure, synchronous state machine per kind of queue, and one for once keys.
//!
//! No code here waits, locks, or reads a clock: every call gets the time as an argument. The leasing kinds
//! share [`State`], which hands out messages under leases, and differ in the [`Backlog`](backlog::Backlog)
//! that orders undelivered ones. A rotating queue is a [`Ring`].

mod availability;
mod backlog;
mod bounded;
mod bucket;
#[cfg(test)]
mod churn;
mod dead;
mod delay;
mod distinct;
mod due;
#[cfg(test)]
mod emptied;
mod ends;
mod entering;
mod entry;
mod fifo;
mod grouped;
mod groups;
mod holders;
mod index;
mod kind;
mod leasing;
mod levels;
mod limits;
mod line;
mod looking;
mod marks;
mod once;
mod opening;
mod operation;
mod outdating;
#[cfg(feature = "planted")]
mod planted;
mod priority;
mod rates;
mod reliable;
mod results;
mod rotating;
mod settling;
mod sorted_slots;
mod timeline;
mod urgency;

pub(crate) use self::{
    availability::{Availability, Waitable},
    bounded::Bounded,
    delay::Delay,
    grouped::Grouped,
    leasing::LeasingState,
    once::{ClaimLost, OnceKeys},
    opening::{Leases, Openable},
    priority::Priority,
    reliable::Reliable,
    rotating::Ring,
};
