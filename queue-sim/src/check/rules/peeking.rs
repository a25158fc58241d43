//! L16: a peek shows the messages of one place as they are, and all of them. The order of the ready messages is checked
//! with the other orders.

use queue_core::{
    Cancelled, Disposition, Holder, Page, Paged, Peeked, Place, QueueKind, Receipt, Settled,
    Standing,
    call::{Answer, Call},
};

use super::Found;
use crate::check::{
    facts::{Facts, Lease, MessageLife, Pushing, What, millis},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for (done, span) in facts.calls() {
        let (Call::Peek(place, page), Some(Answer::Peeked(shown))) =
            (&done.record.call, done.answer)
        else {
            continue;
        };
        holds(*place, *page, shown, &span, found);
        if page.after.is_none() && shown.next.is_none() {
            leaves_none_out(facts, *place, &shown.entries, &span, found);
        }
    }
    for life in facts.lives() {
        for happened in life.iter() {
            if let What::Peeked(peeked) = happened.what
                && let Some((before, wrong)) = differs(facts, life, peeked, &happened.span)
            {
                let message = format!("message {} is shown {wrong}", life.id());
                let spans = [before.unwrap_or(happened.span), happened.span];
                found.push(Found::at("L16", &[&spans[0], &spans[1]], message));
            }
        }
    }
}

/// A page has messages of `place`, each once, no more than were asked for, and ordered by their times.
fn holds(place: Place, page: Page, shown: &Paged<Peeked>, span: &Span, found: &mut Vec<Found>) {
    let shown = &shown.entries;
    let mut fail = |message: String| found.push(Found::at("L16", &[span], message));
    if shown.len() > page.limit {
        fail(format!(
            "{} messages are shown, {} were asked for",
            shown.len(),
            page.limit
        ));
    }
    for (at, peeked) in shown.iter().enumerate() {
        let id = peeked.message.id;
        if shown[..at].iter().any(|other| other.message.id == id) {
            fail(format!("message {id} is shown twice"));
        }
        if place_of(&peeked.standing) != place {
            fail(format!("message {id} is shown among the {}", named(place)));
        }
    }
    for pair in shown.windows(2) {
        let (Some(first), Some(second)) = (time(&pair[0].standing), time(&pair[1].standing)) else {
            continue;
        };
        let (one, other) = (pair[0].message.id, pair[1].message.id);
        // Among messages whose time is over, the page does not show which was first.
        if second < first || second == first && first > 0 && other < one {
            fail(format!(
                "message {one} is shown before message {other}, which goes first"
            ));
        }
    }
}

const fn place_of(standing: &Standing) -> Place {
    match standing {
        Standing::Ready => Place::Ready,
        Standing::Delayed { .. } => Place::Delayed,
        Standing::Leased { .. } => Place::Leased,
    }
}

const fn named(place: Place) -> &'static str {
    match place {
        Place::Ready => "ready",
        Place::Delayed => "delayed",
        Place::Leased => "leased",
    }
}

/// The time by which the place is ordered, in ms from now.
fn time(standing: &Standing) -> Option<u64> {
    match standing {
        Standing::Ready => None,
        Standing::Delayed { due_in, .. } => Some(millis(*due_in)),
        Standing::Leased { time_left, .. } => Some(millis(*time_left)),
    }
}

/// The difference between a shown message and its callers' knowledge of it, and the call that proves it.
fn differs(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    peeked: &Peeked,
    then: &Span,
) -> Option<(Option<Span>, String)> {
    let gone = life.before(then).find(|happened| match happened.what {
        What::Settled(_, Disposition::Ack | Disposition::AckWith(_), answer) => {
            answer == Some(Settled::Done)
        }
        What::Settled(_, _, Some(Settled::Dead)) | What::Letter(_) => {
            !life.may_be_revived(&happened.span, then)
        }
        _ => false,
    });
    if let Some(gone) = gone {
        return Some((Some(gone.span), "though it is acked or dead".to_owned()));
    }
    let age = millis(peeked.age);
    if let Some(push) = facts.push_of(life.id())
        && !is_aged(push, age, then)
    {
        return Some((Some(push.span), format!("with an age of {age} ms")));
    }
    let Standing::Leased {
        receipt,
        time_left,
        holder,
        ..
    } = &peeked.standing
    else {
        let leased = life.is_leased(then);
        return leased.then(|| (None, "as undelivered, under a live lease".to_owned()));
    };
    let lease = life
        .leases()
        .find(|lease| lease.delivery.receipt == *receipt);
    match lease {
        Some(lease) => {
            let wrong = of_lease(facts, life, &lease, peeked.attempts, holder.as_ref(), then);
            let wrong = wrong.or_else(|| of_deadline(life, &lease, millis(*time_left), then));
            wrong.map(|wrong| (Some(lease.span), wrong))
        }
        None => is_made_up(facts, life, *receipt, then).then(|| {
            let token = receipt.token;
            (
                None,
                format!("with the token {token}, which nobody was given"),
            )
        }),
    }
}

/// Whether a message with this push may have this age.
fn is_aged(push: &Pushing<'_>, age: u64, then: &Span) -> bool {
    let long_ago = push.span.earliest.saturating_add(age) <= then.latest || age == 0;
    long_ago && push.span.latest.saturating_add(age) >= then.earliest
}

