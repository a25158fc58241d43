//! Your own logic under the simulator: your producers and your handlers, unchanged from
//! production, in virtual time, under crashes, lost replies and expired leases.

mod builder;
mod cases;
mod cast;
mod chaos;
pub mod check;
mod ledger;
mod panics;
mod plans;
mod play;
mod run;
mod runner;
mod story;
mod tale;
mod tally;

pub use self::{
    builder::{Body, BoxError, Scene, Sim},
    cases::{Case, CaseTree, Cases},
    chaos::Chaos,
    check::{Check, Drained, Effects, Finding, Rules},
    ledger::{Effect, Ledger, Stale},
    run::Run,
    runner::Broken,
    story::{Fates, Story},
    tally::Tally,
};

/// Begins a simulation of this name, which failures and their files are kept under.
pub fn sim(name: &str) -> Sim {
    Sim::new(name)
}
