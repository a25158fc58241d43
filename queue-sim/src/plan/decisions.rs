use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::{ChoicePoint, Plan, Process, What};

/// The chance that a decision is not the simplest, in percent.
pub type Chance = u32;

/// Takes decisions, and remembers them. Clones share them.
#[derive(Clone)]
pub struct Decisions(Arc<Mutex<DecisionState>>);

struct DecisionState {
    source: DecisionSource,
    /// In the order in which they were taken: sorting once costs less than keeping them sorted.
    taken: Vec<(ChoicePoint, u32)>,
    /// Each process's place, by its number.
    places: Vec<ChoiceCounter>,
}

/// A process's step, and the number of its decisions about each matter in this step.
#[derive(Clone, Copy, Default)]
struct ChoiceCounter {
    step: u32,
    taken: [u32; What::ALL.len()],
}

enum DecisionSource {
    /// Decides by chance, except where `given` decides.
    Seed { rng: Box<ChaCha8Rng>, given: Plan },
    Plan {
        plan: Plan,
        met: BTreeSet<ChoicePoint>,
    },
}

impl Decisions {
    /// Decides by chance. The same seed gives the same decisions, on every machine, if the program
    /// asks for them in the same order.
    pub fn seeded(seed: u64) -> Self {
        Self::seeded_but_for(seed, Plan::default())
    }

    /// Decides by chance, except where this plan holds a decision: for rare sorts of runs.
    /// [`taken`](Self::taken) then has the decisions of both, and plays the run again alone.
    pub fn seeded_but_for(seed: u64, given: Plan) -> Self {
        let rng = Box::new(ChaCha8Rng::seed_from_u64(seed));
        Self::of(DecisionSource::Seed { rng, given })
    }

    /// Decides as this plan does.
    pub fn planned(plan: Plan) -> Self {
        let met = BTreeSet::new();
        Self::of(DecisionSource::Plan { plan, met })
    }

    fn of(source: DecisionSource) -> Self {
        Self(Arc::new(Mutex::new(DecisionState {
            source,
            taken: Vec::new(),
            places: Vec::new(),
        })))
    }

    /// Begins this step of the process. If the process is at this step already, the step goes on, because no two
    /// decisions may share a choice point.
    pub fn enter(&self, process: Process, step: u32) {
        let mut state = self.lock();
        let place = state.place(process);
        if place.step != step {
            let taken = [0; What::ALL.len()];
            *place = ChoiceCounter { step, taken };
        }
    }

    /// The choice point of the process's next decision about this matter: the process's current step, and the next free
    /// number.
    pub fn choice_point(&self, process: Process, what: What) -> ChoicePoint {
        let mut state = self.lock();
        let place = state.place(process);
        let nth = &mut place.taken[what as usize];
        let point = ChoicePoint {
            process,
            step: place.step,
            what,
            nth: *nth,
        };
        *nth += 1;
        point
    }

    /// Decides between the given number of options: mostly the simplest, 0; with this chance any other.
    pub fn draw(&self, point: ChoicePoint, options: u32, chance: Chance) -> u32 {
        self.decide(point, options, |rng| {
            if below(rng, 100) < chance {
                1 + below(rng, options - 1)
            } else {
                0
            }
        })
    }

    /// Decides between the given number of options, all equally likely.
    pub fn choose(&self, point: ChoicePoint, options: u32) -> u32 {
        self.decide(point, options, |rng| below(rng, options))
    }

    /// Decides between options with these weights.
    pub fn weigh(&self, point: ChoicePoint, weights: &[u32]) -> u32 {
        let options = u32::try_from(weights.len()).unwrap_or(u32::MAX);
        self.decide(point, options, |rng| {
            let mut left = below(rng, weights.iter().sum());
            let reached = weights.iter().position(|weight| {
                let here = left < *weight;
                left = left.saturating_sub(*weight);
                here
            });
            reached.unwrap_or(0) as u32
        })
    }

    fn decide(
        &self,
        point: ChoicePoint,
        options: u32,
        roll: impl FnOnce(&mut ChaCha8Rng) -> u32,
    ) -> u32 {
        if options < 2 {
            return 0;
        }
        let mut state = self.lock();
        let value = match &mut state.source {
            DecisionSource::Seed { rng, given } => match given.get(point) {
                0 => roll(rng),
                value => value.min(options - 1),
            },
            DecisionSource::Plan { plan, met } => {
                let value = plan.get(point);
                if value > 0 {
                    met.insert(point);
                }
                value.min(options - 1)
            }
        };
        if value > 0 {
            state.taken.push((point, value));
        }
        value
    }

