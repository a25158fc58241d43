//! Plans that failed once: a file keeps them, and each test plays them before any seed.

use std::{env, path::PathBuf};

use super::{
    broken::{Broken, broken_by},
    builder::Sim,
    check::Finding,
    report::RunReport,
    variables,
};
use crate::{
    plan::{Misfit, Plan, Regressions},
    run::{Relapse, Runner},
    world::Environment,
};

const FOLDER: &str = "sim-regressions";

/// The reaction to kept plans that pass but do not fit any more: `QUEUE_SIM_KEPT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upkeep {
    /// Fail, and name the remedy.
    Tell,
    /// Apply the remedy.
    Update,
}

impl Upkeep {
    pub(super) fn asked() -> Self {
        match variables::kept().as_deref() {
            None => Self::Tell,
            Some("update") => Self::Update,
            Some(other) => panic!("QUEUE_SIM_KEPT={other:?}: update, or leave it out"),
        }
    }
}

impl Sim {
    /// The file of kept plans; `None` outside of cargo, unless the caller gave a folder.
    pub(super) fn kept(&self, environment: &dyn Environment) -> Option<Regressions> {
        let crate_under_test = || Some(PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?));
        let folder = self.regressions.clone();
        let folder = folder.or_else(|| Some(crate_under_test()?.join(FOLDER)))?;
        Some(Regressions::of(&folder, &self.name, environment.name()))
    }

    /// Plays the kept plans. Returns the plans that pass, but do not fit any more.
    ///
    /// # Panics
    ///
    /// If the file cannot be read.
    pub(super) fn play_kept(
        &self,
        runner: &mut Runner<'_, Self>,
        file: &Regressions,
    ) -> Result<Vec<Misfit>, Box<Broken>> {
        let kept = file.read();
        let kept = kept.unwrap_or_else(|error| panic!("the kept plans of {}: {error}", self.name));
        let mut misfits = Vec::new();
        for kept in kept {
            let place = kept.place();
            match runner.regression(&kept) {
                Ok(replayed) => {
                    if variables::is_verbose() {
                        eprintln!(
                            "{place}: {}",
                            RunReport::new(&self.name, &replayed.run, None)
                        );
                    }
                }
                Err(Relapse::Misfit(misfit)) => misfits.push(misfit),
                Err(Relapse::Broken(replayed)) => {
                    let finding = replayed.findings()[0].clone();
                    let mut broken = self.broken(&runner.shrink(replayed.run, finding));
                    broken.message =
                        format!("{place}: a kept plan fails again\n{}", broken.message);
                    return Err(broken);
                }
                Err(Relapse::Inconclusive) => {
                    let message = format!("{place}: the checks ran out of their budget");
                    return Err(broken_by("inconclusive", message));
                }
            }
        }
        Ok(misfits)
    }

    /// Applies the remedies of misfits, or fails because of them.
    pub(super) fn settle(
        &self,
        file: &Regressions,
        misfits: &[Misfit],
        upkeep: Upkeep,
    ) -> Result<(), Box<Broken>> {
        if misfits.is_empty() {
            return Ok(());
        }
        if upkeep == Upkeep::Tell {
            let misfits: Vec<String> = misfits.iter().map(Misfit::to_string).collect();
            let message = format!(
                "{}: every seed passes, and so does every kept plan, but not all of these prove \
                 anything.\n\n{}\nQUEUE_SIM_KEPT=update cargo test … does all of this: replaces what \
                 can be replaced, and deletes the rest.\nIf a plan is not of this test at all: \
                 simulations of one name share a file, so give each a name of its own.",
                self.name,
                misfits.join("\n")
            );
            return Err(broken_by("kept plans", message));
        }
        if let Err(error) = file.update(misfits) {
            let message = format!("the kept plans of {} cannot be updated: {error}", self.name);
            return Err(broken_by("kept plans", message));
        }
        for misfit in misfits {
            let place = misfit.place();
            match misfit.replacement() {
                Some(line) => eprintln!("{place} is now: {line}"),
                None => eprintln!("{place} is deleted"),
            }
        }
        Ok(())
    }

    /// Keeps the plan of a failure. If the file cannot be written, the message says so beside the failure.
    pub(super) fn keep(&self, file: &Regressions, plan: &Plan, finding: &Finding) {
        let broken_by = match file.keep(&finding.to_string(), plan) {
            Ok(()) => format!("kept in {file}, to be played first: check it in with what mends it"),
            Err(error) => format!("the plan could not be kept: {error}"),
        };
        eprintln!("{broken_by}");
    }
}
