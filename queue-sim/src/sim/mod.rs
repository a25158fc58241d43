//! Your own logic under the simulator: your producers and your handlers, unchanged from production,
//! in virtual time, under crashes, lost replies and expired leases.

mod actors;
mod audit;
mod broken;
mod builder;
mod cases;
pub mod check;
mod fault_set;
mod handled;
mod held;
mod kept;
mod ledger;
mod limits;
mod panics;
mod play;
mod report;
mod run;
mod run_record;
mod runner;
mod tally;
mod variables;

pub use self::{
    broken::Broken,
    builder::{Body, BoxError, QueueWorkload, Sim},
    cases::{Case, CaseTree, Cases},
    check::{Check, Drained, Effects, Finding, Rules},
    fault_set::FaultSet,
    ledger::{Effect, Ledger, Stale},
    run::Run,
    run_record::{Fates, RunRecord},
    tally::Tally,
    variables::{first_seed_of_the_day, seeds_or},
};

/// Begins a simulation of this name. Failures show the name, and the files of kept plans bear it,
/// so give each simulation of a crate its own.
pub fn sim(name: &str) -> Sim {
    Sim::new(name)
}
