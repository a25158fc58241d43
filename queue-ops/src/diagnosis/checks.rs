//! The checks of a queue, one function each.

use std::{collections::BTreeMap, time::Duration};

use queue_core::{Group, Peeked, Standing, Timestamp, millis_ceil};

use super::{
    Finding, Problem, Severity, folder, is_shown_only,
    leases::{
        all_are_gone, expiring, hanging, held_by, holder_gone, kills_its_process, last_worker,
        leases, long_leases, too_slow,
    },
    server,
    view::{Line, NEW_DEATHS, QueueView, Sample},
};
use crate::{
    fingerprint::{fingerprint, group_failures},
    groups::{group_in_words, group_key, key_as_data},
    words::{counted, duration_in_words as words, year},
};

/// A message that is ready for longer than this should have been handed out.
const READY_LONG: Duration = Duration::from_millis(1_000);
/// Messages that a limit keeps for longer than this are worth a word.
const LIMITED_LONG: Duration = Duration::from_secs(60);
/// Nobody means to schedule a message this far ahead.
const TOO_FAR: Duration = Duration::from_secs(20 * 365 * 86_400);
/// A delay within this time is plausible.
const NEAR: Duration = Duration::from_secs(2 * 365 * 86_400);
/// A clock that went back by less shows nothing.
const CLOCK_STEP: Duration = Duration::from_secs(2);

/// The findings about a queue that can be read.
pub(super) fn all(view: &QueueView) -> Vec<Finding> {
    let mut findings: Vec<Finding> = view
        .facts
        .server
        .iter()
        .flat_map(|server| server::findings(server, &view.name))
        .collect();
    if let Some(line) = &view.line {
        let (hanging, expiring) = (hanging(view, line), expiring(view, line));
        // More consumers would hang or expire as well.
        let are_slow = hanging.is_none() && expiring.is_none();
        let no_owner = folder::no_owner(view, line);
        let has_owner = no_owner.is_none();
        let one: [Option<Finding>; 26] = [
            no_owner,
            paused(view, line),
            nobody_waits(view, line).filter(|_| has_owner),
            full(view, line),
            limit_reached(view, line),
            groups_held(view, line),
            busy_group(view, line),
            wrong_unit(view, line),
            kills_its_process(view, line),
            holder_gone(view, line),
            long_leases(view, line),
            hanging,
            expiring,
            ruled_group(view),
            rated_groups(view),
            undecodable(line),
            failing(view, line),
            clock_went_back(view, line),
            dead_letters(view, line),
            too_slow(view, line).filter(|_| are_slow),
            all_due_later(line),
            empty(line),
            sampled(&view.groups, "group", line.counters.groups),
            sampled(&line.leased, "leased message", line.counters.depth.leased),
            sampled(
                &line.delayed,
                "delayed message",
                line.counters.depth.delayed,
            ),
            sampled(&line.dead, "dead letter", line.counters.depth.dead),
        ];
        findings.extend(one.into_iter().flatten());
    }
    findings
}

fn paused(view: &QueueView, line: &Line) -> Option<Finding> {
    if !line.counters.paused {
        return None;
    }
    let ready = line.counters.depth.ready;
    let sentence = format!("paused; {ready} ready wait");
    let finding =
        Finding::new(Problem::Paused, Severity::Standstill, sentence).with("ready", ready);
    Some(finding.remedy("hand out messages again", &view.command("resume")))
}

/// Messages are ready, and nobody takes them.
fn nobody_waits(view: &QueueView, line: &Line) -> Option<Finding> {
    let depth = line.counters.depth;
    let age = line.counters.oldest_ready.unwrap_or_default();
    let shown_only = is_shown_only(&view.name, view.config.kind(), &line.counters);
    let kept =
        line.counters.paused || view.limit(line).is_some() || groups_stand(view) || shown_only;
    if depth.ready == 0 || age < READY_LONG || kept {
        return None;
    }
    let since = words(age);
    let (problem, sentence, advice) = match view.facts.waiting {
        Some(1..) => (
            Problem::WakeUpLost,
            format!(
                "{} ready for {since}, and consumers wait: a wake-up was lost",
                depth.ready
            ),
            "consumers poll every five seconds all the same; if they do not, they hang",
        ),
        _ if depth.leased > 0 && !all_are_gone(view, line) => return None,
        _ => (
            Problem::NoConsumer,
            format!(
                "{} ready, no live consumer; {}",
                depth.ready,
                last_worker(view).unwrap_or_else(|| format!("the oldest waits for {since}"))
            ),
            "start a consumer, or look why it does not lease",
        ),
    };
    let finding = Finding::new(problem, Severity::Standstill, sentence)
        .with("ready", depth.ready)
        .with("oldest_ready_ms", millis_ceil(age))
        .with("waiting", view.facts.waiting);
    Some(finding.advise(advice))
}

