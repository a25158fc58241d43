//! Playing runs: one, many, again, and a smaller one.

mod play;

pub use self::play::{Mode, Played, Scenario, play};
