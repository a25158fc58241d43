use std::{sync::Arc, time::Duration};

use proptest::strategy::ValueTree;

use super::{
    case::{Case, CaseSource, Taken},
    failing::Failing,
};
use crate::{
    plan::{ChoicePoint, Plan},
    sim::builder::Sim,
};

/// A run, and the smaller runs that it shrinks to.
#[derive(Debug, Clone)]
pub struct CaseTree {
    sim: Sim,
    /// The source of the case's decisions until a case fails.
    first: CaseSource,
    taken: Taken,
    stage: ShrinkPhase,
    /// The smallest plan known to fail.
    smallest: Option<Plan>,
    /// The plan on trial.
    tried: Option<Plan>,
    /// The number of the next smaller plan to try.
    next: usize,
    failing: Option<Arc<Failing>>,
    /// Proptest's limit.
    patience: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShrinkPhase {
    /// No case has failed.
    Whole,
    /// The simulation's own checks have shrunk the plan, in one go.
    Shrunk,
    /// Only the test can detect a failure, so proptest tries each smaller plan.
    Stepwise,
}

impl CaseTree {
    pub(super) fn new(
        sim: Sim,
        first: CaseSource,
        failing: Option<Arc<Failing>>,
        patience: Option<Duration>,
    ) -> Self {
        Self {
            sim,
            first,
            taken: Taken::default(),
            stage: ShrinkPhase::Whole,
            smallest: None,
            tried: None,
            next: 0,
            failing,
            patience,
        }
    }

    /// Puts the next smaller plan on trial; if there is none, the smallest that failed.
    fn try_next(&mut self) -> bool {
        let smallest = self.smallest.as_ref();
        self.tried = smallest.and_then(|plan| smaller(plan, self.next));
        self.next += 1;
        self.tried.is_some()
    }
}

impl ValueTree for CaseTree {
    type Value = Case;

    fn current(&self) -> Case {
        let plan = self.tried.as_ref().or(self.smallest.as_ref());
        Case {
            sim: self.sim.clone(),
            source: plan.map_or_else(|| self.first.clone(), |plan| CaseSource::Plan(plan.clone())),
            taken: self.taken.clone(),
        }
    }

    /// The last case failed: its decisions are the smallest failure known.
    fn simplify(&mut self) -> bool {
        let Some(failed) = self.taken.take() else {
            // No case was played, so there is nothing to shrink.
            return false;
        };
        let begin = || Failing::begin(&self.sim, failed.clone(), self.patience);
        let failing = Arc::clone(self.failing.get_or_insert_with(begin));
        failing.failed(failed.clone());
        let smaller = self
            .smallest
            .as_ref()
            .is_none_or(|best| failed.len() <= best.len());
        if smaller && self.smallest.as_ref() != Some(&failed) {
            self.smallest = Some(failed.clone());
            self.next = 0;
        }
        match self.stage {
            ShrinkPhase::Whole => match failing.shrink(&self.sim) {
                Some(shrunk) => {
                    self.stage = ShrinkPhase::Shrunk;
                    self.tried = (shrunk != failed).then_some(shrunk);
                    self.tried.is_some()
                }
                None => {
                    self.stage = ShrinkPhase::Stepwise;
                    self.try_next()
                }
            },
            ShrinkPhase::Shrunk => {
                self.tried = None;
                false
            }
            ShrinkPhase::Stepwise => self.try_next(),
        }
    }

    /// The last case passed: tries another one. After the last case it goes back to the smallest failure, and returns
    /// true. Otherwise proptest would assume that nothing else of the test's input can be shrunk, either.
    fn complicate(&mut self) -> bool {
        self.taken.take();
        if self.tried.is_none() {
            return false;
        }
        // The test does not use the simulation's checks.
        self.stage = ShrinkPhase::Stepwise;
        self.try_next();
        true
    }
}

/// The smaller plan with this number: without the last half, the first half, the quarters, and so
/// on to single decisions; then with one decision lowered.
fn smaller(plan: &Plan, nth: usize) -> Option<Plan> {
    let points: Vec<ChoicePoint> = plan.iter().map(|(point, _)| point).collect();
    let mut left = nth;
    let mut size = points.len().div_ceil(2);
    while size > 0 {
        let chunks = points.len().div_ceil(size);
        if left < chunks {
            let mut candidate = plan.clone();
            for point in points.iter().rev().skip(left * size).take(size) {
                candidate.set(*point, 0);
            }
            return Some(candidate);
        }
        left -= chunks;
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    let mut high = points.into_iter().filter(|point| plan.get(*point) > 1);
    let point = high.nth(left)?;
    let mut candidate = plan.clone();
    candidate.set(point, 1);
    Some(candidate)
}
