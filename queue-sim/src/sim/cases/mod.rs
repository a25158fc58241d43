//! A simulation as a proptest strategy.

mod case;
mod failing;
mod tree;

use std::time::Duration;

use proptest::{
    strategy::{NewTree, Strategy},
    test_runner::{Reason, TestRunner},
};
use rand_chacha::rand_core::Rng;

pub use self::{case::Case, tree::CaseTree};
use self::{case::CaseSource, failing::Failing};
use super::{builder::Sim, variables};

impl Sim {
    /// A proptest strategy of this simulation's runs, for tests that mix them with other generated
    /// values. A run that breaks one of the simulation's checks shrinks at once, as
    /// [`run`](Self::run) shrinks it. If only the test's own assertions fail, proptest shrinks the
    /// plan step by step: it takes decisions out, and then lowers the rest.
    ///
    /// The simulation may depend on generated values, by `prop_flat_map`: give it the same name for all of them. The
    /// values and the plan shrink together. A simpler value is played with the plan that failed last, and then with
    /// some other seeds. Beside proptest's own limits, shrinking plays at most 10,000 runs.
    ///
    /// With `QUEUE_SIM_REPLAY='v1:…'` every case plays that plan. Proptest generates all other
    /// values, and keeps them in its own files.
    ///
    /// ```
    /// use proptest::prelude::*;
    /// use queue_core::ReliableConfig;
    /// use queue_sim::sim::{Drained, sim};
    /// use std::time::Duration;
    ///
    /// let jobs = sim("jobs")
    ///     .reliable::<u32>("jobs", ReliableConfig::default())
    ///     .producer(|jobs| async move {
    ///         jobs.push(&1).await?;
    ///         Ok(())
    ///     })
    ///     .handler(|_run| |_job, _cx| async {})
    ///     .check(Drained::within(Duration::from_secs(600)));
    /// proptest!(ProptestConfig::with_cases(16), |(case in jobs.cases())| {
    ///     case.check()?;
    /// });
    /// ```
    pub fn cases(&self) -> Cases {
        Cases { sim: self.clone() }
    }
}

/// A strategy of the runs of a [`Sim`].
#[derive(Debug, Clone)]
pub struct Cases {
    sim: Sim,
}

impl Strategy for Cases {
    type Tree = CaseTree;
    type Value = Case;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        // Drawn in any case, so that the values drawn after it stay the same.
        let seed = runner.rng().next_u64();
        let replayed = variables::replay().transpose().map_err(Reason::from)?;
        let failing = Failing::of(&self.sim);
        let plan = match (replayed, &failing) {
            (None, Some(failing)) => failing.draw(&self.sim, seed)?,
            (replayed, _) => replayed,
        };
        let first = plan.map_or(CaseSource::Seed(seed), CaseSource::Plan);
        let limit = u64::from(runner.config().max_shrink_time);
        let patience = (limit > 0).then(|| Duration::from_millis(limit));
        Ok(CaseTree::new(self.sim.clone(), first, failing, patience))
    }
}