fn full(view: &QueueView, line: &Line) -> Option<Finding> {
    let capacity = view.capacity()?.get() as u64;
    let occupied = line.counters.depth.occupied();
    let waits = view
        .facts
        .waiting_for_room
        .is_some_and(|waiting| waiting > 0);
    let shown_only = is_shown_only(&view.name, view.config.kind(), &line.counters);
    if occupied < capacity || shown_only && !waits {
        return None;
    }
    let producers = match view.facts.waiting_for_room {
        Some(1..) => ", producers wait for room",
        _ => "",
    };
    let consumers = match (view.facts.waiting, line.counters.depth.leased) {
        (Some(0), 0) => ", no consumer",
        _ => "",
    };
    let sentence = format!("full: {occupied} of {capacity}{producers}{consumers}");
    let severity = match consumers.is_empty() {
        true => Severity::Trouble,
        false => Severity::Standstill,
    };
    let finding = Finding::new(Problem::Full, severity, sentence)
        .with("occupied", occupied)
        .with("capacity", capacity)
        .with("waiting_for_room", view.facts.waiting_for_room);
    if severity == Severity::Standstill {
        return Some(finding.advise("start consumers: more room would be full soon, too"));
    }
    Some(
        finding.remedy(
            "start consumers, or make it larger",
            &view
                .command("reconfigure")
                .value(format!("capacity={}", capacity * 2)),
        ),
    )
}

/// A limit that consumers meet all the time is what it is for. It is trouble once messages wait for long.
fn limit_reached(view: &QueueView, line: &Line) -> Option<Finding> {
    let (limit, next) = view.limit(line)?;
    let age = line.counters.oldest_ready.unwrap_or_default();
    // A rate's tokens are nobody's.
    let held = next.is_none().then(|| held_by(view, line)).flatten();
    let (held, gone) = held.unwrap_or_default();
    let leased = line.counters.depth.leased;
    let severity = match (next, gone) {
        (Some(next), _) if next > LIMITED_LONG => Severity::Standstill,
        (_, Some((_, places))) if places >= leased => Severity::Standstill,
        (_, Some(_)) => Severity::Trouble,
        _ if age > LIMITED_LONG => Severity::Trouble,
        _ => Severity::Note,
    };
    let ready = line.counters.depth.ready;
    let then = next.map(|next| format!("; the next in {}", words(next)));
    let sentence = format!(
        "limit reached: {limit}{held}; {ready} ready wait, the oldest for {}{}",
        words(age),
        then.unwrap_or_default()
    );
    let finding = Finding::new(Problem::LimitReached, severity, sentence)
        .with("ready", ready)
        .with("oldest_ready_ms", millis_ceil(age))
        .with("next_ms", next.map(millis_ceil));
    let setting = if next.is_some() { "rate" } else { "at_once" };
    let Some((holder, _)) = gone else {
        return Some(finding.advise(format!(
            "if that is too little, raise {setting} by `qk reconfigure`"
        )));
    };
    Some(finding.with("holder", holder).remedy(
        "release the messages of the worker that is gone, so that others get their places",
        &view.command("release").option("holder", holder),
    ))
}

/// Whether a grouped queue has ready messages, and none of its groups may run.
fn groups_stand(view: &QueueView) -> bool {
    view.groups.first().is_some_and(|first| !first.may_run)
}

/// Groups with ready messages that are paused or parked, or wait for the retry of a message.
fn groups_held(view: &QueueView, line: &Line) -> Option<Finding> {
    let is_held = |group: &&Group| group.is_paused() || group.waits.is_some();
    let held: Vec<&Group> = view.groups.iter().filter(|group| group.ready > 0).collect();
    let held: Vec<&Group> = held.into_iter().filter(is_held).collect();
    let first = held.iter().max_by_key(|group| group.oldest_ready)?;
    let age = first.oldest_ready.unwrap_or_default();
    if age < READY_LONG {
        return None;
    }
    let severity = match groups_stand(view) && line.counters.depth.leased == 0 {
        true => Severity::Standstill,
        false if age > LIMITED_LONG => Severity::Trouble,
        false => Severity::Note,
    };
    let key = group_key(first);
    let others = match held.len() {
        1 => String::new(),
        many => format!("; {many} groups{} in all", view.groups.among()),
    };
    let sentence = format!(
        "group `{key}`: {}; {} ready wait behind that, the oldest for {}{others}",
        group_in_words(first),
        first.ready,
        words(age)
    );
    let finding = Finding::new(Problem::GroupsHeld, severity, sentence)
        .with("group", key_as_data(&first.key))
        .with("ready", first.ready)
        .with("oldest_ready_ms", millis_ceil(age))
        .with("groups", held.len() as u64);
    Some(match (first.is_paused(), first.held_by) {
        (true, _) => {
            let resume = match first.parked {
                true => "mend the cause of the death, then hand out the others",
                false => "hand out its messages again",
            };
            finding.remedy(resume, &view.command("resume").option("group", &first.key))
        }
        (false, Some(id)) => finding.remedy(
            "mend the cause, or cancel the message",
            &view.command("show").value(id.to_string()),
        ),
        (false, None) => finding,
    })
}

