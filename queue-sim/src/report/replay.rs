use std::fmt::Write;

use super::{
    file::keep_picture,
    timeline::{picture, timeline},
};
use crate::{
    plan::{Plan, Regression},
    run::{Played, Relapse, RunFailure, Scenario},
};

/// The command that plays this plan again.
pub fn replay_line(scenario: &Scenario, backend: &str, plan: &Plan) -> String {
    let redis = if backend == "memory" { "" } else { ",redis" };
    let mut line = format!(
        "cargo run --release -p queue-sim --features programs{redis} --bin sim -- \
         --kind {} --backend {backend}",
        scenario.kind
    );
    if let Some(mode) = scenario.mode {
        let _ = write!(line, " --mode {mode}");
    }
    let usual = Scenario::new(scenario.kind);
    if scenario.processes != usual.processes {
        let _ = write!(line, " --processes {}", scenario.processes);
    }
    if scenario.steps != usual.steps {
        let _ = write!(line, " --steps {}", scenario.steps);
    }
    let _ = write!(line, " --replay '{plan}'");
    line
}

/// The report of a failure: the small run as a history view, the picture of it, and the line that replays it.
pub fn failure_report(
    scenario: &Scenario,
    backend: &str,
    (seed, failure): &(u64, RunFailure<Played>),
) -> String {
    let RunFailure {
        finding,
        run,
        operations_before,
    } = failure;
    let page = timeline(&run.config, &run.history, finding, Some(*operations_before));
    let replay = replay_line(scenario, backend, &run.plan);
    let html = picture(&run.config, &run.history, finding, &replay);
    let name = format!("{}-{backend}-seed-{seed}", scenario.kind);
    let picture = keep_picture(&name, &html);
    let picture = picture.map(|line| line + "\n").unwrap_or_default();
    format!("{page}{picture}replay (seed {seed}): {replay}\n")
}

/// The report of a kept plan that does not pass: its file and line, the reason, and the line that replays it. If its
/// run breaks rules, the report shows the run as a history view for each of them.
pub fn relapse(
    scenario: &Scenario,
    backend: &str,
    kept: &Regression,
    relapse: &Relapse<Played>,
) -> String {
    let (place, line) = (kept.place(), replay_line(scenario, backend, &kept.plan));
    match relapse {
        Relapse::Broken(replayed) => {
            let Played {
                config, history, ..
            } = &replayed.run;
            let findings = replayed.findings().iter();
            let pages = findings.map(|finding| timeline(config, history, finding, None) + "\n");
            let pages: String = pages.collect();
            format!(
                "{pages}replay ({place} broke {} before): {line}\n",
                kept.broke
            )
        }
        Relapse::Inconclusive => format!("{place} is inconclusive: {line}"),
        Relapse::Misfit(misfit) => misfit.to_string(),
    }
}
