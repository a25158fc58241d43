//! Playing runs: one, many, again, and a smaller one.

mod failure;
mod many;
mod play;
mod relapse;
mod replayed;
mod tally;

pub(crate) use self::play::name;
pub use self::{
    failure::Failure,
    many::Runs,
    play::{Played, Scenario, play},
    relapse::Relapse,
    replayed::Replayed,
    tally::Tally,
};
