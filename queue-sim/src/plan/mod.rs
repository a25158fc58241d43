//! The decisions of a run: drawn from a seed, kept as a plan, replayed and shrunk.
//!
//! Whatever is left to chance in a run is decided here, at a [`Site`]: which task goes next, what
//! a lane does, whether a reply is lost. A decision is a small number, and 0 is the simplest: no
//! fault, no preemption, nothing done. A [`Plan`] holds only what is not 0, so it stays small, can
//! be printed in one line, and what is taken out of it becomes simple. It is the plan that is
//! shrunk and kept ([`Regressions`]), never the seed, which dies at the first change of code.

mod decisions;
mod kept;
mod shrink;
mod site;
mod text;

pub use self::{
    decisions::{Chance, Decisions},
    kept::{Misfit, Regression, Regressions},
    shrink::shrink,
    site::{Lane, Site, What},
    text::PlanError,
};

/// What was decided otherwise than in the simplest way.
///
/// ```
/// use queue_sim::plan::{Lane, Plan, Site, What};
///
/// let plan: Plan = "v1:1.0.verb=3,2.4.request=1".parse().unwrap();
/// assert_eq!(plan.get(Site::new(Lane(1), 0, What::Verb)), 3);
/// assert_eq!(plan.get(Site::new(Lane(1), 1, What::Verb)), 0);
/// assert_eq!(plan.to_string(), "v1:1.0.verb=3,2.4.request=1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Plan(
    /// By site.
    Vec<(Site, u32)>,
);

impl FromIterator<(Site, u32)> for Plan {
    /// These decisions; of two at one site, the last.
    fn from_iter<I: IntoIterator<Item = (Site, u32)>>(decisions: I) -> Self {
        let mut plan: Vec<(Site, u32)> = decisions.into_iter().collect();
        plan.sort_by_key(|(site, _)| *site);
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
    /// What is decided at this site.
    pub fn get(&self, site: Site) -> u32 {
        self.find(site).map_or(0, |at| self.0[at].1)
    }

    /// Decides at this site; 0 takes the decision out.
    pub fn set(&mut self, site: Site, value: u32) {
        match self.find(site) {
            Ok(at) if value == 0 => drop(self.0.remove(at)),
            Ok(at) => self.0[at].1 = value,
            Err(_) if value == 0 => {}
            Err(at) => self.0.insert(at, (site, value)),
        }
    }

    /// The decisions, by site.
    pub fn iter(&self) -> impl Iterator<Item = (Site, u32)> {
        self.0.iter().copied()
    }

    fn find(&self, site: Site) -> Result<usize, usize> {
        self.0.binary_search_by_key(&site, |(site, _)| *site)
    }

    /// How many decisions are not the simplest.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all decisions are the simplest.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
