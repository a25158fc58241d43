//! L6: the queue charges and refunds attempts, and they run out.

use queue_core::{DeathReason, Disposition, Settled};

use super::Found;
use crate::check::facts::{Facts, Lease, MessageLife, What};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let (least_allowed, max) = facts.max_attempts();
    for life in facts.lives() {
        let mut leases: Vec<Lease<'_>> = life.leases().collect();
        if !facts.case.history.has_truth {
            // Leases that overlap count their attempts by their tokens.
            leases.sort_by_key(|lease| lease.delivery.receipt.token);
        }
        let mut last: Option<Lease<'_>> = None;
        for lease in leases {
            let attempt = lease.delivery.attempt;
            let (least, most) = match last {
                None => (1, facts.ghosts_before(&lease.span) + 1),
                Some(last) => follows(facts, life, &last, &lease),
            };
            let revived = last.is_none_or(|last| last.span.before(&lease.span))
                && life
                    .perhaps_before(&lease.span)
                    .any(|happened| matches!(happened.what, What::Revived(_)));
            if attempt > max || attempt == 0 || !revived && !(least..=most).contains(&attempt) {
                let message = format!(
                    "message {} is delivered as attempt {attempt}, where {least} to {} can be",
                    life.id(),
                    most.min(max)
                );
                let before = last.map_or(lease.span, |last| last.span);
                found.push(Found::at("L6", &[&before, &lease.span], message));
            }
            last = Some(lease);
        }
        answers(life, least_allowed, max, found);
        letters(life, least_allowed, max, found);
    }
}

/// The attempt numbers that this lease may have, after the last lease.
fn follows(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    last: &Lease<'_>,
    lease: &Lease<'_>,
) -> (u32, u32) {
    let attempt = last.delivery.attempt;
    if !last.span.before(&lease.span) {
        return (1, u32::MAX);
    }
    let between = facts.ghosts.iter();
    let ghosts = between.filter(|ghost| ghost.may_be_between(&last.span, &lease.span));
    let ghosts = ghosts.count() as u32;
    // If no call settled the lease, it has expired.
    let (mut least, mut most) = (attempt + 1, attempt + 1);
    for happened in life.perhaps_before(&lease.span) {
        let What::Settled(token, disposition, settled) = happened.what else {
            continue;
        };
        if token != last.delivery.receipt.token {
            continue;
        }
        let refunds = matches!(
            disposition,
            Disposition::Defer { .. } | Disposition::Release
        );
        match settled {
            Some(Settled::Done) if refunds => {
                return (attempt, attempt + ghosts);
            }
            None if refunds => least = attempt,
            _ => {}
        }
    }
    most += ghosts;
    (least, most)
}

/// A retry on the last attempt answers `Dead`, and so does a burial. No other settlement does. If the allowed attempts
/// were changed, a retry between the fewest and the most may answer either way.
fn answers(life: MessageLife<'_, '_>, least: u32, max: u32, found: &mut Vec<Found>) {
    for happened in life.iter() {
        let What::Settled(token, disposition, Some(settled)) = happened.what else {
            continue;
        };
        let (Some(lease), false) = (life.lease_with(token), settled == Settled::LeaseLost) else {
            continue;
        };
        let dies = match disposition {
            Disposition::Bury { .. } => true,
            Disposition::Retry { .. } if (least..max).contains(&lease.delivery.attempt) => continue,
            Disposition::Retry { .. } => lease.delivery.attempt >= max,
            _ => false,
        };
        if dies != (settled == Settled::Dead) {
            let message = format!(
                "{disposition:?} of message {} on attempt {} of {max} answers {settled:?}",
                life.id(),
                lease.delivery.attempt
            );
            found.push(Found::at("L6", &[&lease.span, &happened.span], message));
        }
    }
}

/// A message that died of its attempts has spent them.
fn letters(life: MessageLife<'_, '_>, least: u32, max: u32, found: &mut Vec<Found>) {
    for happened in life.iter() {
        let What::Letter(letter) = happened.what else {
            continue;
        };
        let spent = matches!(letter.reason, DeathReason::Expired | DeathReason::Retried);
        if spent && letter.attempts < least || letter.attempts > max {
            let message = format!(
                "message {} died after {} attempts of {max}: {}",
                life.id(),
                letter.attempts,
                letter.reason
            );
            found.push(Found::at("L6", &[&happened.span], message));
        }
    }
}
