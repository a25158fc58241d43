//! Priority queues: P1 to P4.

mod order;
mod outdating;

pub(super) use self::{order::*, outdating::*};
