//! Q1 to Q3: a queue hands out no more than its limits allow, and a group no more than its rate does.

use std::collections::BTreeMap;

use queue_core::{GroupChange, LeaseRate, QueueConfig, call::Call, millis_ceil};

use super::Found;
use crate::{
    check::{
        facts::{Facts, Lease, MessageLife},
        span::Span,
    },
    history::Event,
    world::Fault,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    at_once(facts, found);
    rate(facts, found);
    rate_of_groups(facts, found);
}

/// Each delivery with the lives of all messages, so that it is one too many if enough others are surely leased then.
fn at_once(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let Some(most) = facts.at_once() else {
        return;
    };
    let lives: Vec<MessageLife<'_, '_>> = facts.lives().collect();
    for (nth, life) in lives.iter().enumerate() {
        for lease in life.leases() {
            let others = lives.iter().enumerate();
            let others =
                others.filter(|(other, life)| *other != nth && life.is_leased(&lease.span));
            let held = others.count() + 1;
            if held > most as usize {
                let message = format!("{held} messages are under leases, and {most} may be");
                found.push(Found::at("Q1", &[&lease.span], message));
                return;
            }
        }
    }
}

/// All deliveries within each time that begins with one of them.
fn rate(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let Some(rate) = facts.rate() else {
        return;
    };
    let leases = facts
        .lives()
        .flat_map(|life| life.leases().collect::<Vec<Lease<'_>>>());
    let spans = leases.map(|lease| lease.span).collect();
    within_rate(facts, "Q2", rate, spans, found);
}

/// The same for each group that has one rate in the whole run.
fn rate_of_groups(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let QueueConfig::Grouped(config) = facts.case.config else {
        return;
    };
    let Some(rate) = config.group_rate else {
        return;
    };
    let mut with_rates = Vec::new();
    for (done, _) in facts.calls() {
        match &done.record.call {
            Call::Reconfigure(QueueConfig::Grouped(other)) if other.group_rate != Some(rate) => {
                return;
            }
            Call::ChangeGroup(key, GroupChange::Rule(rule)) if rule.rate.is_some() => {
                with_rates.push(&key[..]);
            }
            _ => {}
        }
    }
    let mut groups: BTreeMap<&[u8], Vec<Span>> = BTreeMap::new();
    for life in facts.lives() {
        let group = facts.push_of(life.id()).and_then(|push| push.group);
        if let Some(group) = group.filter(|group| !with_rates.contains(group)) {
            let spans = life.leases().map(|lease| lease.span);
            groups.entry(group).or_default().extend(spans);
        }
    }
    for spans in groups.into_values() {
        within_rate(facts, "Q3", rate, spans, found);
    }
}

/// Checks that these deliveries keep to a rate.
fn within_rate(
    facts: &Facts<'_>,
    rule: &'static str,
    rate: LeaseRate,
    mut spans: Vec<Span>,
    found: &mut Vec<Found>,
) {
    let mut events = facts.case.history.events.iter();
    let back = Fault::ClockBack.as_str();
    if events.any(|(_, event)| matches!(event, Event::Fault(fault, _) if *fault == back)) {
        return;
    }
    let (most, per) = (u64::from(rate.most), millis_ceil(rate.per));
    spans.sort_by_key(|span| span.latest);
    for first in &spans {
        let within = spans.iter().filter(|span| span.earliest >= first.earliest);
        for (last, handed_out) in within.zip(1_u64..) {
            let time = last.latest - first.earliest;
            if handed_out > most + most * time / per {
                let message = format!(
                    "{handed_out} messages are handed out in {time} ms, at a rate of {most} in {per} ms"
                );
                found.push(Found::at(rule, &[first, last], message));
                return;
            }
        }
    }
}
