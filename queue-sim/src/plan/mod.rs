//! The decisions of a run: a seed draws them, and a plan keeps, replays and shrinks them.
//!
//! Decisions at [`ChoicePoint`]s settle everything that a run leaves to chance: the next task, the actions of
//! processes, the loss of replies. A decision is a small number, and 0 is the simplest: no fault, no preemption, no
//! action. A [`Plan`] holds only the decisions that are not 0. So it stays small, prints in one line, and becomes
//! simpler with each decision that shrinking removes. The plan is shrunk and kept ([`Regressions`]), never the seed,
//! which dies at the first change of code.

mod choice_point;
mod decisions;
mod kept;
mod shrink;
mod text;

pub use self::{
    choice_point::{ChoicePoint, Process, What},
    decisions::{Chance, Decisions},
    kept::{Misfit, Regression, Regressions},
    shrink::shrink,
    text::PlanError,
};

/// The decisions that are not the simplest.
///
/// ```
/// use queue_sim::plan::{ChoicePoint, Process, Plan, What};
///
/// let plan: Plan = "v1:1.0.verb=3,2.4.request=1".parse().unwrap();
/// assert_eq!(plan.get(ChoicePoint::new(Process(1), 0, What::Verb)), 3);
/// assert_eq!(plan.get(ChoicePoint::new(Process(1), 1, What::Verb)), 0);
/// assert_eq!(plan.to_string(), "v1:1.0.verb=3,2.4.request=1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Plan(
    /// By choice point.
    Vec<(ChoicePoint, u32)>,
);

impl FromIterator<(ChoicePoint, u32)> for Plan {
    /// Makes a plan of these decisions. If two are at one choice point, the last one counts.
    fn from_iter<I: IntoIterator<Item = (ChoicePoint, u32)>>(decisions: I) -> Self {
        let mut plan: Vec<(ChoicePoint, u32)> = decisions.into_iter().collect();
        plan.sort_by_key(|(point, _)| *point);
        plan.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
        plan.retain(|(_, value)| *value > 0);
        Self(plan)
    }
}

impl Plan {
    /// The decision at this choice point.
    pub fn get(&self, point: ChoicePoint) -> u32 {
        self.find(point).map_or(0, |at| self.0[at].1)
    }

    /// Sets the decision at this choice point; 0 takes it out.
    pub fn set(&mut self, point: ChoicePoint, value: u32) {
        match self.find(point) {
            Ok(at) if value == 0 => drop(self.0.remove(at)),
            Ok(at) => self.0[at].1 = value,
            Err(_) if value == 0 => {}
            Err(at) => self.0.insert(at, (point, value)),
        }
    }

    /// The decisions, by choice point.
    pub fn iter(&self) -> impl Iterator<Item = (ChoicePoint, u32)> {
        self.0.iter().copied()
    }

    fn find(&self, point: ChoicePoint) -> Result<usize, usize> {
        self.0.binary_search_by_key(&point, |(point, _)| *point)
    }

    /// The number of decisions that are not the simplest.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all decisions are the simplest.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
