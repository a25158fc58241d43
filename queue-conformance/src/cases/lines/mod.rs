//! Cases of reliable, priority and bounded queues, which order by arrival.

mod due;
mod returning;
mod waiting;

use queue_core::*;

pub(super) use self::{due::*, returning::*, waiting::*};
use crate::stage::ms;

/// A push of a message that is due the given number of milliseconds later.
fn later(millis: u64) -> Push {
    Push::new(format!("x{millis}")).with_due(ms(millis))
}