    /// The decisions so far. As a plan they play the same run.
    ///
    /// # Panics
    ///
    /// If two decisions share a choice point: the plan can hold one of them, and would play another run.
    pub fn taken(&self) -> Plan {
        let state = self.lock();
        let plan: Plan = state.taken.iter().copied().collect();
        assert_eq!(
            plan.len(),
            state.taken.len(),
            "two decisions share a choice point"
        );
        plan
    }

    /// The plan's decisions that the run did not ask for. If there are any, the plan belongs to
    /// another program, or to another version of it.
    pub fn unmet(&self) -> Vec<ChoicePoint> {
        match &self.lock().source {
            DecisionSource::Seed { .. } => Vec::new(),
            DecisionSource::Plan { plan, met } => {
                let points = plan.iter().map(|(point, _)| point);
                points.filter(|point| !met.contains(point)).collect()
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, DecisionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DecisionState {
    fn place(&mut self, process: Process) -> &mut ChoiceCounter {
        let at = usize::from(process.0);
        if self.places.len() <= at {
            self.places.resize(at + 1, ChoiceCounter::default());
        }
        &mut self.places[at]
    }
}

/// This is even enough: the bias of a product is too small for a seed to show.
fn below(rng: &mut ChaCha8Rng, bound: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(bound)) >> 32) as u32
}

impl fmt::Debug for Decisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let planned = matches!(state.source, DecisionSource::Plan { .. });
        f.debug_struct("Decisions")
            .field("planned", &planned)
            .field("taken", &state.taken.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Process, What},
        *,
    };

    fn point(step: u32) -> ChoicePoint {
        ChoicePoint::new(Process(1), step, What::Verb)
    }

    #[test]
    fn a_plan_decides_as_the_seed_did() {
        let seeded = Decisions::seeded(7);
        let drawn: Vec<u32> = (0..200)
            .map(|step| seeded.draw(point(step), 6, 40))
            .collect();
        let planned = Decisions::planned(seeded.taken());
        let again: Vec<u32> = (0..200)
            .map(|step| planned.draw(point(step), 6, 40))
            .collect();
        assert_eq!(drawn, again);
        assert_eq!(planned.taken(), seeded.taken());
        assert!(planned.unmet().is_empty());
    }

    #[test]
    fn given_decisions_are_not_drawn() {
        let mut given = Plan::default();
        given.set(point(3), 2);
        let decisions = Decisions::seeded_but_for(7, given);
        let drawn: Vec<u32> = (0..50)
            .map(|step| decisions.draw(point(step), 6, 40))
            .collect();
        assert_eq!(drawn[3], 2);
        assert!(drawn.iter().any(|value| *value > 2), "{drawn:?}");
        assert_eq!(decisions.taken().get(point(3)), 2);
    }

    #[test]
    fn the_chance_is_kept_and_every_option_is_met() {
        let decisions = Decisions::seeded(1);
        let mut counts = [0_u32; 4];
        for step in 0..10_000 {
            counts[decisions.draw(point(step), 4, 30) as usize] += 1;
        }
        assert!((6_800..7_200).contains(&counts[0]), "{counts:?}");
        assert!(counts[1..].iter().all(|count| *count > 800), "{counts:?}");
    }

    #[test]
    fn weights_are_kept() {
        let decisions = Decisions::seeded(1);
        let mut counts = [0_u32; 3];
        for step in 0..10_000 {
            counts[decisions.weigh(point(step), &[70, 0, 30]) as usize] += 1;
        }
        assert!((6_800..7_200).contains(&counts[0]), "{counts:?}");
        assert_eq!(counts[1], 0);
    }

    #[test]
    fn a_process_counts_what_it_decides_in_each_step() {
        let decisions = Decisions::seeded(1);
        let next = || decisions.choice_point(Process(2), What::Reply);
        decisions.enter(Process(2), 5);
        assert_eq!(next(), ChoicePoint::new(Process(2), 5, What::Reply));
        decisions.enter(Process(2), 5);
        assert_eq!(next(), ChoicePoint::new(Process(2), 5, What::Reply).nth(1));
        decisions.enter(Process(2), 6);
        assert_eq!(next(), ChoicePoint::new(Process(2), 6, What::Reply));
        assert_eq!(
            decisions.choice_point(Process(1), What::Reply),
            ChoicePoint::new(Process(1), 0, What::Reply)
        );
    }

    #[test]
    fn decisions_that_a_run_never_asks_for_are_unmet() {
        let mut plan = Plan::default();
        plan.set(point(3), 2);
        let decisions = Decisions::planned(plan);
        decisions.draw(point(2), 5, 50);
        assert_eq!(decisions.unmet(), [point(3)]);
    }
}
