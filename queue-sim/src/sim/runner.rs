//! Playing many runs, and telling the first that breaks something.

use std::collections::BTreeSet;

use tokio::runtime::Handle;

use super::{
    Story,
    broken::{Broken, told},
    builder::Sim,
    check::Finding,
    environment,
    kept::Upkeep,
    play::play,
    tale::{Tale, where_they_part},
    tally::Tally,
};
use crate::{
    engine::End,
    plan::{Decisions, Lane, Plan, shrink},
    world::{Ground, MemoryGround},
};

/// How many runs a failure is shrunk in at most.
const SHRINKS: usize = 1_000;
/// A failure of no more decisions than this is short.
const SHORT: usize = 6;
/// How many other runs that fail alike are shrunk, too, for one that is.
const OTHERS: usize = 4;
/// So many of the first seeds are played twice, to see whether they come out the same.
const TWICE: u64 = 8;

impl Sim {
    /// Plays the simulation: first the plans that failed before, then one run for each seed.
    ///
    /// A run that fails is shrunk, and its plan kept in a file ([`regressions`](Self::regressions)
    /// says where), to be played first from then on. Keep these files in version control. A kept
    /// plan that passes now, but decides things that are not asked for any more, does not count as
    /// passed: mending a bug may send its run another way, and so may any other change of the code,
    /// after which it proves nothing. So once all else passes, it fails the test, and the message
    /// says which line to put in its place, or that it is to be deleted.
    ///
    /// Prints what was exercised. The environment says how:
    ///
    /// | variable | |
    /// | --- | --- |
    /// | `QUEUE_SIM_SEEDS=20000` | plays so many seeds |
    /// | `QUEUE_SIM_REPLAY='v1:…'` | plays just this plan, and shows its story; nothing is kept |
    /// | `QUEUE_SIM_KEPT=update` | replaces and deletes the kept plans that do not fit any more, instead of failing; look at what it changed, as at any other change |
    /// | `QUEUE_SIM_VERBOSE=1` | also tells the story of each kept plan that passes |
    ///
    /// One that is set to nothing counts as not set.
    ///
    /// # Panics
    ///
    /// If a run breaks a check, with the shortest story that shows it and the line that replays
    /// it; if a kept plan does not fit, or the file of kept plans cannot be read (the message names
    /// file and line); if the runs were not worth much: none was played (0 seeds), fewer than nine in
    /// ten got a message accepted and settled (acked, as the queue counts it, or dead of nothing but
    /// expired leases), fewer than half got one acked, or a fault that was asked for was never met;
    /// if the same seed gave two different runs; and inside a tokio runtime (`#[tokio::test]`): the simulation brings its
    /// own, so make it a plain `#[test]`.
    pub fn run(&self) {
        match self.play_and_keep(Upkeep::asked()) {
            Ok(tally) => eprintln!("{tally}"),
            Err(broken) => panic!("{broken}"),
        }
    }

    /// As [`run`](Self::run), but answers instead of panicking, and neither reads nor keeps plans:
    /// for tests that want to see a failure.
    ///
    /// # Errors
    ///
    /// What [`run`](Self::run) panics for.
    ///
    /// # Panics
    ///
    /// Inside a tokio runtime.
    pub fn try_run(&self) -> Result<Tally, Box<Broken>> {
        let ground = &mut *self.ground();
        match self.replay_asked(ground) {
            Some(replayed) => replayed,
            None => self.play_seeds(ground),
        }
    }

    pub(super) fn play_and_keep(&self, upkeep: Upkeep) -> Result<Tally, Box<Broken>> {
        let ground = &mut *self.ground();
        if let Some(replayed) = self.replay_asked(ground) {
            return replayed;
        }
        let Some(file) = self.kept(ground) else {
            return self.play_seeds(ground);
        };
        let misfits = self.play_kept(ground, &file)?;
        let tally = self.play_seeds(ground).inspect_err(|broken| {
            if let Some(plan) = &broken.plan {
                self.keep(&file, plan, &broken.finding);
            }
        })?;
        // Only now: whether a plan may be let go is easier to say when all else passes.
        self.settle(&file, &misfits, upkeep)?;
        Ok(tally)
    }

    fn play_seeds(&self, ground: &mut dyn Ground) -> Result<Tally, Box<Broken>> {
        let mut tally = Tally::new(&self.name);
        for seed in 0..self.seeds_to_play() {
            let story = play(self, ground, &Decisions::seeded(seed));
            if seed < TWICE {
                self.compare(ground, &story)?;
            }
            if let Some(finding) = self.findings(&story).into_iter().next() {
                let first = self.broken(ground, story, &finding);
                return Err(self.shortest(ground, first, seed + 1));
            }
            tally.add(&story);
        }
        match tally.worth(&self.chaos_met(ground)) {
            Ok(()) => Ok(tally),
            Err(message) => Err(told("worth", message)),
        }
    }

    /// What is taken out of a failure one by one may leave a long one behind, which only goes
    /// together. Then the same failure of another run is often shorter.
    fn shortest(&self, ground: &mut dyn Ground, mut best: Box<Broken>, from: u64) -> Box<Broken> {
        let decisions = |broken: &Broken| broken.plan.as_ref().map_or(0, Plan::len);
        let mut others = 0;
        for seed in from..self.seeds_to_play() {
            if others == OTHERS || decisions(&best) <= SHORT {
                break;
            }
            let story = play(self, ground, &Decisions::seeded(seed));
            let finding = self.findings(&story).into_iter().next();
            if let Some(finding) = finding.filter(|finding| finding.rule == best.finding.rule) {
                others += 1;
                let other = self.broken(ground, story, &finding);
                if decisions(&other) < decisions(&best) {
                    best = other;
                }
            }
        }
        best
    }

