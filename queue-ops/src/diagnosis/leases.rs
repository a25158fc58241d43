//! The checks of leases: who has messages for how long, and what became of those who had them.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use queue_core::{
    DeadLetter, DeathReason, Message, Peeked, Standing, Timestamp, WorkerInfo, millis_ceil,
};

use super::{
    Finding, Problem, Severity,
    view::{Line, NEW_DEATHS, QueueView, SLOW},
};
use crate::{
    consumers::leased_at,
    words::{counted, duration_in_words as words, holder_in_words},
};

/// A lease that has longer to go is no lease that a heartbeat extends.
const LONG_LEASE: Duration = Duration::from_secs(3_600);
/// While messages wait for a consumer, a lease that has longer to go is worth a word: its holder may be dead.
const LEASED_LONG: Duration = Duration::from_secs(60);
/// So many leases that expired under live workers are no accident.
const MANY_EXPIRED: u64 = 5;
/// So many workers that died with one message are no accident.
const MANY_GONE: usize = 2;

/// The worker of this queue that was killed last.
pub(super) fn last_worker(view: &QueueView) -> Option<String> {
    let gone = view.workers.iter().filter(|worker| worker.gone);
    let last = gone.min_by_key(|worker| worker.last_beat_ms)?;
    let beat = words(Duration::from_millis(last.last_beat_ms));
    Some(format!("the last was `{}`, {beat} ago", last.record.holder))
}

/// The workers of this queue with this holder's name.
fn named<'a>(view: &'a QueueView, holder: &'a str) -> impl Iterator<Item = &'a WorkerInfo> {
    view.workers
        .iter()
        .filter(move |worker| worker.record.holder == holder)
}

/// Milliseconds since the last beat of a holder, if workers have its name and all of them are gone.
fn gone_for(view: &QueueView, holder: &str) -> Option<u64> {
    let is_gone = named(view, holder).all(|worker| worker.gone);
    let beats = named(view, holder).map(|worker| worker.last_beat_ms);
    beats.min().filter(|_| is_gone)
}

/// Who holds most of the leases, in words; and, if all workers of that name are gone, the name and the number.
pub(super) fn held_by<'a>(
    view: &'a QueueView,
    line: &'a Line,
) -> Option<(String, Option<(&'a str, u64)>)> {
    let mut holders: BTreeMap<&str, (usize, Duration)> = BTreeMap::new();
    for lease in leases(line) {
        let (count, left) = holders.entry(lease.holder).or_default();
        *count += 1;
        *left = lease.left.max(*left);
    }
    let most = |(holder, (count, _)): &(&&'a str, &(usize, Duration))| {
        (gone_for(view, holder).is_some(), *count)
    };
    let (holder, (count, left)) = holders.iter().max_by_key(most)?;
    let beat = gone_for(view, holder);
    let gone = beat.map(|_| (*holder, *count as u64));
    let since = beat.map_or_else(String::new, |beat| {
        format!(", gone for {},", words(Duration::from_millis(beat)))
    });
    let text = format!(
        ", {count} by `{}`{since} until in {}",
        holder_in_words(holder),
        words(*left)
    );
    Some((text, gone))
}

/// Whether all leased messages are those of workers that are gone.
pub(super) fn all_are_gone(view: &QueueView, line: &Line) -> bool {
    let is_gone = |lease: Held<'_>| gone_for(view, lease.holder).is_some();
    line.leased.is_whole && leases(line).all(is_gone)
}

/// Messages are leased by workers that are gone, and wait for the ends of their leases.
pub(super) fn holder_gone(view: &QueueView, line: &Line) -> Option<Finding> {
    let is_gone = |lease: &Held<'_>| gone_for(view, lease.holder).is_some();
    let left: Vec<Held<'_>> = leases(line).filter(is_gone).collect();
    let last = left.iter().max_by_key(|lease| lease.left)?;
    let beat = gone_for(view, last.holder)?;
    let count = left
        .iter()
        .filter(|lease| lease.holder == last.holder)
        .count();
    let sentence = format!(
        "{}{} leased by `{}`, which is gone for {}: the last lease ends in {}",
        counted(count as u64, "message"),
        line.leased.among(),
        last.holder,
        words(Duration::from_millis(beat)),
        words(last.left)
    );
    let finding = Finding::new(Problem::HolderGone, Severity::Trouble, sentence)
        .with("leases", count as u64)
        .with("holder", last.holder)
        .with("last_beat_ms", beat);
    Some(finding.remedy(
        "release its messages, so that others get them at once",
        &view.command("release").option("holder", last.holder),
    ))
}

/// A lease: its message; its holder, or no text without one; the time it has lasted, and the time it has to go.
pub(super) struct Held<'a> {
    message: &'a Peeked,
    holder: &'a str,
    pub(super) since: Timestamp,
    left: Duration,
}