/// One group has most of the leases, and messages of others wait for consumers.
fn busy_group(view: &QueueView, line: &Line) -> Option<Finding> {
    let leased = line.counters.depth.leased;
    let busiest = view.groups.iter().max_by_key(|group| group.held)?;
    let others = view
        .groups
        .iter()
        .filter(|group| group.key != busiest.key && group.may_run);
    let (mut ready, mut age) = (0, Duration::ZERO);
    for group in others {
        ready += group.ready;
        age = age.max(group.oldest_ready.unwrap_or_default());
    }
    let most = u64::from(busiest.held);
    if most < 2 || 2 * most <= leased || ready == 0 || age < READY_LONG {
        return None;
    }
    let key = group_key(busiest);
    let sentence = format!(
        "group `{key}` has {most} of {leased} leases; {ready} ready of other groups{} wait, the oldest for {}",
        view.groups.among(),
        words(age)
    );
    let finding = Finding::new(Problem::BusyGroup, Severity::Trouble, sentence)
        .with("group", key_as_data(&busiest.key))
        .with("held", most)
        .with("leased", leased)
        .with("ready", ready);
    let half = (leased / 2).max(1);
    Some(
        finding.remedy(
            "give it fewer at once for an hour, or pause it, or start more consumers",
            &view
                .command("rule")
                .value(&busiest.key)
                .option("at-once", half.to_string())
                .option("for-ms", "3600000"),
        ),
    )
}

/// A group waits for its own rule.
fn ruled_group(view: &QueueView) -> Option<Finding> {
    let waits = |group: &&Group| {
        let is_full = group.held >= group.at_once && !group.is_paused();
        group.ready > 0 && is_full && group.rule_ends.is_some()
    };
    let ruled = view.groups.iter().filter(waits);
    let first = ruled.max_by_key(|group| group.oldest_ready)?;
    let (age, ends) = (first.oldest_ready?, first.rule_ends?);
    if age < READY_LONG {
        return None;
    }
    let severity = match age > LIMITED_LONG {
        true => Severity::Trouble,
        false => Severity::Note,
    };
    let sentence = format!(
        "group `{}`: its rule of {} at once is reached, and ends in {}; {} ready wait, the oldest for {}",
        group_key(first),
        first.at_once,
        words(ends),
        first.ready,
        words(age)
    );
    let finding = Finding::new(Problem::GroupLimited, severity, sentence)
        .with("group", key_as_data(&first.key))
        .with("ready", first.ready)
        .with("oldest_ready_ms", millis_ceil(age));
    Some(
        finding.remedy(
            "if that is too little, give it another rule",
            &view
                .command("rule")
                .value(&first.key)
                .option("at-once", first.at_once.saturating_mul(2).to_string())
                .option("for-ms", millis_ceil(ends).to_string()),
        ),
    )
}

