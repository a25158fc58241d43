//! Telling people what happened: a failure as lanes in time, and what many runs came to in a line.

mod expected;
mod lanes;
mod layout;
mod leases;
mod rows;
mod rules;
mod timeline;
mod wording;

pub(crate) use self::lanes::named_lanes;
pub use self::{
    rules::rule,
    timeline::{operations, timeline},
};
