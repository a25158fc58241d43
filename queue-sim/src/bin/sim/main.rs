//! Plays runs of a queue under faults and checks each against the contract: `sim --help`.

mod arguments;
mod environments;
mod progress;

use std::{
    collections::BTreeSet,
    io,
    iter::{self, Skip, StepBy},
    ops::Range,
    path::Path,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use queue_core::QueueKind;
use queue_sim::{
    check::Verdict,
    plan::{Plan, Regressions},
    report::{failure_report, history_view, relapse, summary, timeline},
    run::{Played, Relapse, Replayed, RunFailure, Runner, Runs, Scenario, Totals},
    world::Environment,
};

use self::{arguments::Arguments, progress::Progress};

/// The program's exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Passed,
    /// A plan does not fit this code.
    Misfit,
    Failed,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Passed => 0,
            Status::Failed => 1,
            Status::Misfit => 3,
        })
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::read();
    let mut environments = match environments::start(arguments.backend, arguments.threads()) {
        Ok(environments) => environments,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let mut status = Status::Passed;
    for kind in arguments.kinds() {
        let scenario = arguments.scenario(*kind);
        let one = match &arguments.replay {
            Some(plan) => Ok(replay(&arguments, scenario, &mut *environments[0], plan)),
            None => play(&arguments, *kind, &mut environments),
        };
        match one {
            Ok(one) => status = status.max(one),
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    status.into()
}

/// Plays the kept plans, and then the seeds.
fn play(
    arguments: &Arguments,
    kind: QueueKind,
    environments: &mut [Box<dyn Environment>],
) -> io::Result<Status> {
    let backend = arguments.backend.as_str();
    let scenario = arguments.scenario(kind);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sim-regressions");
    let regressions = Regressions::of(&folder, &kind.to_string(), backend);
    // Kept plans belong to the usual scenario.
    let usual = scenario == Scenario::new(kind);
    let mut threads: Vec<_> = environments
        .iter_mut()
        .map(|environment| {
            let runs = Runs::new(scenario.clone(), &mut **environment);
            if arguments.twice { runs.twice() } else { runs }
        })
        .collect();
    let mut status = Status::Passed;
    if usual {
        status = relapses(threads[0].runner(), &regressions, backend)?;
    }

    let start = Instant::now();
    let progress = Progress::of(kind, backend, arguments.seeds);
    let seeds = arguments.first_seed..arguments.first_seed + arguments.seeds;
    // Printed and kept at once, so that a user who stops the program early has both the failure and its plan.
    let reported = Mutex::new(BTreeSet::new());
    let report = |failure: &(u64, RunFailure<Played>)| {
        let RunFailure { finding, run, .. } = &failure.1;
        let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
        if !reported.insert(finding.rule.clone()) {
            return Ok(());
        }
        progress.end();
        println!("{}", failure_report(&scenario, backend, failure));
        if arguments.keep && usual {
            regressions.keep(&finding.rule, &run.plan)?;
        }
        Ok(())
    };
    let runs = side_by_side(threads, &seeds, &progress, &report)?;
    let elapsed = start.elapsed();
    progress.end();
    missed(&runs);
    let totals = runs.totals();
    if arguments.digest {
        println!(
            "kind={kind} backend={backend} digest={:016x}",
            totals.digest()
        );
    }
    println!("{}", summary(kind, backend, totals, elapsed));
    if !totals.passes() {
        status = Status::Failed;
    }
    Ok(status)
}

/// Prints a failure, and keeps its plan.
type ReportFailure<'a> = dyn Fn(&(u64, RunFailure<Played>)) -> io::Result<()> + Sync + 'a;

/// Plays the seeds, divided among threads, and prints the first failure of each rule that a thread finds.
fn side_by_side<'a>(
    threads: Vec<Runs<'a>>,
    seeds: &Range<u64>,
    progress: &Progress,
    report: &ReportFailure<'_>,
) -> io::Result<Runs<'a>> {
    let count = threads.len();
    let play_part = |mut runs: Runs<'a>, seeds: StepBy<Skip<Range<u64>>>| {
        for seed in seeds {
            let (before, known) = (runs.totals().violations, runs.failures().len());
            runs.seed(seed);
            progress.count(runs.totals().violations - before);
            runs.failures()[known..].iter().try_for_each(report)?;
        }
        Ok(runs)
    };
    thread::scope(|scope| {
        let parts = (0..count).map(|nth| seeds.clone().skip(nth).step_by(count));
        let threads: Vec<_> = iter::zip(threads, parts)
            .map(|(runs, seeds)| scope.spawn(move || play_part(runs, seeds)))
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let all = ended.reduce(|all: io::Result<Runs<'a>>, one| {
            let (mut all, one) = (all?, one?);
            all.absorb(one);
            Ok(all)
        });
        all.expect("one thread at least")
    })
}

