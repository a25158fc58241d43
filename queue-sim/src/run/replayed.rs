//! What became of a plan that was played again.

use super::Played;
use crate::{
    check::{Verdict, Violation},
    plan::Site,
};

/// What became of a plan.
#[derive(Debug)]
pub struct Replayed {
    /// The run that it led to.
    pub played: Played,
    /// What the checks say of that.
    pub verdict: Verdict,
    /// Its decisions that nobody asked for. If there are any, it is a plan of other code than this,
    /// and that the rules hold says little.
    pub unmet: Vec<Site>,
}

impl Replayed {
    /// The rules that it breaks.
    pub fn violations(&self) -> &[Violation] {
        match &self.verdict {
            Verdict::Broken(violations) => violations,
            Verdict::Holds | Verdict::Inconclusive => &[],
        }
    }
}