/// Groups wait for tokens of their rates. If none may run before one comes, the queue hands out nothing.
fn rated_groups(view: &QueueView) -> Option<Finding> {
    let ready = view.groups.iter().filter(|group| group.ready > 0);
    let waiting: Vec<&Group> = ready.clone().filter(|one| one.waits_for_token()).collect();
    let first = waiting.iter().max_by_key(|group| group.oldest_ready)?;
    let next = waiting.iter().filter_map(|group| group.next_token).min()?;
    let age = first.oldest_ready.unwrap_or_default();
    let is_all = waiting.len() == ready.count();
    if age < READY_LONG && !(is_all && next >= READY_LONG) {
        return None;
    }
    let severity = match () {
        () if is_all && next > LIMITED_LONG => Severity::Standstill,
        () if age > LIMITED_LONG => Severity::Trouble,
        () => Severity::Note,
    };
    let sum: u64 = waiting.iter().map(|group| group.ready).sum();
    let among = view.groups.among();
    let which = match (is_all, waiting.len()) {
        (true, 2..) => format!(
            "all {} groups{among} with ready messages wait for tokens of their rates, the first for {}; {sum} ready wait",
            waiting.len(),
            words(next)
        ),
        (_, many) => {
            let others = match many {
                1 => String::new(),
                _ => format!(", as {many} groups{among} in all"),
            };
            format!(
                "group `{}`: {}{others}; {} ready wait",
                group_key(first),
                group_in_words(first),
                first.ready
            )
        }
    };
    let sentence = format!("{which}, the oldest for {}", words(age));
    let finding = Finding::new(Problem::GroupsRated, severity, sentence)
        .with("group", key_as_data(&first.key))
        .with("groups", waiting.len() as u64)
        .with("ready", sum)
        .with("oldest_ready_ms", millis_ceil(age))
        .with("next_ms", millis_ceil(next));
    Some(finding.advise(match first.rule_ends {
        Some(_) => "if that is too little, give the group another rate by `qk rule … --rate`",
        None => "if that is too little, raise group_rate by `qk reconfigure`",
    }))
}

fn wrong_unit(view: &QueueView, line: &Line) -> Option<Finding> {
    let dues = || line.delayed.iter().filter_map(due_in);
    let far: Vec<Duration> = dues().filter(|due| *due > TOO_FAR).collect();
    let first = far.first()?;
    let due = view.now.plus_millis(millis_ceil(*first));
    // A due time in microseconds is refused by every backend, but a delay in milliseconds is a long one in seconds.
    // And a time of the clock, taken for a delay, is due as long after now as now is after 1970.
    let now = Duration::from_millis(view.now.as_millis());
    let guess = match *first {
        delay if delay > now / 10 * 9 && delay < now / 10 * 11 => {
            ": a time of the clock taken for a delay?"
        }
        delay if delay / 1_000 < NEAR => ": milliseconds taken for seconds?",
        _ => "",
    };
    let count = far.len();
    let among = line.delayed.among();
    let sentence = format!("{count}{among} due in the year {}{guess}", year(due));
    let finding = Finding::new(Problem::WrongUnit, Severity::Standstill, sentence)
        .with("messages", count as u64)
        .with("due_ms", due.as_millis());
    Some(finding.remedy(
        "cancel them, and push them with the right due time",
        &view.command("peek").value("delayed"),
    ))
}

fn due_in(message: &Peeked) -> Option<Duration> {
    match message.standing {
        Standing::Delayed { due_in, .. } => Some(due_in),
        _ => None,
    }
}

/// Messages that failed, and wait for their next attempt, by the fingerprint of their failure.
fn failures(line: &Line) -> BTreeMap<String, Vec<(&Peeked, &str)>> {
    let mut groups: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for message in line.delayed.iter() {
        if let Some(failure) = &message.failure {
            groups
                .entry(fingerprint(failure))
                .or_default()
                .push((message, failure.as_str()));
        }
    }
    groups
}

/// The words with which a worker begins the reason of a body that does not decode.
const UNDECODABLE: &str = "cannot decode";

fn undecodable(line: &Line) -> Option<Finding> {
    let failed = failures(line)
        .into_values()
        .flatten()
        .map(|(_, failure)| failure);
    let dead = line
        .dead
        .iter()
        .filter_map(|letter| letter.failure.as_deref());
    let all: Vec<&str> = failed
        .chain(dead)
        .filter(|failure| failure.starts_with(UNDECODABLE))
        .collect();
    let first = all.first()?;
    let among = match line.delayed.is_whole && line.dead.is_whole {
        true => String::new(),
        false => format!(" of the first {}", line.delayed.len() + line.dead.len()),
    };
    let why = first
        .trim_start_matches(UNDECODABLE)
        .trim_start_matches(": ");
    let sentence = format!(
        "{}{among} cannot be decoded: {why}",
        counted(all.len() as u64, "message")
    );
    let finding = Finding::new(Problem::Undecodable, Severity::Trouble, sentence)
        .with("messages", all.len() as u64);
    Some(
        finding.advise(
            "deploy consumers that know these messages; what died can be revived afterwards",
        ),
    )
}

