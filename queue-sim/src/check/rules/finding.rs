//! L18, L19, S1 and S2: a find says where a message is, with its progress and its result.

use queue_core::{
    Bytes, Disposition, Extended, Found as Answer, KeptResult, Settled, Standing, millis_ceil,
};

use super::Found;
use crate::check::{
    facts::{Facts, Happened, MessageLife, What},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let acks = || facts.lives().flat_map(|life| life.iter().filter_map(kept));
    let at_most = acks().map(|(kept, _)| kept.at_most.get() as usize).min();
    let room_for_all = at_most.is_none_or(|at_most| acks().count() <= at_most);
    for life in facts.lives() {
        for happened in life.iter() {
            let then = &happened.span;
            match happened.what {
                What::Found(answer) => {
                    check_place(facts, life, answer, then, found);
                    check_result(life, answer, room_for_all, then, found);
                    if let Answer::Present { standing, .. } = answer {
                        check_progress(life, standing, then, found);
                    }
                }
                What::Peeked(peeked) => check_progress(life, &peeked.standing, then, found),
                _ => {}
            }
        }
    }
}

/// The result that this event may have stored, and whether it surely did.
fn kept<'a>(happened: &Happened<'a>) -> Option<(&'a KeptResult, bool)> {
    match happened.what {
        What::Settled(_, Disposition::AckWith(kept), answer) => match answer {
            Some(Settled::Done) => Some((kept, true)),
            Some(_) => None,
            None => Some((kept, false)),
        },
        _ => None,
    }
}

/// A message that was pushed was there, and one that was acked is there no more.
fn check_place(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    answer: &Answer,
    then: &Span,
    found: &mut Vec<Found>,
) {
    let push = life.push().map(|at| &facts.pushes[at].span);
    if let (Answer::NeverWas, Some(push)) = (answer, push)
        && push.before(then)
    {
        let message = format!("message {} was pushed, and a find says never", life.id());
        found.push(Found::at("L18", &[push, then], message));
    }
    let acked = life.before(then).find(|happened| match happened.what {
        What::Settled(_, disposition, answer) => {
            disposition.is_ack() && answer == Some(Settled::Done)
        }
        _ => false,
    });
    if let Some(acked) = acked
        && matches!(answer, Answer::Present { .. } | Answer::Dead { .. })
    {
        let message = format!("message {} is acked, and a find shows it", life.id());
        found.push(Found::at("L18", &[&acked.span, then], message));
    }
}

/// A result comes from an ack, and is there for its time. Unless there is `room_for_all` results of the history, by the
/// least number that any of its acks allows, one of them may have dropped it.
fn check_result(
    life: MessageLife<'_, '_>,
    answer: &Answer,
    room_for_all: bool,
    then: &Span,
    found: &mut Vec<Found>,
) {
    let acks = || life.iter().filter_map(|ack| Some((&ack.span, kept(ack)?)));
    let end = |time: u64, kept: &KeptResult| time.saturating_add(millis_ceil(kept.time));
    if let Answer::Done(result) = answer {
        let stored =
            acks().filter(|(ack, (kept, _))| ack.may_precede(then) && kept.result == *result);
        let ends = stored.map(|(ack, (kept, _))| end(ack.latest, kept)).max();
        let (rule, what) = match ends {
            None => ("S1", "that no ack stored"),
            Some(end) if then.earliest >= end => ("S2", "after its time"),
            Some(_) => return,
        };
        let message = format!("message {} has a result {what}", life.id());
        found.push(Found::at(rule, &[then], message));
        return;
    }
    let there = acks().find(|(ack, (kept, sure))| {
        *sure && ack.before(then) && then.clock < end(ack.earliest, kept) && room_for_all
    });
    if let Some((ack, _)) = there {
        let message = format!(
            "message {} was acked with a result, which is not there",
            life.id()
        );
        found.push(Found::at("S2", &[ack, then], message));
    }
}

/// A lease shows the last progress that its holder reported.
fn check_progress(
    life: MessageLife<'_, '_>,
    standing: &Standing,
    then: &Span,
    found: &mut Vec<Found>,
) {
    let Standing::Leased {
        receipt, progress, ..
    } = standing
    else {
        return;
    };
    let report = |happened: &'_ Happened<'_>| -> Option<(Bytes, bool)> {
        match happened.what {
            What::Reported(token, progress, answer) if token == receipt.token => {
                let stored = answer != Some(Extended::LeaseLost);
                stored.then(|| (progress.clone(), answer.is_some()))
            }
            _ => None,
        }
    };
    let reports = || {
        life.iter()
            .filter_map(|each| Some((&each.span, report(each)?)))
    };
    let wrong = match progress {
        Some(shown) => !reports().any(|(span, (said, _))| span.may_precede(then) && said == *shown),
        None => reports().any(|(span, (_, sure))| sure && span.before(then)),
    };
    if wrong {
        let message = format!(
            "message {} is shown with the progress {progress:?}, which is not what its holder reported",
            life.id()
        );
        found.push(Found::at("L19", &[then], message));
    }
}
