//! Why a queue stands still, or each of them; once, or until that changes.

use std::{collections::BTreeSet, pin::pin, sync::Arc, time::Duration};

use futures_util::StreamExt;
use queue_core::{Backend, Error};
use queue_ops::{
    Diagnosis, Finding, Problem, Severity, all_schedule_findings, config_finding, counted,
    diagnose, diagnose_each, list_queues, schedule_findings,
};

use crate::{
    End, Outcome,
    arguments::{Setting, Why},
    open, outbox,
    output::{Output, progress, write_next},
    queues::apply,
    server,
};

/// `has_schedules`: the queues of a published strategy have none.
pub(crate) async fn why(
    backend: &Arc<dyn Backend>,
    arguments: &Why,
    has_schedules: bool,
    output: &Output,
) -> Outcome {
    let looked = look(backend, arguments, has_schedules, output, true).await?;
    Ok(looked.end)
}

/// Looks again and again, and says so once the findings are others. Notes and numbers may change.
pub(crate) async fn watch(
    backend: &Arc<dyn Backend>,
    arguments: &Why,
    every: Duration,
    has_schedules: bool,
    output: &Output,
) -> Outcome {
    let first = look(backend, arguments, has_schedules, output, true).await?;
    loop {
        tokio::time::sleep(every).await;
        let looked = look(backend, arguments, has_schedules, output, false).await?;
        if looked.found != first.found {
            show(&looked, arguments, output)?;
            return Ok(looked.end);
        }
    }
}

/// The problem and its severity, of each finding that is more than a note, by queue.
type Found = Vec<(String, Vec<(Severity, Problem)>)>;

/// A look at a queue, or at all of them.
struct Looked {
    /// The diagnoses to show: of a named queue its own, or else those with findings.
    diagnoses: Vec<Diagnosis>,
    /// The number of queues.
    queues: u64,
    found: Found,
    end: End,
}

/// Looks once. `shows`: writes what it finds, as soon as it does.
async fn look(
    backend: &Arc<dyn Backend>,
    arguments: &Why,
    has_schedules: bool,
    output: &Output,
    shows: bool,
) -> Result<Looked, Error> {
    let streams = shows && !output.json;
    let outbox = match &arguments.database {
        Some(database) => outbox::diagnoses(database).await?,
        None => Vec::new(),
    };
    let (mut diagnoses, queues, mut end) = match &arguments.queue {
        Some(queue) => {
            let mut diagnosis = one(backend, queue, arguments, has_schedules).await?;
            let own = outbox.into_iter().filter(|one| one.queue.as_str() == queue);
            diagnosis.add(own.flat_map(|one| one.findings));
            (vec![output.complete(diagnosis)], 1, End::Well)
        }
        None => {
            let of_outbox: Vec<String> = outbox.iter().map(short).collect();
            if streams && !outbox.is_empty() {
                write_next(&of_outbox.join("\n"))?;
            }
            let looked = each(backend, arguments, has_schedules, output, streams).await?;
            (
                outbox.into_iter().chain(looked.0).collect(),
                looked.1.max(of_outbox.len() as u64),
                looked.2,
            )
        }
    };
    diagnoses.sort_by_key(|one| one.findings.first().map(|finding| finding.severity));
    if !diagnoses
        .iter()
        .all(|one| is_well(one, arguments.standstill))
    {
        end = End::Findings;
    }
    let mut found: Found = diagnoses.iter().map(found).collect();
    found.sort();
    let looked = Looked {
        diagnoses,
        queues,
        found,
        end,
    };
    let is_shown = streams && arguments.queue.is_none() && !looked.diagnoses.is_empty();
    if shows && !is_shown && queues > 0 {
        show(&looked, arguments, output)?;
    }
    Ok(looked)
}

fn found(diagnosis: &Diagnosis) -> (String, Vec<(Severity, Problem)>) {
    let findings = diagnosis.findings.iter();
    let findings = findings.filter(|finding| finding.severity != Severity::Note);
    let mut found: Vec<_> = findings.map(|one| (one.severity, one.problem)).collect();
    found.sort_unstable();
    found.dedup();
    (diagnosis.queue.to_string(), found)
}

/// The diagnosis of one queue.
async fn one(
    backend: &Arc<dyn Backend>,
    queue: &str,
    arguments: &Why,
    has_schedules: bool,
) -> Result<Diagnosis, Error> {
    let mut diagnosis = diagnose(&**backend, queue).await?;
    if diagnosis.numbers.is_none() {
        return Ok(diagnosis);
    }
    let (stored, _) = open(&**backend, queue).await?;
    let mut wanted = stored.clone();
    for setting in &arguments.expect {
        apply(&mut wanted, setting)?;
    }
    let settings: Vec<String> = arguments.expect.iter().map(Setting::to_string).collect();
    diagnosis.add(config_finding(queue, &stored, &wanted, &settings.join(" ")));
    if has_schedules {
        let schedules = &arguments.schedules;
        diagnosis.add(schedule_findings(Arc::clone(backend), schedules, queue).await?);
    }
    Ok(diagnosis)
}