pub(super) fn leases(line: &Line) -> impl Iterator<Item = Held<'_>> {
    line.leased
        .iter()
        .filter_map(|leased| match &leased.standing {
            Standing::Leased {
                receipt,
                time_left,
                holder,
                ..
            } => Some(Held {
                message: leased,
                holder: holder.as_ref().map_or("", |holder| holder.as_str()),
                since: leased_at(receipt.token),
                left: *time_left,
            }),
            _ => None,
        })
}

/// Whether messages have been ready for long, and no consumer waits for one.
fn starves(view: &QueueView, line: &Line) -> bool {
    let age = line.counters.oldest_ready.unwrap_or_default();
    line.counters.depth.ready > 0 && age > LEASED_LONG && view.facts.waiting == Some(0)
}

pub(super) fn long_leases(view: &QueueView, line: &Line) -> Option<Finding> {
    let depth = line.counters.depth;
    let age = line.counters.oldest_ready.unwrap_or_default();
    let starves = starves(view, line);
    let bound = if starves { LEASED_LONG } else { LONG_LEASE };
    let long: Vec<Held<'_>> = leases(line).filter(|lease| lease.left > bound).collect();
    let longest = long.iter().max_by_key(|lease| lease.left)?;
    let by_holder = long
        .iter()
        .filter(|lease| lease.holder == longest.holder)
        .count();
    let others = long.len() - by_holder;
    let others = if others > 0 {
        format!(", {others} by others")
    } else {
        String::new()
    };
    let waits = match starves {
        true => format!("; {} ready, and no consumer waits", depth.ready),
        false => String::new(),
    };
    let sentence = format!(
        "{by_holder}{} leased by `{}` for {} more{others}, since {}{waits}",
        line.leased.among(),
        holder_in_words(longest.holder),
        words(longest.left),
        words(view.now.since(longest.since))
    );
    // Nothing is handed out: there is nothing else, or nobody has come for it for long.
    let stands = depth.ready == 0 || starves && age > SLOW;
    let looked_at = match line.leased.is_whole {
        true => depth.leased,
        false => line.leased.len() as u64,
    };
    let severity = match stands && long.len() as u64 >= looked_at {
        true => Severity::Standstill,
        false => Severity::Trouble,
    };
    let finding = Finding::new(Problem::LongLeases, severity, sentence)
        .with("leases", long.len() as u64)
        .with("holder", longest.holder)
        .with("time_left_ms", millis_ceil(longest.left));
    Some(finding.remedy(
        "if the holder hangs or is dead, release its messages",
        &view.command("release").option("holder", longest.holder),
    ))
}

pub(super) fn too_slow(view: &QueueView, line: &Line) -> Option<Finding> {
    let depth = line.counters.depth;
    let age = line.counters.oldest_ready?;
    // Leases that nobody extends belong to no consumer that works.
    let are_held = starves(view, line) && leases(line).all(|lease| lease.left > LEASED_LONG);
    let has_a_cause = are_held || view.limit(line).is_some();
    if depth.ready == 0 || depth.leased == 0 || age < SLOW || has_a_cause {
        return None;
    }
    let sentence = format!(
        "{} ready, the oldest for {}, while {} are leased: consumers are too slow",
        depth.ready,
        words(age),
        depth.leased
    );
    let finding = Finding::new(Problem::TooSlow, Severity::Trouble, sentence)
        .with("ready", depth.ready)
        .with("leased", depth.leased);
    Some(finding.advise("start more consumers, or give them more slots"))
}

/// Handlers never return, while their worker extends the leases. Where a message was settled before, handlers may just
/// take this long.
pub(super) fn hanging(view: &QueueView, line: &Line) -> Option<Finding> {
    let age = line.counters.oldest_ready.unwrap_or_default();
    let lasted = |lease: &Held<'_>| view.now.since(lease.since);
    let leased: Vec<Held<'_>> = leases(line).collect();
    let shortest = leased.iter().map(lasted).min()?;
    // Who extends a lease has had it for longer than it has to go.
    let are_extended = leased.iter().all(|lease| lease.left < lasted(lease));
    let ready = line.counters.depth.ready;
    if ready == 0 || age < SLOW || shortest < SLOW || !are_extended {
        return None;
    }
    let mut holders: BTreeMap<&str, Vec<&Held<'_>>> = BTreeMap::new();
    for lease in &leased {
        holders.entry(lease.holder).or_default().push(lease);
    }
    let (holder, of_holder) = holders.iter().max_by_key(|(_, held)| held.len())?;
    let longest = of_holder.iter().map(|lease| lasted(lease)).max()?;
    let others = match leased.len() - of_holder.len() {
        0 => String::new(),
        others => format!(", {others} by others"),
    };
    let sentence = format!(
        "{}{} leased by `{}` for {}, none settled{}{others}; {ready} ready wait, the oldest for {}",
        of_holder.len(),
        line.leased.among(),
        holder_in_words(holder),
        words(longest),
        of_jobs(of_holder.iter().map(|lease| &lease.message.message)),
        words(age)
    );
    let severity = match line.counters.acked {
        0 => Severity::Standstill,
        _ => Severity::Trouble,
    };
    let finding = Finding::new(Problem::HandlersHang, severity, sentence)
        .with("leases", leased.len() as u64)
        .with("holder", *holder)
        .with("longest_ms", millis_ceil(longest));
    Some(finding.remedy(
        "look what its handlers wait for, and give the worker a timeout; if it hangs, release its messages",
        &view.command("release").option("holder", *holder),
    ))
}

