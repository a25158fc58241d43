//! Plays many runs, and reports the first that breaks a check.

use std::{collections::BTreeSet, ops::Range};

use tokio::runtime::Handle;

use super::{
    RunRecord,
    broken::{Broken, broken_by},
    builder::Sim,
    kept::Upkeep,
    play::play,
    report::{RunReport, first_difference},
    tally::Tally,
    variables::{self, seeds_or},
};
use crate::{
    check::{Finding, Verdict},
    engine::End,
    plan::{Decisions, Plan, Process},
    run::{Replayed, RunFailure, Runner, Simulation},
    world::{Environment, MemoryEnvironment},
};

/// The most decisions of a short failure.
const SHORT: usize = 6;
/// The number of other runs with the same failure that the runner also shrinks if a failure stays long.
const OTHERS: usize = 4;
/// The number of first seeds that the runner plays twice, and compares.
const TWICE: u64 = 8;

impl Sim {
    /// Plays the simulation: first the plans that failed before, then one run for each seed.
    ///
    /// It shrinks a run that fails, and keeps the plan in a file ([`regressions`](Self::regressions) says where), to
    /// play it first from then on. Keep these files in version control. A kept plan may pass now, but hold decisions
    /// that the run no longer asks for. Then it does not count as passed. A fixed bug may send the run another way, but
    /// so may any other change of the code, and the plan then proves nothing. So if all else passes, such a plan fails
    /// the test. The message gives the line that replaces the plan, or says to delete it.
    ///
    /// It prints totals of the runs. Environment variables control it:
    ///
    /// | variable | |
    /// | --- | --- |
    /// | `QUEUE_SIM_SEEDS=20000` | plays this many seeds |
    /// | `QUEUE_SIM_REPLAY='v1:…'` | plays just this plan, and shows its history view; nothing is kept |
    /// | `QUEUE_SIM_KEPT=update` | replaces and deletes the kept plans that do not fit any more, instead of failing; look at what it changed, as at any other change |
    /// | `QUEUE_SIM_VERBOSE=1` | also shows the history view of each kept plan that passes |
    ///
    /// A variable set to nothing counts as not set.
    ///
    /// # Panics
    ///
    /// If a setting is beyond its limits: the message names it. If a run breaks a check: the message has the shortest
    /// history view that shows it, and the line that replays it. If a kept plan does not fit, or the runner cannot read
    /// the file of kept plans: the message names file and line. If the runs prove too little: none was played (0
    /// seeds), or a fault of the set never struck. The same if fewer than nine in ten had a message that was accepted
    /// and settled, or fewer than half had a message that was acked. A message is settled if the queue counts it as
    /// acked, or if it died from expired leases alone. If the same seed gave two different runs. Inside a tokio runtime
    /// (`#[tokio::test]`): the simulation brings its own, so make it a plain `#[test]`.
    pub fn run(&self) {
        match self.play_and_keep(Upkeep::asked()) {
            Ok(tally) => eprintln!("{tally}"),
            Err(broken) => panic!("{broken}"),
        }
    }

    /// As [`run`](Self::run), but it returns the failure instead of panicking, and neither reads nor keeps plans. It is
    /// for tests that expect a failure.
    ///
    /// # Errors
    ///
    /// The failures for which [`run`](Self::run) panics.
    ///
    /// # Panics
    ///
    /// Inside a tokio runtime.
    pub fn try_run(&self) -> Result<Tally, Box<Broken>> {
        self.check_settings()?;
        let environment = &mut *self.environment();
        let runner = &mut Runner::new(self.clone(), environment);
        match self.replay_asked(runner) {
            Some(replayed) => replayed,
            None => self.play_seeds(runner),
        }
    }