/// Whether there is nothing to wake somebody for: no finding, or none that stops the queue.
fn is_well(diagnosis: &Diagnosis, standstill: bool) -> bool {
    let stops = |finding: &Finding| finding.severity == Severity::Standstill;
    diagnosis.is_healthy() || standstill && !diagnosis.findings.iter().any(stops)
}

/// The diagnoses of all queues that have findings, and the number of queues. `streams`: writes each as it comes.
async fn each(
    shared: &Arc<dyn Backend>,
    arguments: &Why,
    has_schedules: bool,
    output: &Output,
    streams: bool,
) -> Result<(Vec<Diagnosis>, u64, End), Error> {
    let backend = &**shared;
    let bar = progress(0);
    let queues = list_queues(backend, usize::MAX).await?;
    if queues.is_empty() {
        let end = match streams || output.json {
            true => server::no_queues(backend, !has_schedules, output).await?,
            false => End::Well,
        };
        return Ok((Vec::new(), 0, end));
    }
    let mut scheduled = match has_schedules {
        true => all_schedule_findings(Arc::clone(shared), &arguments.schedules).await?,
        false => Vec::new(),
    };
    // The queue of a record that cannot be read is unknown: the ring has it.
    for (queue, _) in &mut scheduled {
        if !queues.iter().any(|one| one.name.as_str() == queue) {
            queue.clone_from(&arguments.schedules);
        }
    }
    let (mut sick, count) = (Vec::new(), queues.len() as u64);
    let mut told = BTreeSet::new();
    bar.set_length(count);
    let mut diagnoses = pin!(diagnose_each(backend, queues));
    while let Some(mut diagnosis) = diagnoses.next().await {
        let own = scheduled.extract_if(.., |(of, _)| diagnosis.queue.as_str() == of);
        diagnosis.add(own.map(|(_, finding)| finding).collect::<Vec<_>>());
        if !diagnosis.is_healthy() {
            let diagnosis = output.complete(diagnosis);
            let line = untold(&diagnosis, &mut told).filter(|_| streams);
            let is_read = match line {
                Some(line) => bar.suspend(|| write_next(&line))?,
                None => true,
            };
            sick.push(diagnosis);
            if !is_read {
                break;
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((sick, count, End::Well))
}

/// The line of a queue. A server that refuses writes, or is slow, is so for each of its queues, and is named once: the other queues
/// have lines by their own findings, if they have any.
fn untold(diagnosis: &Diagnosis, told: &mut BTreeSet<String>) -> Option<String> {
    let mut own = diagnosis.clone();
    own.findings.retain(|finding| {
        let server = finding.evidence.get("server").map(ToString::to_string);
        let is_servers = matches!(finding.problem, Problem::RefusesWrites | Problem::SlowDisk);
        !is_servers || told.insert(format!("{:?} {server:?}", finding.problem))
    });
    (!own.is_healthy()).then(|| short(&own))
}

fn show(looked: &Looked, arguments: &Why, output: &Output) -> Result<(), Error> {
    let diagnoses = &looked.diagnoses;
    match (&arguments.queue, diagnoses.first()) {
        (Some(_), Some(diagnosis)) => output.show(diagnosis, || long(diagnosis)),
        (_, None) => output.show(diagnoses, || {
            format!("nothing is wrong with {}", counted(looked.queues, "queue"))
        }),
        (None, Some(_)) => output.show(diagnoses, || {
            let lines: Vec<String> = diagnoses.iter().map(short).collect();
            lines.join("\n")
        }),
    }
}

/// Stops the queue, stops some of its messages, or is worth knowing.
const fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Standstill => "!!",
        Severity::Trouble => "! ",
        Severity::Note => "  ",
    }
}

/// A queue with findings on one line.
fn short(diagnosis: &Diagnosis) -> String {
    let mark = mark(diagnosis.findings[0].severity);
    format!("{mark} {}: {}", diagnosis.queue, diagnosis.headline())
}

/// The first line, and what else was found.
fn long(diagnosis: &Diagnosis) -> String {
    let mut text = format!("{}\n", diagnosis.headline());
    for finding in &diagnosis.findings {
        let is_first = !diagnosis.is_healthy() && std::ptr::eq(finding, &diagnosis.findings[0]);
        if !is_first {
            let mark = mark(finding.severity);
            text.push_str(&format!("{mark} {finding}\n"));
        }
        if let Some(remedy) = &finding.remedy {
            text.push_str(&format!("   → {}\n", remedy.what));
        }
    }
    text
}
