//! Cases of every leasing kind: written once, played on each.

mod attempts;
mod batches;
mod cancelling;
mod dead_letters;
mod dedup;
mod deliveries;
mod distinct;
mod dropped;
mod due;
mod failures;
mod fencing;
mod finding;
mod handing_over;
mod holders;
mod leases;
mod limits;
mod longest_wait;
mod many_outdated;
mod operators;
mod outdating;
mod paging;
mod peeking;
mod progress;
mod prompt;
mod queue_limits;
mod rescheduling;
mod states;
mod unique;
mod waiting;

use queue_core::Push;

pub(super) use self::{
    attempts::*, batches::*, cancelling::*, dead_letters::*, dedup::*, deliveries::*, distinct::*,
    dropped::*, due::*, failures::*, fencing::*, finding::*, handing_over::*, holders::*,
    leases::*, limits::*, longest_wait::*, many_outdated::*, operators::*, outdating::*, paging::*,
    peeking::*, progress::*, prompt::*, queue_limits::*, rescheduling::*, states::*, unique::*,
    waiting::*,
};
use crate::stage::ms;

/// A message that is due the given number of milliseconds later.
pub(super) fn later(millis: u64) -> Push {
    Push::new(format!("x{millis}")).with_due(ms(millis))
}