    pub(super) fn play_and_keep(&self, upkeep: Upkeep) -> Result<Tally, Box<Broken>> {
        self.check_settings()?;
        let environment = &mut *self.environment();
        let runner = &mut Runner::new(self.clone(), environment);
        if let Some(replayed) = self.replay_asked(runner) {
            return replayed;
        }
        let Some(file) = self.kept(runner.environment()) else {
            return self.play_seeds(runner);
        };
        let misfits = self.play_kept(runner, &file)?;
        let tally = self.play_seeds(runner).inspect_err(|broken| {
            if let Some(plan) = &broken.plan {
                self.keep(&file, plan, &broken.finding);
            }
        })?;
        // Misfits come last: if all else passes, it is clearer which plans may be deleted.
        self.settle(&file, &misfits, upkeep)?;
        Ok(tally)
    }

    fn play_seeds(&self, runner: &mut Runner<'_, Self>) -> Result<Tally, Box<Broken>> {
        let mut tally = Tally::new(&self.name);
        for seed in 0..self.seeds_to_play() {
            let run = runner.play(&Decisions::seeded(seed));
            if seed < TWICE {
                let again = Decisions::planned(run.plan.clone());
                if let Some(different) = runner.compare(&run, &again) {
                    return Err(broken_by("determinism", different.message));
                }
            }
            if let Some(finding) = self.findings(&run).into_iter().next() {
                let first = runner.shrink(run, finding);
                let others = seed + 1..self.seeds_to_play();
                return Err(self.broken(&self.shortest(runner, first, others, &|| true)));
            }
            tally.add(&run);
        }
        match tally.worth(&self.faults_met(runner.environment())) {
            Ok(()) => Ok(tally),
            Err(message) => Err(broken_by("worth", message)),
        }
    }

    /// Shrinking removes decisions one by one, so a failure stays long if its decisions can only be removed together.
    /// Then the same failure is often shorter in another run. This plays these seeds for as long as another run may be
    /// played.
    pub(super) fn shortest(
        &self,
        runner: &mut Runner<'_, Self>,
        mut best: RunFailure<RunRecord>,
        seeds: Range<u64>,
        may_play: &dyn Fn() -> bool,
    ) -> RunFailure<RunRecord> {
        let mut others = 0;
        for seed in seeds {
            if others == OTHERS || best.run.plan.len() <= SHORT || !may_play() {
                break;
            }
            let run = runner.play(&Decisions::seeded(seed));
            let finding = self.findings(&run).into_iter().next();
            if let Some(finding) = finding.filter(|finding| finding.rule == best.finding.rule) {
                others += 1;
                let other = runner.shrink_while(run, finding, may_play);
                if other.run.plan.len() < best.run.plan.len() {
                    best = other;
                }
            }
        }
        best
    }

    /// Plays one run, and does not check it.
    ///
    /// # Panics
    ///
    /// If a setting is beyond its limits, or inside a tokio runtime.
    pub fn play(&self, decisions: &Decisions) -> RunRecord {
        if let Err(broken) = self.check_settings() {
            panic!("{broken}");
        }
        play(self, &mut *self.environment(), decisions)
    }

    /// The checks' findings in a run.
    pub fn findings(&self, run: &RunRecord) -> Vec<Finding> {
        let mut findings = Vec::new();
        match &run.end {
            End::Finished => {}
            End::Hung(_) => findings.push(Finding::new(
                "hang",
                "nothing is ready and no timer runs, but not everybody is done",
            )),
            End::Spinning(processes) => findings.push(Finding::new(
                "hang",
                format!(
                    "tasks go on and on without any time passing, and only the first calls of that \
                     instant are kept; of {}",
                    self.names(processes)
                ),
            )),
            End::Panicked(_, message) => {
                findings.push(Finding::new("panic", message.clone()));
            }
        }
        for (process, failure) in &run.failures {
            findings.push(Finding::new("failure", format!("{process}: {failure}")));
        }
        for check in &self.checks {
            findings.extend(check.check(run));
        }
        if self.checks.is_empty() && run.drained.is_none() {
            findings.push(Finding::new("drained", "messages are left in the end"));
        }
        findings
    }

