//! Plays one run or many, plays it again, and shrinks it.

mod frame;
mod many;
mod play;
mod runner;
mod simulation;
mod totals;

pub(crate) use self::frame::{Frame, queue_name};
pub use self::{
    many::Runs,
    play::Scenario,
    runner::{Relapse, Replayed, RunFailure, Runner},
    simulation::Simulation,
    totals::Totals,
};
pub use crate::workload::Played;
