//! L13: the queue keeps dead letters up to a cap, each as it died, until a call revives or discards
//! it.

use queue_core::{DeathReason, Disposition, Revived, Settled, call::Answer, limits::MAX_REASON};

use super::Found;
use crate::check::{
    facts::{Facts, MessageLife, What},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let Some(cap) = facts.dead_letter_cap() else {
        return;
    };
    for (done, span) in facts.calls() {
        let dead = match done.answer {
            Some(Answer::DeadLetters(page)) => page.entries.len() as u64,
            Some(Answer::Depth(depth)) => depth.dead,
            Some(Answer::Counters(counters)) => counters.depth.dead,
            _ => continue,
        };
        if dead > cap {
            let message = format!("{dead} dead letters, at most {cap} are kept");
            found.push(Found::at("L13", &[&span], message));
        }
    }
    for life in facts.lives() {
        for happened in life.iter() {
            match happened.what {
                What::Letter(letter) => {
                    if let DeathReason::Buried(reason) = &letter.reason {
                        buried(life, &happened.span, reason, found);
                    }
                    gone(life, &happened.span, found);
                }
                What::Revived(Some(Revived::Revived)) => {
                    never_died(facts, life, &happened.span, found);
                }
                _ => {}
            }
        }
    }
}

/// A dead letter has the reason of its burial.
fn buried(life: MessageLife<'_, '_>, span: &Span, kept: &str, found: &mut Vec<Found>) {
    let mut earlier = life.perhaps_before(span);
    let said = earlier.any(|happened| match happened.what {
        What::Settled(_, Disposition::Bury { reason }, settled) => {
            let cut = reason.len() > MAX_REASON && reason.starts_with(kept);
            settled != Some(Settled::LeaseLost) && (reason == kept || cut)
        }
        _ => false,
    });
    if !said {
        let message = format!("message {} was never buried as {kept:?}", life.id());
        found.push(Found::at("L13", &[span], message));
    }
}

/// A message that was acked, or discarded when dead, is never a dead letter again.
fn gone(life: MessageLife<'_, '_>, span: &Span, found: &mut Vec<Found>) {
    for happened in life.before(span) {
        let left = match happened.what {
            What::Settled(_, Disposition::Ack | Disposition::AckWith(_), Some(Settled::Done)) => {
                "acked"
            }
            What::Discarded(true) if was_dead(life, &happened.span) => "discarded",
            _ => continue,
        };
        let message = format!("message {} was {left}, and is among the dead", life.id());
        found.push(Found::at("L13", &[&happened.span, span], message));
    }
}

/// Whether the message was surely dead then: an answer showed it dead, and it was not revived since.
fn was_dead(life: MessageLife<'_, '_>, then: &Span) -> bool {
    life.before(then).any(|happened| {
        let died = matches!(
            happened.what,
            What::Letter(_) | What::Settled(_, _, Some(Settled::Dead))
        );
        died && !life.may_be_revived(&happened.span, then)
    })
}

/// Only dead letters are revived. A message that died was leased before, or outdated.
fn never_died(facts: &Facts<'_>, life: MessageLife<'_, '_>, span: &Span, found: &mut Vec<Found>) {
    let leased = life.leases().any(|lease| lease.span.may_precede(span));
    if !leased && facts.ghosts_before(span) == 0 && !facts.may_be_outdated(life, span) {
        let message = format!("message {} is revived, and was never leased", life.id());
        found.push(Found::at("L13", &[span], message));
    }
}