    fn names(&self, processes: &[Process]) -> String {
        let name = |process: &Process| match process.0.checked_sub(1).map(usize::from) {
            Some(index) => self
                .processes
                .get(index)
                .map_or("the auditor", |process| &process.name),
            None => "the simulation itself",
        };
        processes.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn environment(&self) -> Box<dyn Environment> {
        assert!(
            Handle::try_current().is_err(),
            "a simulation brings its own runtime and its own time: make this a plain #[test] \
             instead of a #[tokio::test], and give sim(…) the async parts as closures"
        );
        match &self.environment {
            Some(make) => make(),
            None => Box::new(MemoryEnvironment::new()),
        }
    }

    fn seeds_to_play(&self) -> u64 {
        seeds_or(self.seeds)
    }

    /// Plays the plan in `QUEUE_SIM_REPLAY`, if it is set.
    fn replay_asked(&self, runner: &mut Runner<'_, Self>) -> Option<Result<Tally, Box<Broken>>> {
        Some(match variables::replay()? {
            Ok(plan) => self.replay(runner, &plan),
            Err(error) => Err(broken_by("replay", error)),
        })
    }

    fn replay(&self, runner: &mut Runner<'_, Self>, plan: &Plan) -> Result<Tally, Box<Broken>> {
        let Replayed {
            run,
            verdict,
            unmet,
        } = runner.plan(plan);
        let finding = verdict.findings().first();
        let report = RunReport::new(&self.name, &run, finding)
            .with_picture()
            .to_string();
        match finding {
            Some(finding) => Err(Box::new(Broken {
                finding: finding.clone(),
                plan: Some(run.plan),
                message: report,
            })),
            None if !unmet.is_empty() => Err(broken_by(
                "replay",
                format!(
                    "{} of the plan's decisions were never asked for: it is of another version of \
                     this test, and shows nothing any more",
                    unmet.len()
                ),
            )),
            None => {
                eprintln!("{report}");
                let mut tally = Tally::new(&self.name);
                tally.add(&run);
                Ok(tally)
            }
        }
    }

    /// Reports a failure.
    pub(super) fn broken(&self, failure: &RunFailure<RunRecord>) -> Box<Broken> {
        let RunFailure {
            finding,
            run,
            operations_before,
        } = failure;
        let report = RunReport::new(&self.name, run, Some(finding)).shrunk_from(*operations_before);
        Box::new(Broken {
            message: report.with_picture().to_string(),
            finding: finding.clone(),
            plan: Some(run.plan.clone()),
        })
    }

    /// The faults of the set that this environment and these processes can meet.
    fn faults_met(&self, environment: &dyn Environment) -> BTreeSet<&'static str> {
        let possible = environment.faults().iter();
        let asked = possible.filter(|fault| self.fault_set.faults.contains(fault));
        asked.map(|fault| fault.as_str()).collect()
    }
}

impl Simulation for Sim {
    type Run = RunRecord;

    fn play(&self, environment: &mut dyn Environment, decisions: &Decisions) -> RunRecord {
        play(self, environment, decisions)
    }

    fn plan<'a>(&self, run: &'a RunRecord) -> &'a Plan {
        &run.plan
    }

    fn judge(&self, run: &RunRecord) -> Verdict {
        let findings = self.findings(run);
        match findings.is_empty() {
            true => Verdict::Holds,
            false => Verdict::Broken(findings),
        }
    }

    fn differ(&self, first: &RunRecord, second: &RunRecord) -> Option<Finding> {
        if first.history == second.history && first.effects == second.effects {
            return None;
        }
        let (first, second) = first_difference(first, second);
        let message = format!(
            "{}: the same plan gave two different runs. Something in the test goes by another \
             clock or by chance: a HashMap's order, SystemTime or std Instant, a random number or \
             uuid, a static, a thread, tokio::spawn, a `select!` that is not `biased`. Use tokio's time \
             and Run::choose.\n\n\
             the first run, up to where they part:\n{first}\n\
             the second, from the same plan:\n{second}",
            self.name,
        );
        Some(Finding::new("determinism", message))
    }

    fn operations(&self, run: &RunRecord) -> usize {
        run.size()
    }
}
