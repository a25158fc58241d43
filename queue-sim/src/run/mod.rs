//! Playing runs: one, many, again, and a smaller one.

mod failure;
mod many;
mod play;
mod relapse;
mod tally;

pub use self::{
    failure::Failure,
    many::{Replayed, Runs},
    play::{Mode, Played, Scenario, play},
    relapse::Relapse,
    tally::Tally,
};