/// The type of most of these messages, if they are jobs.
fn of_jobs<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let mut jobs: BTreeMap<&str, usize> = BTreeMap::new();
    for job in messages.filter_map(|message| message.headers.job()) {
        *jobs.entry(job).or_default() += 1;
    }
    let most = jobs
        .iter()
        .max_by_key(|(job, count)| (**count, Reverse(**job)));
    most.map_or_else(String::new, |(job, _)| format!(", job `{job}`"))
}

/// Messages that come back from leases that expired: nobody said why.
fn came_back(line: &Line) -> impl Iterator<Item = (&Message, u32)> {
    let there = line.first_ready.iter().chain(line.leased.iter());
    there.filter_map(|peeked| {
        let is_leased = matches!(peeked.standing, Standing::Leased { .. });
        let ended = peeked.attempts.saturating_sub(is_leased.into());
        (ended > 0 && peeked.failure.is_none()).then_some((&peeked.message, ended))
    })
}

/// The new dead letters whose last lease expired.
fn died_of_expiry<'a>(view: &QueueView, line: &'a Line) -> impl Iterator<Item = &'a DeadLetter> {
    let now = view.now;
    line.dead.iter().filter(move |letter| {
        letter.reason == DeathReason::Expired && now.since(letter.died_at) < NEW_DEATHS
    })
}

/// Leases expire under workers that live: their handlers block the runtime, so that it cannot extend the leases.
pub(super) fn expiring(view: &QueueView, line: &Line) -> Option<Finding> {
    let counters = &line.counters;
    let is_present =
        came_back(line).next().is_some() || died_of_expiry(view, line).next().is_some();
    let worker = view.workers.iter().find(|worker| !worker.gone)?;
    let is_much = counters.expired >= MANY_EXPIRED && counters.expired > counters.acked;
    if !is_present || !is_much || view.workers.iter().any(|worker| worker.gone) {
        return None;
    }
    let others = match view.workers.len() - 1 {
        0 => ", which lives".to_owned(),
        others => format!(" and {}, which live", counted(others as u64, "other")),
    };
    let sentence = format!(
        "{} leases expired under `{}`{others}; {} acked: handlers block the runtime, or take longer than a lease",
        counters.expired, worker.record.holder, counters.acked
    );
    let severity = match counters.acked {
        0 => Severity::Standstill,
        _ => Severity::Trouble,
    };
    let finding = Finding::new(Problem::LeasesExpire, severity, sentence)
        .with("expired", counters.expired)
        .with("acked", counters.acked)
        .with("holder", worker.record.holder.clone());
    Some(finding.advise(
        "move what blocks to `spawn_blocking`, so that the worker can extend its leases; or make the leases longer",
    ))
}

/// The same message was held whenever a worker died.
pub(super) fn kills_its_process(view: &QueueView, line: &Line) -> Option<Finding> {
    let gone = view.workers.iter().filter(|worker| worker.gone);
    let gone: Vec<&WorkerInfo> = gone.collect();
    let dead = died_of_expiry(view, line);
    let dead = dead.map(|letter| (letter.id, &letter.headers, letter.attempts));
    let back = came_back(line).map(|(message, ended)| (message.id, &message.headers, ended));
    let (id, headers, ended) = back.chain(dead).max_by_key(|(_, _, ended)| *ended)?;
    if gone.len() < MANY_GONE || (ended as usize) < MANY_GONE {
        return None;
    }
    let lives = view.workers.len() > gone.len() || view.facts.waiting.is_some_and(|some| some > 0);
    let last = gone.iter().min_by_key(|worker| worker.last_beat_ms)?;
    let job = headers.job();
    let job = job.map_or_else(String::new, |job| format!(" (job `{job}`)"));
    let sentence = format!(
        "#{id}{job} was held at the ends of {ended} leases, and {} are gone, the last `{}`, {} ago: it may kill its \
         process",
        counted(gone.len() as u64, "worker"),
        last.record.holder,
        words(Duration::from_millis(last.last_beat_ms))
    );
    let severity = match lives || line.counters.depth.ready + line.counters.depth.leased == 0 {
        true => Severity::Trouble,
        false => Severity::Standstill,
    };
    let finding = Finding::new(Problem::KillsItsProcess, severity, sentence)
        .with("message", id.get())
        .with("expired_leases", ended)
        .with("workers_gone", gone.len() as u64);
    Some(finding.remedy(
        "look at it, and mend its handler; lower `max_attempts`, so that it dies sooner",
        &view.command("show").value(id.to_string()),
    ))
}