/// Whether no call can have leased it in this way.
fn is_made_up(facts: &Facts<'_>, life: MessageLife<'_, '_>, receipt: Receipt, then: &Span) -> bool {
    receipt.id != life.id() || facts.ghosts_before(then) == 0
}

/// The difference between a shown lease and the answer that its holder got.
fn of_lease(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    lease: &Lease<'_>,
    attempts: u32,
    holder: Option<&Holder>,
    then: &Span,
) -> Option<String> {
    let token = lease.delivery.receipt.token;
    let settled = life.settled(token, then).is_some();
    let newer = life
        .leases()
        .any(|other| lease.span.before(&other.span) && other.span.before(then));
    if settled || newer || then.before(&lease.span) {
        return Some(format!(
            "under the lease with the token {token}, which is over"
        ));
    }
    if attempts != lease.delivery.attempt {
        let attempt = lease.delivery.attempt;
        return Some(format!("with {attempts} attempts, at attempt {attempt}"));
    }
    let stored = facts.holder(lease);
    (stored != holder).then(|| format!("as held by {holder:?}, and the lease names {stored:?}"))
}

/// The difference between a lease's remaining time and its deadline. An expired lease may not be reclaimed yet.
fn of_deadline(
    life: MessageLife<'_, '_>,
    lease: &Lease<'_>,
    left: u64,
    then: &Span,
) -> Option<String> {
    let (earliest, latest) = life.deadline(lease, then);
    let soonest = then.earliest.saturating_add(left);
    let wrong = then.latest.saturating_add(left) < earliest || soonest > latest;
    (wrong && left > 0).then(|| {
        format!("with {left} ms left, where the deadline is between {earliest} and {latest}")
    })
}

/// A peek that shows a whole place shows each message that is surely there.
fn leaves_none_out(
    facts: &Facts<'_>,
    place: Place,
    shown: &[Peeked],
    span: &Span,
    found: &mut Vec<Found>,
) {
    if place != Place::Leased && facts.may_take_unknown(span) {
        return;
    }
    for life in facts.lives() {
        if shown.iter().any(|peeked| peeked.message.id == life.id()) {
            continue;
        }
        let since = match place {
            Place::Leased => {
                let mut leases = life.leases();
                let live =
                    leases.find(|lease| lease.span.before(span) && life.is_live(lease, span));
                live.map(|lease| lease.span)
            }
            Place::Ready => is_ready(facts, life, span),
            Place::Delayed => is_delayed(facts, life, span),
        };
        if let Some(since) = since {
            let message = format!(
                "message {} is {}, and a peek at all of them leaves it out",
                life.id(),
                named(place)
            );
            found.push(Found::at("L16", &[&since, span], message));
        }
    }
}

/// The call that surely made the message ready, if nothing can have changed its place since.
pub(super) fn is_ready<'a>(
    facts: &Facts<'a>,
    life: MessageLife<'_, 'a>,
    then: &Span,
) -> Option<Span> {
    let push = stays(facts, life, then)?;
    if life.may_be_moved(&push.span, then) {
        return None;
    }
    let leases = || life.leases().filter(|lease| lease.span.may_precede(then));
    let Some(lease) = leases().last() else {
        return match facts.kind() {
            QueueKind::Delay => {
                facts.is_delayed(push).is_some() && facts.due_of(push).1 <= then.earliest
            }
            _ => facts.is_delayed(push) == Some(false),
        }
        .then_some(push.span);
    };
    let back = life.before(then).find(|happened| {
        matches!(happened.what, What::Settled(token, Disposition::Release, Some(Settled::Done))
            if token == lease.delivery.receipt.token)
    })?;
    let last = leases().all(|lease| lease.span.before(&back.span));
    // On a delay queue, it is due when it returns.
    let due = facts.kind() != QueueKind::Delay || back.span.latest <= then.earliest;
    (last && due).then_some(back.span)
}

/// The call that surely delayed the message, if its due time is to come and nothing can have changed its place since.
pub(super) fn is_delayed<'a>(
    facts: &Facts<'a>,
    life: MessageLife<'_, 'a>,
    then: &Span,
) -> Option<Span> {
    stays(facts, life, then)?;
    let dues = facts.dues(life, then);
    let by = dues.first()?.by.span;
    let ahead = dues.iter().all(|due| due.earliest > then.clock);
    let mut leases = life.leases();
    let leased = leases.any(|lease| lease.span.may_precede(then) && !lease.span.before(&by));
    (ahead && !leased && dues.len() == 1).then_some(by)
}

/// The push of a message that only leases, their ends and moves can have changed so far, and whose time to live is not
/// over.
fn stays<'f, 'a>(
    facts: &'f Facts<'a>,
    life: MessageLife<'_, 'a>,
    then: &Span,
) -> Option<&'f Pushing<'a>> {
    let push = &facts.pushes[life.push()?];
    let mut earlier = life.perhaps_before(then);
    let changed = earlier.any(|happened| match happened.what {
        What::Cancelled(answer) => matches!(answer, None | Some(Cancelled::Cancelled)),
        What::Evicted
        | What::Dropped
        | What::Replaced
        | What::Letter(_)
        | What::Revived(_)
        | What::Discarded(_) => true,
        _ => false,
    });
    let changed = changed || facts.may_be_outdated(life, then);
    (push.span.before(then) && !changed).then_some(push)
}
