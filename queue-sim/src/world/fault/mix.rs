use super::Fault;
use crate::plan::{Chance, ChoicePoint, Decisions, Process, What};

/// The chance of each fault at each occasion, in percent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultMix {
    mix: Vec<(Fault, Chance)>,
    spared: Vec<Process>,
}

impl FaultMix {
    /// No fault strikes.
    pub const fn none() -> Self {
        Self {
            mix: Vec::new(),
            spared: Vec::new(),
        }
    }

    /// Draws the mix of one run: each of these faults strikes in some runs and not in others, at a
    /// chance of the run's own. In some runs no fault strikes, in some nearly all do. Mixes differ
    /// more from each other than draws from one mix would (swarm testing: Groce and others, 2012).
    pub fn drawn(decisions: &Decisions, possible: &[Fault]) -> Self {
        let mut mix = Vec::new();
        let point =
            ChoicePoint::new(Process::WORLD, 1, What::Parameter).nth(Fault::ALL.len() as u32);
        let density = [0, 10, 25, 50][decisions.choose(point, 4) as usize];
        for fault in possible {
            let nth = *fault as u32;
            let point = ChoicePoint::new(Process::WORLD, 1, What::Parameter).nth(nth);
            let chance = match decisions.draw(point, 4, density) {
                0 => continue,
                1 => 3,
                2 => 15,
                _ => 40,
            };
            mix.push((*fault, chance));
        }
        Self {
            mix,
            spared: Vec::new(),
        }
    }

    /// Sets this fault's chance.
    #[must_use]
    pub fn with(mut self, fault: Fault, chance: Chance) -> Self {
        self.mix.retain(|(other, _)| *other != fault);
        self.mix.push((fault, chance));
        self
    }

    /// Takes out the faults that `allowed` refuses.
    #[must_use]
    pub fn only(mut self, allowed: impl Fn(Fault) -> bool) -> Self {
        self.mix.retain(|(fault, _)| allowed(*fault));
        self
    }

    /// The fault's chance.
    pub fn chance(&self, fault: Fault) -> Chance {
        let found = self.mix.iter().find(|(other, _)| *other == fault);
        found.map_or(0, |(_, chance)| *chance)
    }

    /// Takes all faults from this process.
    #[must_use]
    pub fn sparing(mut self, process: Process) -> Self {
        self.spared.push(process);
        self
    }

    /// Whether no fault ever strikes this process.
    pub fn spares(&self, process: Process) -> bool {
        self.spared.contains(&process)
    }

    /// The faults with a chance above 0.
    pub fn iter(&self) -> impl Iterator<Item = Fault> {
        self.mix.iter().map(|(fault, _)| *fault)
    }
}
