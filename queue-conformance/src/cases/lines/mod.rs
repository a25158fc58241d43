//! Cases of reliable, priority, grouped and bounded queues, which order by arrival.

mod due;
mod returning;

pub(super) use self::{due::*, returning::*};
