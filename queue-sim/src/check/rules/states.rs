//! L21: a delivery, a peek and a dead letter have the state that a holder stored last.

use queue_core::Bytes;

use super::Found;
use crate::check::{
    facts::{Facts, Happened, MessageLife, What},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        for happened in life.iter() {
            let state = match happened.what {
                What::Delivered(delivery, _) => delivery.state.as_deref(),
                What::Letter(letter) => letter.state.as_ref(),
                What::Peeked(peeked) => peeked.state.as_ref(),
                _ => continue,
            };
            check_state(life, &happened.span, state, found);
        }
    }
}

/// The state that this event may have stored before `then`, and whether it surely did.
fn stored<'a>(happened: &Happened<'a>, then: &Span) -> Option<(&'a Bytes, bool)> {
    let What::Stored(state, took_effect) = happened.what else {
        return None;
    };
    let may_be = took_effect != Some(false) && happened.span.may_precede(then);
    may_be.then_some((state, took_effect == Some(true)))
}

/// The state is one that may have been stored before, and the last one if it is sure which was the last.
fn check_state(
    life: MessageLife<'_, '_>,
    then: &Span,
    state: Option<&Bytes>,
    found: &mut Vec<Found>,
) {
    let all = || {
        life.iter()
            .filter_map(|each| Some((&each.span, stored(each, then)?)))
    };
    let last = all().find(|(span, (_, sure))| {
        let mut others = all().filter(|(other, _)| !std::ptr::eq(*other, *span));
        *sure && span.before(then) && others.all(|(other, _)| other.before(span))
    });
    let shown = state.map_or(&b""[..], |state| state);
    let is_right = match last {
        Some((_, (state, _))) => shown == &state[..],
        None => {
            let some = all().any(|(span, (_, sure))| sure && span.before(then));
            (shown.is_empty() && !some) || all().any(|(_, (state, _))| shown == &state[..])
        }
    };
    if !is_right {
        let message = format!(
            "message {} has a state of {} bytes, which is not what its holder stored last",
            life.id(),
            shown.len()
        );
        let mut spans: Vec<_> = last.map(|(span, _)| span).into_iter().collect();
        spans.push(then);
        found.push(Found::at("L21", &spans, message));
    }
}
