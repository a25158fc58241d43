use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use proptest::test_runner::{TestCaseError, TestCaseResult};

use crate::{
    plan::{Decisions, Plan},
    sim::{RunRecord, builder::Sim, report::RunReport},
};

/// One run of a [`Sim`], not yet played.
#[derive(Clone)]
pub struct Case {
    pub(super) sim: Sim,
    pub(super) source: CaseSource,
    pub(super) taken: Taken,
}

/// The source of a case's decisions.
#[derive(Debug, Clone)]
pub(super) enum CaseSource {
    Seed(u64),
    Plan(Plan),
}

/// The decisions of the last case that was played.
#[derive(Debug, Clone, Default)]
pub(super) struct Taken(Arc<Mutex<Option<Plan>>>);

impl Taken {
    /// The decisions, once.
    pub(super) fn take(&self) -> Option<Plan> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Plan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Case {
    /// Plays the run.
    pub fn play(&self) -> RunRecord {
        let decisions = match &self.source {
            CaseSource::Seed(seed) => Decisions::seeded(*seed),
            CaseSource::Plan(plan) => Decisions::planned(plan.clone()),
        };
        let run = self.sim.play(&decisions);
        *self.taken.lock() = Some(run.plan.clone());
        run
    }

    /// Plays the run, and checks it.
    ///
    /// # Errors
    ///
    /// The report of the first broken check.
    pub fn check(&self) -> TestCaseResult {
        let run = self.play();
        match self.sim.findings(&run).first() {
            None => Ok(()),
            Some(finding) => {
                let report = RunReport::new(&self.sim.name, &run, Some(finding)).with_picture();
                // A caller that quotes this may add a full stop, which must not end up in the
                // test's name.
                Err(TestCaseError::fail(format!("{report}\n")))
            }
        }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, &*self.taken.lock()) {
            (CaseSource::Plan(plan), _) | (_, Some(plan)) => write!(f, "{} {plan}", self.sim.name),
            (CaseSource::Seed(seed), None) => write!(f, "{} of seed {seed}", self.sim.name),
        }
    }
}
