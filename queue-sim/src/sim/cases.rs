//! A simulation as a proptest strategy.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use proptest::{
    strategy::{NewTree, Strategy, ValueTree},
    test_runner::{Reason, TestCaseError, TestCaseResult, TestRunner},
};
use rand_chacha::rand_core::Rng;

use super::{Story, builder::Sim, report::Report, variables};
use crate::plan::{Decisions, Plan, Site};

impl Sim {
    /// A proptest strategy of this simulation's runs, for tests that mix them with other generated
    /// values. It shrinks the plan: it takes decisions out one by one, and then lowers the rest.
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
        Ok(CaseTree {
            sim: self.sim.clone(),
            seed,
            taken: Arc::default(),
            smallest: replayed,
            tried: None,
            next: 0,
        })
    }
}

/// One run of a [`Sim`], not yet played.
#[derive(Clone)]
pub struct Case {
    sim: Sim,
    source: Source,
    taken: Arc<Mutex<Option<Plan>>>,
}

#[derive(Debug, Clone)]
enum Source {
    Seed(u64),
    Plan(Plan),
}

impl Case {
    /// Plays the run.
    pub fn story(&self) -> Story {
        let decisions = match &self.source {
            Source::Seed(seed) => Decisions::seeded(*seed),
            Source::Plan(plan) => Decisions::planned(plan.clone()),
        };
        let story = self.sim.story(&decisions);
        *lock(&self.taken) = Some(story.plan.clone());
        story
    }

    /// Plays the run, and checks it.
    ///
    /// # Errors
    ///
    /// The story of the first broken check.
    pub fn check(&self) -> TestCaseResult {
        let story = self.story();
        match self.sim.findings(&story).first() {
            None => Ok(()),
            Some(finding) => {
                let report = Report::new(&self.sim.name, &story, Some(finding));
                // A caller that quotes this may add a full stop, which must not end up in the
                // test's name.
                Err(TestCaseError::fail(format!("{report}\n")))
            }
        }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, &*lock(&self.taken)) {
            (Source::Plan(plan), _) | (_, Some(plan)) => write!(f, "{} {plan}", self.sim.name),
            (Source::Seed(seed), None) => write!(f, "{} of seed {seed}", self.sim.name),
        }
    }
}

/// A run, and the smaller runs that it shrinks to.
#[derive(Debug, Clone)]
pub struct CaseTree {
    sim: Sim,
    seed: u64,
    /// The decisions of the last case played.
    taken: Arc<Mutex<Option<Plan>>>,
    /// The smallest plan known to fail.
    smallest: Option<Plan>,
    /// The plan on trial.
    tried: Option<Plan>,
    /// The number of the next smaller plan to try.
    next: usize,
}

impl ValueTree for CaseTree {
    type Value = Case;

    fn current(&self) -> Case {
        let plan = self.tried.as_ref().or(self.smallest.as_ref());
        Case {
            sim: self.sim.clone(),
            source: plan.map_or(Source::Seed(self.seed), |plan| Source::Plan(plan.clone())),
            taken: Arc::clone(&self.taken),
        }
    }

    /// The last case failed: its decisions are the smallest failure known.
    fn simplify(&mut self) -> bool {
        let Some(failed) = lock(&self.taken).take() else {
            // No case was played, so there is nothing to shrink.
            return false;
        };
        let smaller = self
            .smallest
            .as_ref()
            .is_none_or(|best| failed.len() <= best.len());
        if smaller && self.smallest.as_ref() != Some(&failed) {
            self.smallest = Some(failed);
            self.next = 0;
        }
        self.try_next()
    }

    /// The last case passed: tries another one.
    fn complicate(&mut self) -> bool {
        lock(&self.taken).take();
        self.try_next()
    }
}

impl CaseTree {
    fn try_next(&mut self) -> bool {
        let next = self
            .smallest
            .as_ref()
            .and_then(|plan| smaller(plan, self.next));
        self.next += 1;
        let found = next.is_some();
        self.tried = next;
        found
    }
}

/// The smaller plan with this number: without the last half, the first half, the quarters, and so
/// on to single decisions; then with one decision lowered.
fn smaller(plan: &Plan, nth: usize) -> Option<Plan> {
    let sites: Vec<Site> = plan.iter().map(|(site, _)| site).collect();
    let mut left = nth;
    let mut size = sites.len().div_ceil(2);
    while size > 0 {
        let chunks = sites.len().div_ceil(size);
        if left < chunks {
            let mut candidate = plan.clone();
            for site in sites.iter().rev().skip(left * size).take(size) {
                candidate.set(*site, 0);
            }
            return Some(candidate);
        }
        left -= chunks;
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    let mut high = sites.into_iter().filter(|site| plan.get(*site) > 1);
    let site = high.nth(left)?;
    let mut candidate = plan.clone();
    candidate.set(site, 1);
    Some(candidate)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