    /// Plays one run, whatever comes of it.
    pub fn story(&self, decisions: &Decisions) -> Story {
        play(self, &mut *self.ground(), decisions)
    }

    /// What the checks say of a run.
    pub fn findings(&self, story: &Story) -> Vec<Finding> {
        let mut findings = Vec::new();
        match &story.end {
            End::Finished => {}
            End::Hung(_) => findings.push(Finding::new(
                "hang",
                "nothing is ready and no timer runs, but not everybody is done",
            )),
            End::Spinning(lanes) => findings.push(Finding::new(
                "hang",
                format!(
                    "tasks go on and on without any time passing, and only the first calls of that \
                     instant are kept; of {}",
                    self.names(lanes)
                ),
            )),
            End::Panicked(_, message) => {
                findings.push(Finding::new("panic", message.clone()));
            }
        }
        for (lane, failure) in &story.failures {
            findings.push(Finding::new("failure", format!("{lane}: {failure}")));
        }
        for check in &self.checks {
            findings.extend(check.check(story));
        }
        if self.checks.is_empty() && story.drained.is_none() {
            findings.push(Finding::new("drained", "messages are left in the end"));
        }
        findings
    }

    fn names(&self, lanes: &[Lane]) -> String {
        let name = |lane: &Lane| match lane.0.checked_sub(1).map(usize::from) {
            Some(index) => self
                .lanes
                .get(index)
                .map_or("the auditor", |lane| &lane.name),
            None => "the simulation itself",
        };
        lanes.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    fn ground(&self) -> Box<dyn Ground> {
        assert!(
            Handle::try_current().is_err(),
            "a simulation brings its own runtime and its own time: make this a plain #[test] \
             instead of a #[tokio::test], and give sim(…) the async parts as closures"
        );
        match &self.ground {
            Some(make) => make(),
            None => Box::new(MemoryGround::new()),
        }
    }

    fn seeds_to_play(&self) -> u64 {
        environment::seeds().unwrap_or(self.seeds)
    }

    /// Plays the plan that the environment asks for, if it asks for one.
    fn replay_asked(&self, ground: &mut dyn Ground) -> Option<Result<Tally, Box<Broken>>> {
        Some(match environment::replay()? {
            Ok(plan) => self.replay(ground, plan),
            Err(error) => Err(told("replay", error)),
        })
    }

    fn replay(&self, ground: &mut dyn Ground, plan: Plan) -> Result<Tally, Box<Broken>> {
        let decisions = Decisions::planned(plan);
        let story = play(self, ground, &decisions);
        let finding = self.findings(&story).into_iter().next();
        let tale = Tale::new(&self.name, &story, finding.as_ref()).to_string();
        let unmet = decisions.unmet().len();
        match finding {
            Some(finding) => Err(Box::new(Broken {
                finding,
                plan: Some(story.plan),
                message: tale,
            })),
            None if unmet > 0 => Err(told(
                "replay",
                format!(
                    "{unmet} of the plan's decisions were never asked for: it is of another \
                     version of this test, and shows nothing any more"
                ),
            )),
            None => {
                eprintln!("{tale}");
                let mut tally = Tally::new(&self.name);
                tally.add(&story);
                Ok(tally)
            }
        }
    }

    /// Plays the run again, which must come out the same.
    fn compare(&self, ground: &mut dyn Ground, story: &Story) -> Result<(), Box<Broken>> {
        let again = play(self, ground, &Decisions::planned(story.plan.clone()));
        if again.history == story.history && again.effects == story.effects {
            return Ok(());
        }
        let (first, second) = where_they_part(story, &again);
        Err(told(
            "determinism",
            format!(
                "{}: the same plan gave two different runs. Something in the test goes by another \
                 clock or by chance: a HashMap's order, SystemTime or std Instant, a random number \
                 or uuid, a static, a thread, tokio::spawn. Use tokio's time and Run::choose.\n\n\
                 the first run, up to where they part:\n{first}\n\
                 the second, from the same plan:\n{second}",
                self.name,
            ),
        ))
    }

    /// Shrinks a failure, and tells it.
    pub(super) fn broken(
        &self,
        ground: &mut dyn Ground,
        story: Story,
        finding: &Finding,
    ) -> Box<Broken> {
        let before = story.size();
        let rule = finding.rule.clone();
        let mut smallest = (story.plan.clone(), story, finding.clone());
        let plan = smallest.0.clone();
        let plan = shrink(plan, SHRINKS, |plan| {
            let story = play(self, ground, &Decisions::planned(plan.clone()));
            let finding = self.findings(&story).into_iter().next()?;
            (finding.rule == rule).then(|| {
                let taken = story.plan.clone();
                smallest = (taken.clone(), story, finding);
                taken
            })
        });
        // The last run that failed need not be that of the smallest plan.
        if smallest.0 != plan {
            let story = play(self, ground, &Decisions::planned(plan.clone()));
            if let Some(finding) = self.findings(&story).into_iter().next() {
                smallest = (plan, story, finding);
            }
        }
        let (plan, story, finding) = smallest;
        let tale = Tale::new(&self.name, &story, Some(&finding)).shrunk_from(before);
        Box::new(Broken {
            message: tale.to_string(),
            finding,
            plan: Some(plan),
        })
    }

    /// The faults that were asked for and can be met here.
    fn chaos_met(&self, ground: &dyn Ground) -> BTreeSet<&'static str> {
        let possible = ground.faults().iter();
        let asked = possible.filter(|fault| self.chaos.faults.contains(fault));
        asked.map(|fault| fault.as_str()).collect()
    }
}
