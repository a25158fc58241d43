use std::collections::BTreeSet;

use queue_core::QueueKind;

use super::{Failure, Played, Replayed, Scenario, Tally, play};
use crate::{
    check::{Budget, Verdict, Violation, check, goals, reached},
    plan::{Decisions, Plan},
    workload,
    world::{Fault, Ground},
};

/// Plays runs of one scenario, checks them, counts, and shrinks what fails.
///
/// ```
/// use queue_core::QueueKind;
/// use queue_sim::{run::{Runs, Scenario}, world::MemoryGround};
///
/// let mut ground = MemoryGround::new();
/// let mut runs = Runs::new(Scenario::new(QueueKind::Delay), &mut ground).twice();
/// for seed in 0..20 {
///     runs.seed(seed);
/// }
/// assert!(runs.tally().passes());
/// ```
#[derive(Debug)]
pub struct Runs<'a> {
    scenario: Scenario,
    ground: &'a mut dyn Ground,
    budget: Budget,
    twice: bool,
    missing: BTreeSet<&'static str>,
    tally: Tally,
    failures: Vec<Failure>,
}

impl<'a> Runs<'a> {
    /// Runs of this scenario on this ground; none so far.
    pub fn new(scenario: Scenario, ground: &'a mut dyn Ground) -> Self {
        Self {
            missing: all_goals(scenario.kind),
            scenario,
            ground,
            budget: Budget::default(),
            twice: false,
            tally: Tally::default(),
            failures: Vec::new(),
        }
    }

    /// Plays every run twice, by its seed again or by its plan in turns: a history that is not the
    /// same breaks `determinism`.
    #[must_use]
    pub const fn twice(mut self) -> Self {
        self.twice = true;
        self
    }

    /// What is played.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What they came to so far.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The first run that broke each rule, as small as it could be made.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Plays and checks the run of a seed. One that breaks a rule which none before it broke is
    /// shrunk at once.
    pub fn seed(&mut self, seed: u64) {
        self.seed_but_for(seed, &Plan::default());
    }

    /// The same, but where this plan decides: for runs of a sort that is rare.
    pub fn seed_but_for(&mut self, seed: u64, given: &Plan) {
        let seeded = || Decisions::seeded_but_for(seed, given.clone());
        let played = play(&self.scenario, self.ground, seeded());
        let again = self.twice.then(|| match seed % 2 {
            0 => seeded(),
            _ => Decisions::planned(played.plan.clone()),
        });
        let verdict = self.verdict(&played, again);
        self.tally.count(seed, &played);
        // Looking for goals takes as long as some of the rules do.
        if !self.missing.is_empty() {
            self.tally.goals.extend(reached(&played));
            let tally = &self.tally;
            self.missing.retain(|goal| !tally.goals.contains(goal));
        }
        match verdict {
            Verdict::Holds => {}
            Verdict::Inconclusive => self.tally.count_inconclusive(&played),
            Verdict::Broken(violations) => {
                self.tally.violations += 1;
                self.fail(seed, played, violations);
            }
        }
    }

    /// Counts what runs of the same scenario came to that were played beside these, on another
    /// thread and ground.
    pub fn absorb(&mut self, other: Runs<'_>) {
        self.missing.retain(|goal| other.missing.contains(goal));
        self.tally.absorb(other.tally);
        self.failures.extend(other.failures);
        // The first of each rule, as if they had been played one after another.
        self.failures.sort_by_key(|failure| failure.seed);
        let mut known = BTreeSet::new();
        let rules = |failure: &Failure| failure.violation.rule;
        self.failures.retain(|failure| known.insert(rules(failure)));
    }

    /// Plays and checks the run of a plan. It is not counted.
    pub fn plan(&mut self, plan: &Plan) -> Replayed {
        let decisions = Decisions::planned(plan.clone());
        let played = play(&self.scenario, self.ground, decisions.clone());
        let again = self.twice.then(|| Decisions::planned(plan.clone()));
        Replayed {
            verdict: self.verdict(&played, again),
            played,
            unmet: decisions.unmet(),
        }
    }

    /// The goals of this kind of queue that no run has reached so far.
    pub const fn missed_goals(&self) -> &BTreeSet<&'static str> {
        &self.missing
    }

    /// The faults of the ground that struck in no run.
    pub fn unstruck_faults(&self) -> Vec<Fault> {
        self.tally.unstruck(self.ground.faults())
    }

    fn verdict(&mut self, played: &Played, again: Option<Decisions>) -> Verdict {
        if let Some(decisions) = again {
            let second = play(&self.scenario, self.ground, decisions);
            if let Some(violation) = differ(played, &second) {
                return Verdict::Broken(vec![violation]);
            }
        }
        check(played, self.budget)
    }

    fn fail(&mut self, seed: u64, played: Played, violations: Vec<Violation>) {
        let Some(violation) = violations.into_iter().next() else {
            return;
        };
        let known = |failure: &Failure| failure.violation.rule == violation.rule;
        if self.failures.iter().any(known) {
            return;
        }
        let failure = Failure::shrunk(seed, played, violation, |plan| {
            // A difference shows only to who plays twice.
            self.plan(plan)
        });
        self.failures.push(failure);
    }
}

/// What lanes must do, and what the checks must get to see of it.
fn all_goals(kind: QueueKind) -> BTreeSet<&'static str> {
    let mut all = goals(kind);
    all.extend(workload::goals(kind));
    all
}

/// Where two runs of the same decisions are not the same.
fn differ(first: &Played, second: &Played) -> Option<Violation> {
    if first.history == second.history && first.end == second.end {
        return None;
    }
    let records = first.history.records.iter().zip(&second.history.records);
    let different = records.into_iter().find(|(one, other)| one != other);
    let message = match different {
        Some((one, other)) => format!("once {one:?}, once {other:?}"),
        None => format!(
            "once {} calls and {:?}, once {} calls and {:?}",
            first.history.len(),
            first.end,
            second.history.len(),
            second.end
        ),
    };
    Some(Violation {
        rule: "determinism",
        message: format!("the same decisions lead to different runs: {message}"),
        calls: different.map(|(one, _)| one.id).into_iter().collect(),
    })
}