/// Kept plans must not fail again.
fn relapses(
    runner: &mut Runner<'_, Scenario>,
    regressions: &Regressions,
    backend: &str,
) -> io::Result<Status> {
    let mut status = Status::Passed;
    for kept in regressions.read()? {
        let Err(why) = runner.regression(&kept) else {
            continue;
        };
        let reported = relapse(runner.simulation(), backend, &kept, &why);
        match why {
            Relapse::Broken(_) => println!("{reported}"),
            Relapse::Inconclusive | Relapse::Misfit(_) => eprintln!("{reported}"),
        }
        status = status.max(match why {
            Relapse::Broken(_) | Relapse::Inconclusive => Status::Failed,
            Relapse::Misfit(_) => Status::Misfit,
        });
    }
    Ok(status)
}

/// Plays one plan, and shows it.
fn replay(
    arguments: &Arguments,
    scenario: Scenario,
    environment: &mut dyn Environment,
    plan: &Plan,
) -> Status {
    let backend = arguments.backend.as_str();
    let kind = scenario.kind;
    let mut runner = Runner::new(scenario, environment).twice();
    let start = Instant::now();
    let replayed = runner.plan(plan);
    let elapsed = start.elapsed();
    print_run(&replayed);
    let unmet = replayed.unmet.len();
    if unmet > 0 {
        eprintln!("{}", misfit(plan, unmet));
    }
    let status = match &replayed.verdict {
        Verdict::Broken(_) | Verdict::Inconclusive => Status::Failed,
        Verdict::Holds if unmet > 0 => Status::Misfit,
        Verdict::Holds => Status::Passed,
    };
    let totals = Totals::of(&replayed);
    println!("{}", summary(kind, backend, &totals, elapsed));
    status
}

fn print_run(replayed: &Replayed<Played>) {
    let Replayed {
        run: played,
        verdict,
        ..
    } = replayed;
    match verdict {
        Verdict::Broken(violations) => {
            for finding in violations {
                let page = timeline(&played.config, &played.history, finding, None);
                println!("{page}");
            }
        }
        Verdict::Holds => {
            print!("{}", history_view(&played.config, &played.history));
            println!("every rule holds");
        }
        Verdict::Inconclusive => {
            print!("{}", history_view(&played.config, &played.history));
            println!("inconclusive: the search for an order ran out of its budget");
        }
    }
}

fn misfit(plan: &Plan, unmet: usize) -> String {
    format!(
        "the plan does not fit this code: {unmet} of its {} decisions were never asked for, so \
         that the rules hold says little",
        plan.len()
    )
}

/// Names the goals that no run reached, the faults that no run met, and the mixes of inconclusive runs.
fn missed(runs: &Runs<'_>) {
    let goals = runs.missed_goals();
    if !goals.is_empty() {
        let goals: Vec<_> = goals.iter().copied().collect();
        eprintln!("no run reached: {}", goals.join("; "));
    }
    let faults = runs.unstruck_faults();
    if !faults.is_empty() {
        let names: Vec<_> = faults.iter().map(|fault| fault.as_str()).collect();
        eprintln!("no run met: {}", names.join("; "));
    }
    for (mix, count) in &runs.totals().inconclusive_mixes {
        let mix: Vec<_> = mix.iter().copied().collect();
        eprintln!("inconclusive: {count} runs with {}", mix.join(", "));
    }
}
