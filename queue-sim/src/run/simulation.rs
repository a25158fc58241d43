use crate::{
    check::{Finding, Verdict},
    plan::{Decisions, Plan},
    world::Environment,
};

/// What is simulated: how one of its runs is played, and what must hold of it. The contract's own
/// workload is one ([`Scenario`](super::Scenario)), and so is every [`Sim`](crate::sim::Sim).
pub trait Simulation {
    /// A run that was played.
    type Run;

    /// Plays one run, in virtual time, on this thread. The same decisions play the same run.
    ///
    /// # Panics
    ///
    /// Inside an async runtime.
    fn play(&self, environment: &mut dyn Environment, decisions: &Decisions) -> Self::Run;

    /// What was decided in a run: plays the same again.
    fn plan<'a>(&self, run: &'a Self::Run) -> &'a Plan;

    /// What the checks say of a run.
    fn judge(&self, run: &Self::Run) -> Verdict;

    /// Where two runs of the same decisions are not the same.
    fn differ(&self, first: &Self::Run, second: &Self::Run) -> Option<Finding>;

    /// How much there is to tell of a run, in calls.
    fn operations(&self, run: &Self::Run) -> usize;
}
