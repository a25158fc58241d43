use super::{Replayed, Runs};
use crate::{
    check::Verdict,
    plan::{Misfit, Regression},
};

/// Why a kept plan does not pass.
#[derive(Debug)]
pub enum Relapse {
    /// It breaks a rule, the same again or another.
    Broken(Box<Replayed>),
    /// The checks ran out of their budget.
    Inconclusive,
    /// It passes, but no longer fits the code.
    Misfit(Misfit),
}

impl Runs<'_> {
    /// Plays a kept plan again. It is not counted.
    ///
    /// # Errors
    ///
    /// It does not pass, and why.
    pub fn regression(&mut self, kept: &Regression) -> Result<(), Relapse> {
        let replayed = self.plan(&kept.plan);
        match replayed.verdict {
            Verdict::Broken(_) => Err(Relapse::Broken(Box::new(replayed))),
            Verdict::Inconclusive => Err(Relapse::Inconclusive),
            Verdict::Holds => match kept.misfit(&replayed.unmet) {
                Some(misfit) => Err(Relapse::Misfit(misfit)),
                None => Ok(()),
            },
        }
    }
}
