//! Cases of every leasing kind: written once, played on each.

mod attempts;
mod cancellation;
mod dead_letters;
mod dedup;
mod failures;
mod fencing;
mod leases;
mod limits;
mod operators;
mod progress;
mod waiting;

pub(super) use self::{
    attempts::*, cancellation::*, dead_letters::*, dedup::*, failures::*, fencing::*, leases::*,
    limits::*, operators::*, progress::*, waiting::*,
};
