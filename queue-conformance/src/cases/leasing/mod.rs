//! Cases of every leasing kind: written once, played on each.

mod attempts;
mod batches;
mod cancelling;
mod dead_letters;
mod dedup;
mod deliveries;
mod dropped;
mod failures;
mod fencing;
mod finding;
mod handing_over;
mod holders;
mod leases;
mod limits;
mod many_outdated;
mod operators;
mod outdating;
mod paging;
mod peeking;
mod progress;
mod queue_limits;
mod unique;
mod waiting;

pub(super) use self::{
    attempts::*, batches::*, cancelling::*, dead_letters::*, dedup::*, deliveries::*, dropped::*,
    failures::*, fencing::*, finding::*, handing_over::*, holders::*, leases::*, limits::*,
    many_outdated::*, operators::*, outdating::*, paging::*, peeking::*, progress::*,
    queue_limits::*, unique::*, waiting::*,
};
