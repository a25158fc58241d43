//! Reference models of the five kinds, and what compares a backend with them.
//!
//! A model is written from `CONTRACT.md` alone, and is naive on purpose: all messages that ever
//! were, in one `Vec`, and every question answered by a scan and a sort. It shares no code with a
//! backend, nor the limits or the order with `queue-core`; only the values of the answers are
//! the same, so that they can be compared. Time is an argument, and nothing is ever waited for.
//!
//! | kind | model | operations | both together |
//! | --- | --- | --- | --- |
//! | reliable | [`ReliableModel`] | [`ReliableOp`] | [`ReliableDriver`] |
//! | delay | [`DelayModel`] | [`DelayOp`] | [`DelayDriver`] |
//! | priority | [`PriorityModel`] | [`PriorityOp`] | [`PriorityDriver`] |
//! | bounded | [`BoundedModel`] | [`BoundedOp`] | [`BoundedDriver`] |
//! | rotating | [`RotatingModel`] | [`RotatingOp`] | [`RotatingDriver`] |
//!
//! Operations are data. They are *total*: any sequence of them can be run, since a receipt or an
//! id is a position among all that were ever handed out (stale ones included), or made up. That
//! is what [`strategy`] draws from, and what makes a failure shrink well. A driver applies an
//! operation to a queue and to its model, compares the two answers, then depth and counters, and
//! looks at the rules that need no model besides (L1, L3, L4, L5, B1, T1, T2). The clock must be one
//! that only the test moves ([`Capability::ExactClock`](queue_conformance::Capability)): answers are compared
//! to the millisecond and the token.

mod any;
mod bounded;
mod delay;
mod driver;
mod entry;
mod leasing;
mod limits;
mod line;
mod mark;
mod op;
mod operator;
mod order;
mod places;
mod priority;
mod push;
mod reliable;
mod rotating;
mod rules;
pub mod strategy;

pub use self::{
    any::Model,
    bounded::BoundedModel,
    delay::DelayModel,
    driver::{
        BoundedDriver, DelayDriver, Diverged, Divergence, Drive, Driver, PriorityDriver,
        ReliableDriver, RotatingDriver,
    },
    leasing::LeasingModel,
    op::{
        BadCall, Body, BoundedOp, DelayOp, How, IdRef, Jump, LeasingOp, Mark, Parcel, PriorityOp,
        ReceiptRef, ReliableOp, RotatingOp, Round, Time,
    },
    priority::PriorityModel,
    reliable::ReliableModel,
    rotating::RotatingModel,
};

/// What a model answers: what the backend must answer, or the kind of its error.
pub type Answer<T> = std::result::Result<T, queue_core::ErrorKind>;
