//! L4, L10: the queue takes only the live lease's receipt, and does take it; tokens grow.

use queue_core::{Extended, Settled, Token};

use super::Found;
use crate::check::{
    facts::{Facts, Lease, MessageLife, What},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        for happened in life.iter() {
            let (token, taken, extends) = match happened.what {
                What::Settled(token, _, Some(settled)) => {
                    (token, settled != Settled::LeaseLost, false)
                }
                What::Extended(token, _, Some(extended)) => {
                    (token, extended == Extended::Extended, true)
                }
                _ => continue,
            };
            if taken {
                taken_wrongly(facts, life, token, &happened.span, found);
            } else {
                refused_wrongly(life, token, &happened.span, extends, found);
            }
        }
    }
    tokens(facts, found);
}

fn taken_wrongly(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    token: Token,
    span: &Span,
    found: &mut Vec<Found>,
) {
    let id = life.id();
    let Some(lease) = life.lease_with(token) else {
        // A made-up receipt may equal the receipt of a lease whose answer nobody saw.
        if facts.ghosts_before(span) == 0 {
            let rule = if facts.case.history.has_roll_back() {
                "R1"
            } else {
                "L4"
            };
            let message = format!("{id} is settled with {token}, and was never leased with it");
            found.push(Found::at(rule, &[span], message));
        }
        return;
    };
    if span.before(&lease.span) {
        let message = format!("{id} is settled with {token} before it is leased with it");
        found.push(Found::at("L4", &[span, &lease.span], message));
    }
    let newer = life
        .leases()
        .find(|other| lease.span.before(&other.span) && other.span.before(span));
    if let Some(newer) = newer {
        let message = format!(
            "the receipt of message {id} with the token {token} is taken, and {} holds it",
            newer.delivery.receipt.token
        );
        found.push(Found::at("L4", &[&newer.span, span], message));
    }
    if let Some(settled) = life.settled(token, span) {
        let message =
            format!("the lease of {id} with the token {token} is settled, and taken again");
        found.push(Found::at("L4", &[&settled.span, span], message));
    }
    let deadline = life.deadline(&lease, span).1;
    if span.earliest >= deadline {
        let message = format!(
            "the receipt of message {id} with the token {token} is taken at {}, expired at \
             {deadline}",
            span.earliest
        );
        found.push(Found::at("L4", &[&lease.span, span], message));
    }
}

fn refused_wrongly(
    life: MessageLife<'_, '_>,
    token: Token,
    span: &Span,
    extends: bool,
    found: &mut Vec<Found>,
) {
    let Some(lease) = life.lease_with(token) else {
        return;
    };
    let others = life.leases();
    let mut others = others.filter(|other| other.delivery.receipt.token != token);
    let taken_over =
        others.any(|other| other.span.may_precede(span) && !other.span.before(&lease.span));
    if !lease.span.before(span) || taken_over || !life.is_live(&lease, span) {
        return;
    }
    let (deadline, _) = life.deadline(&lease, span);
    let own = lease.span.earliest.saturating_add(lease.lease_time);
    let rule = if extends || deadline != own {
        "L10"
    } else {
        "L4"
    };
    let message = format!(
        "the live lease of message {} with the token {token} is called lost at {}, before its \
         deadline {deadline}",
        life.id(),
        span.latest
    );
    found.push(Found::at(rule, &[&lease.span, span], message));
}

/// Tokens grow with each delivery of a message, are never below the lease's time, and no two
/// deliveries share one.
fn tokens(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let mut all: Vec<(Token, Span)> = Vec::new();
    for life in facts.lives() {
        let mut last: Option<Lease<'_>> = None;
        for lease in life.leases() {
            let token = lease.delivery.receipt.token;
            // Without the backend's own order, deliveries are ordered by their tokens, and not by their times.
            let sure = last.and_then(|last| match last.span.before(&lease.span) {
                true => Some((last, lease)),
                false => lease.span.before(&last.span).then_some((lease, last)),
            });
            if let Some((before, after)) = sure
                && after.delivery.receipt.token <= before.delivery.receipt.token
            {
                let message = format!(
                    "message {} is delivered with the token {} after {}",
                    life.id(),
                    after.delivery.receipt.token,
                    before.delivery.receipt.token
                );
                found.push(Found::at("L4", &[&before.span, &after.span], message));
            }
            if facts.case.history.has_truth
                && token.get() < lease.span.earliest.saturating_mul(Token::PER_MILLI)
            {
                let message = format!(
                    "message {} is delivered at {} with the older token {token}",
                    life.id(),
                    lease.span.earliest
                );
                found.push(Found::at("R1", &[&lease.span], message));
            }
            all.push((token, lease.span));
            last = Some(lease);
        }
    }
    all.sort_unstable_by_key(|(token, _)| *token);
    for pair in all.windows(2) {
        if pair[0].0 == pair[1].0 {
            let message = format!("two deliveries have the token {}", pair[0].0);
            found.push(Found::at("L4", &[&pair[0].1, &pair[1].1], message));
        }
    }
}
