use crate::{
    check::{Finding, Verdict},
    plan::{Decisions, Plan},
    world::Environment,
};

/// A simulation: it plays its runs and checks them. The contract's own workload is one
/// ([`Scenario`](super::Scenario)), and so is every [`Sim`](crate::sim::Sim).
pub trait Simulation {
    /// A run that was played.
    type Run;

    /// Plays one run, in virtual time, on this thread. The same decisions play the same run.
    ///
    /// # Panics
    ///
    /// Inside an async runtime.
    fn play(&self, environment: &mut dyn Environment, decisions: &Decisions) -> Self::Run;

    /// The run's decisions. They play the same run again.
    fn plan<'a>(&self, run: &'a Self::Run) -> &'a Plan;

    /// The checks' verdict on a run.
    fn judge(&self, run: &Self::Run) -> Verdict;

    /// The first difference between two runs of the same decisions.
    fn differ(&self, first: &Self::Run, second: &Self::Run) -> Option<Finding>;

    /// The length of a run, in calls.
    fn operations(&self, run: &Self::Run) -> usize;
}
