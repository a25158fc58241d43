//! Operations as data: small, total, and made to shrink.

mod leasing;
mod parcel;
mod reference;

use std::time::Duration;

use queue_core::Overflow;

pub use self::{
    leasing::{BadCall, How, Jump, LeasingOp, Round},
    parcel::{Body, Mark, Parcel},
    reference::{IdRef, ReceiptRef},
};
pub(super) use self::{parcel::key, reference::Seen};

/// An operation on a reliable queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReliableOp {
    /// One that every leasing queue has.
    Leasing(LeasingOp),
    /// Push a batch.
    Push(Vec<Parcel>),
}

/// An operation on a delay queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelayOp {
    /// One that every leasing queue has.
    Leasing(LeasingOp),
    /// Schedule a batch.
    Schedule(Vec<(Parcel, Time)>),
    /// Cancel a batch.
    Cancel(Vec<IdRef>),
    /// Move one.
    Reschedule(IdRef, Time),
    /// Ask for the next due time.
    NextDue,
}

/// A due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// So long from now.
    In(Duration),
    /// At so many milliseconds from now, perhaps in the past, as an absolute time.
    At(i64),
    /// At this time since 1970.
    Absolute(u64),
}

/// An operation on a priority queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriorityOp {
    /// One that every leasing queue has.
    Leasing(LeasingOp),
    /// Enqueue a batch.
    Enqueue(Vec<(Parcel, i16)>),
}

/// An operation on a bounded queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundedOp {
    /// One that every leasing queue has.
    Leasing(LeasingOp),
    /// Offer a batch, each perhaps under a distinct key.
    Offer(Vec<(Parcel, Option<u8>)>, Overflow),
    /// Read the newest.
    Recent(usize),
    /// Ask for the capacity.
    Capacity,
    /// Change it.
    Resize(usize),
}

/// An operation on a rotating queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RotatingOp {
    /// Let time pass.
    Advance(Jump),
    /// Insert a batch, each perhaps under a key.
    Insert(Vec<(Body, Option<u8>)>),
    /// Visit up to so many.
    Rotate(usize),
    /// Read the whole ring in pages of so many.
    List(usize),
    /// Take items out.
    Remove(Vec<IdRef>),
}
