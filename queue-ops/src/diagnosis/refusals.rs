//! The check of configurations that programs ask for, and that the queue refuses.

use std::{collections::BTreeMap, time::Duration};

use queue_core::{Listed, RefusalRecord, millis_ceil, sanitized};

use super::{Finding, Problem, Severity, view::QueueView};
use crate::words::duration_in_words as words;

/// A program that starts again and again was refused within this time.
const PRESENT: Duration = Duration::from_secs(600);

/// The settings that a program asks for, and that differ from the stored ones: names, stored and asked values.
type Differing<'a> = Vec<(&'static str, String, &'a str)>;

/// The latest program that was refused, and is refused still. `nobody_leases`: messages wait, and no consumer leases.
pub(super) fn refused(view: &QueueView, nobody_leases: bool) -> Option<Finding> {
    let refused = view.refusals.iter().filter(|one| !has_restarted(view, one));
    let differing = refused.filter_map(|one| Some((one, differing(view, &one.record)?)));
    let differing: Vec<(&Listed<RefusalRecord>, Differing<'_>)> = differing.collect();
    let (last, settings) = differing.iter().min_by_key(|(one, _)| one.age)?;
    let (record, age) = (&last.record, last.age);
    let (stored, asked, command) = wanted(view, record, settings);
    let others = match differing.len() - 1 {
        0 => String::new(),
        others => format!("; so are {others} others"),
    };
    let sentence = format!(
        "stored {stored}: `{}` ({}) asks for {asked}, and is refused, {} ×, last {} ago{others}",
        shown(&record.program),
        shown(&record.holder),
        record.times,
        words(age)
    );
    // A program that was refused before the oldest message came has had time to start again.
    let line = view.line.as_ref();
    let oldest = line.and_then(|line| line.counters.oldest_ready);
    let is_why = nobody_leases && (age < PRESENT || oldest.is_some_and(|oldest| oldest >= age));
    let severity = match age < PRESENT {
        _ if is_why => Severity::Standstill,
        true => Severity::Trouble,
        false => Severity::Note,
    };
    let finding = Finding::new(Problem::ConfigDiffers, severity, sentence)
        .with("program", shown(&record.program))
        .with("holder", shown(&record.holder))
        .with("times", record.times)
        .with("last_ms", millis_ceil(age));
    let advice = "change the program's configuration, or the stored one";
    Some(match command {
        Some(settings) => finding.remedy(
            advice,
            &settings
                .iter()
                .fold(view.command("reconfigure"), |command, setting| {
                    command.value(setting)
                }),
        ),
        None => finding.advise("change the program's configuration, or take another name"),
    })
}

/// The stored configuration and the one that is asked for, in words, and the settings that change that: none where they cannot be changed.
fn wanted(
    view: &QueueView,
    record: &RefusalRecord,
    settings: &Differing<'_>,
) -> (String, String, Option<Vec<String>>) {
    let kind = view.config.kind();
    if record.kind != kind {
        return (
            format!("kind={kind}"),
            format!("kind={}", record.kind),
            None,
        );
    }
    let each = |value: &dyn Fn(&(&str, String, &str)) -> String| {
        settings.iter().map(value).collect::<Vec<_>>()
    };
    let stored = each(&|(name, stored, _)| format!("{name}={stored}"));
    let asked = each(&|(name, _, asked)| format!("{name}={asked}"));
    let is_set = |(name, ..): &(&str, String, &str)| !FIXED.contains(name);
    let command = settings.iter().all(is_set).then(|| asked.clone());
    (stored.join(" "), asked.join(" "), command)
}

/// The beginning of a text that anybody may have written.
fn shown(text: &str) -> String {
    let begin: String = text.chars().take(128).collect();
    sanitized(&begin).into_owned()
}

/// Settings that `qk reconfigure` does not take.
const FIXED: [&str; 3] = ["order", "per_group", "on_death"];

/// The settings of a refusal that differ still; none if the stored configuration fits by now. Whoever may write to the
/// list may write anything, so settings that this version does not know, or that are no values, are left out.
fn differing<'a>(view: &QueueView, record: &'a RefusalRecord) -> Option<Differing<'a>> {
    let is_value = |value: &&String| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '/';
        value.len() < 40 && value.chars().all(is_part)
    };
    let asked: &BTreeMap<String, String> = &record.settings;
    let differing = view.config.settings().into_iter();
    let differing = differing.filter_map(|(name, stored)| {
        let asked = asked.get(name).filter(is_value)?;
        (*asked != stored).then_some((name, stored, &**asked))
    });
    let differing: Differing<'_> = differing.collect();
    let differs = !differing.is_empty() || record.kind != view.config.kind();
    differs.then_some(differing)
}

/// Whether a worker of the same host lives, serves the queue, and started after the refusal: the program has been
/// corrected.
fn has_restarted(view: &QueueView, refusal: &Listed<RefusalRecord>) -> bool {
    let host = |holder: &str| {
        let (host, _) = holder.rsplit_once(", process ")?;
        Some(host.to_owned())
    };
    let refused_on = host(&refusal.record.holder);
    let mut workers = view.workers.iter();
    workers.any(|worker| {
        let age = worker.record.uptime_ms.saturating_add(worker.last_beat_ms);
        let started_later = age < millis_ceil(refusal.age);
        let is_later = started_later && !worker.gone;
        is_later && refused_on.is_some() && host(&worker.record.holder) == refused_on
    })
}
