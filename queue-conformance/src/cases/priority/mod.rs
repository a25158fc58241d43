//! Priority queues: P1 to P4.

mod ageing;
mod order;
mod outdating;

pub(super) use self::{ageing::*, order::*, outdating::*};
