//! Plays one run or many, plays it again, and shrinks it.

mod frame;
mod many;
mod play;
mod played;
mod runner;
mod simulation;
mod totals;

pub(crate) use self::frame::{Frame, queue_name};
pub use self::{
    many::Runs,
    play::Scenario,
    played::Played,
    runner::{Relapse, Replayed, RunFailure, Runner},
    simulation::Simulation,
    totals::Totals,
};