fn failing(view: &QueueView, line: &Line) -> Option<Finding> {
    let mut groups = failures(line);
    groups.retain(|_, group| {
        !group
            .iter()
            .any(|(_, failure)| failure.starts_with(UNDECODABLE))
    });
    let largest = groups.values().max_by_key(|group| group.len())?;
    let (first, failure) = *largest.first()?;
    let most = view
        .config
        .leasing()
        .map_or(0, |config| config.max_attempts);
    let next = largest
        .iter()
        .filter_map(|(message, _)| due_in(message))
        .min()
        .unwrap_or_default();
    let sentence = match largest.len() {
        1 => format!(
            "#{} failed {} ×: '{failure}'; next try in {}, {} attempts left",
            first.message.id,
            first.attempts,
            words(next),
            most.saturating_sub(first.attempts)
        ),
        many => format!(
            "{many}{} failed: '{failure}', or alike; next try in {}",
            line.delayed.among(),
            words(next)
        ),
    };
    // Nothing else waits for them, so they are no standstill.
    let finding = Finding::new(Problem::Failing, Severity::Trouble, sentence)
        .with("messages", largest.len() as u64)
        .with("first", first.message.id.get())
        .with("attempts", first.attempts)
        .with("next_ms", millis_ceil(next));
    Some(finding.remedy(
        "mend the cause, or cancel the message",
        &view.command("show").value(first.message.id.to_string()),
    ))
}

fn clock_went_back(view: &QueueView, line: &Line) -> Option<Finding> {
    clock_step(leases(line).map(|lease| lease.since).max()?, view.now)
}

/// The finding about a clock that is behind the time of a lease.
pub(super) fn clock_step(latest: Timestamp, now: Timestamp) -> Option<Finding> {
    let step = latest.since(now);
    if step < CLOCK_STEP {
        return None;
    }
    let sentence = format!(
        "the server's clock went back by {} at least: leases and delays last longer by that",
        words(step)
    );
    let finding = Finding::new(Problem::ClockWentBack, Severity::Trouble, sentence)
        .with("step_ms", millis_ceil(step));
    Some(finding.advise("let the clock be corrected slowly, by a time service"))
}

fn dead_letters(view: &QueueView, line: &Line) -> Option<Finding> {
    let dead = line.counters.depth.dead;
    let groups = group_failures(&line.dead);
    let largest = groups.first()?;
    let new = line
        .dead
        .iter()
        .filter(|letter| view.now.since(letter.died_at) < NEW_DEATHS)
        .count();
    let among = line.dead.among();
    let dead_letters = counted(dead, "dead letter");
    let sentence = match largest.count {
        all if all == dead => format!("{dead_letters}: '{}'", largest.example),
        some if among.is_empty() => {
            format!("{dead_letters}, {some} of them: '{}'", largest.example)
        }
        some => format!("{dead_letters}, {some}{among}: '{}'", largest.example),
    };
    // The oldest come first: those that were not looked at may be new.
    let severity = if new > 0 || !line.dead.is_whole {
        Severity::Trouble
    } else {
        Severity::Note
    };
    let finding = Finding::new(Problem::DeadLetters, severity, sentence)
        .with("dead", dead)
        .with("in_the_last_hour", new as u64);
    Some(finding.remedy(
        "look at one of each group before you revive them",
        &view.command("dead groups"),
    ))
}

fn all_due_later(line: &Line) -> Option<Finding> {
    let depth = line.counters.depth;
    let next = line.delayed.iter().filter_map(due_in).min()?;
    if depth.ready > 0 || depth.leased > 0 {
        return None;
    }
    let sentence = format!("{} due later, the next in {}", depth.delayed, words(next));
    Some(
        Finding::new(Problem::AllDueLater, Severity::Note, sentence)
            .with("next_ms", millis_ceil(next)),
    )
}

fn empty(line: &Line) -> Option<Finding> {
    let counters = &line.counters;
    if counters.depth.occupied() > 0 {
        return None;
    }
    let sentence = match counters.accepted {
        0 => "empty: nothing was ever pushed".to_owned(),
        pushed => {
            let dead = match counters.depth.dead {
                0 => String::new(),
                dead => format!(", {dead} are dead"),
            };
            format!(
                "empty: {pushed} were pushed, {} are acked{dead}",
                counters.acked
            )
        }
    };
    let finding =
        Finding::new(Problem::Empty, Severity::Note, sentence).with("accepted", counters.accepted);
    Some(finding.advise("if messages are missing, look at the producers"))
}

/// More is there than was read.
fn sampled<T>(sample: &Sample<T>, thing: &str, all: u64) -> Option<Finding> {
    if sample.is_whole {
        return None;
    }
    let read = sample.len();
    let sentence = format!(
        "only the first {read} of {} were looked at",
        counted(all, thing)
    );
    let finding = Finding::new(Problem::Sampled, Severity::Note, sentence);
    Some(finding.with("looked_at", read as u64).with("all", all))
}
