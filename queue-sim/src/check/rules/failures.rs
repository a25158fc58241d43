//! L14: a delivery, a peek and a dead letter show the reason of the last retry.

use queue_core::{Disposition, Settled};

use super::Found;
use crate::check::{
    facts::{Facts, Happened, MessageLife, What},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        for happened in life.iter() {
            let failure = match happened.what {
                What::Delivered(delivery, _) => delivery.failure.as_deref(),
                What::Letter(letter) => letter.failure.as_deref(),
                What::Peeked(peeked) => peeked.failure.as_deref(),
                _ => continue,
            };
            check_failure(life, &happened.span, failure, found);
        }
    }
}

/// A retry that may have come before, and its reason.
fn retry<'a>(happened: &Happened<'a>, then: &Span) -> Option<Option<&'a str>> {
    let What::Settled(_, disposition @ Disposition::Retry { .. }, settled) = happened.what else {
        return None;
    };
    let may_be = settled != Some(Settled::LeaseLost) && happened.span.may_precede(then);
    may_be.then(|| disposition.failure())
}

/// The message has the reason of an earlier retry. It has the last retry's reason if it is sure which retry was the
/// last, and that no call revived the message since.
fn check_failure(
    life: MessageLife<'_, '_>,
    then: &Span,
    failure: Option<&str>,
    found: &mut Vec<Found>,
) {
    let retries = || life.iter().filter_map(|r| Some((r, retry(r, then)?)));
    let last = retries().find(|(last, _)| {
        let What::Settled(_, _, Some(_)) = last.what else {
            return false;
        };
        let mut others = retries().filter(|(other, _)| !std::ptr::eq(*other, *last));
        last.span.before(then)
            && others.all(|(other, _)| other.span.before(&last.span))
            && !life.may_be_revived(&last.span, then)
    });
    let (wrong, mut spans) = match last {
        Some((last, said)) => (said != failure, vec![&last.span]),
        None => (
            failure.is_some() && retries().all(|(_, said)| said != failure),
            Vec::new(),
        ),
    };
    if wrong {
        let message = format!(
            "message {} names {failure:?} as the reason of its last retry, which gave {:?}",
            life.id(),
            last.and_then(|(_, said)| said)
        );
        spans.push(then);
        found.push(Found::at("L14", &spans, message));
    }
}
