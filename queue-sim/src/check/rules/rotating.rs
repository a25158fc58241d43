//! T1 to T4: items come and go, and each is visited in turn.

use queue_core::{
    Message, MessageId, QueueConfig,
    call::{Answer, Call},
};

use super::{Found, changes::Changes};
use crate::check::{
    facts::{Facts, MessageLife, PushFact, What, millis},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let QueueConfig::Rotating(config) = facts.case.config else {
        return;
    };
    let paces = paces(facts, config.pace.map_or(0, millis));
    for (done, span) in facts.calls() {
        match (&done.record.call, done.answer) {
            (Call::Rotate(max), Some(Answer::Rotated(rotated))) => {
                once_each(&rotated.items, "T1", &span, found);
                if rotated.items.len() > max.get() {
                    let message = format!("{} items, {max} were asked for", rotated.items.len());
                    found.push(Found::at("T1", &[&span], message));
                }
            }
            (Call::List(_), Some(Answer::Items(page))) => {
                once_each(&page.entries, "T2", &span, found);
            }
            (Call::Len, Some(Answer::Count(count))) => length(facts, &span, *count, found),
            _ => {}
        }
    }
    for life in facts.lives() {
        membership(facts, life, found);
        visits(facts, life, &paces, found);
    }
    present(facts, found);
}

/// The paces of the ring in ms. Zero is none.
type Paces = Changes<u64>;

fn paces(facts: &Facts<'_>, first: u64) -> Paces {
    let changes = facts
        .calls()
        .filter_map(|(done, span)| match &done.record.call {
            Call::Reconfigure(QueueConfig::Rotating(config)) => {
                Some((span, config.pace.map_or(0, millis)))
            }
            _ => None,
        });
    let changes = changes.collect();
    Changes { first, changes }
}

/// The least pace that may hold between the two visits. Zero if the pace may have changed between them, because then
/// each item is due.
fn least_pace(paces: &Paces, from: &Span, to: &Span) -> u64 {
    let mut changes = paces.changes.iter();
    if changes.any(|(change, _)| change.may_be_between(from, to)) {
        return 0;
    }
    paces.at(from).min().unwrap_or(0)
}

fn once_each(items: &[Message], rule: &'static str, span: &Span, found: &mut Vec<Found>) {
    for (at, item) in items.iter().enumerate() {
        if items[..at].iter().any(|other| other.id == item.id) {
            let message = format!("item {} is there twice", item.id);
            found.push(Found::at(rule, &[span], message));
        }
    }
}

/// Each visited or shown item was inserted with this body, and never shows after its removal.
fn membership(facts: &Facts<'_>, life: MessageLife<'_, '_>, found: &mut Vec<Found>) {
    let id = life.id();
    let mut pushes = life.iter().filter_map(|happened| match happened.what {
        What::Accepted(at) => Some(&facts.pushes[at]),
        _ => None,
    });
    let push = pushes.next();
    if let (Some(first), Some(second)) = (push, pushes.next()) {
        let message = format!("two items are inserted as {id}");
        found.push(Found::at("T2", &[&first.span, &second.span], message));
    }
    for happened in life.iter() {
        let (What::Visited(item) | What::Seen(item)) = happened.what else {
            continue;
        };
        let span = &happened.span;
        let known = match push {
            Some(push) => {
                !span.before(&push.span) && push.body == &item.body && push.headers == &item.headers
            }
            None => facts.pushes.iter().any(|push| {
                push.put.is_none() && push.span.may_precede(span) && push.body == &item.body
            }),
        };
        if !known {
            let message = format!(
                "item {id} is there as {:?}, and was not inserted so",
                item.body
            );
            found.push(Found::at("T2", &[span], message));
        }
        let removed = life
            .before(span)
            .find(|removed| matches!(removed.what, What::Removed(true)));
        if let (Some(removed), Some(_)) = (removed, push.filter(|push| sure(push.span, life, span)))
        {
            let message = format!("item {id} was removed, and is seen again");
            found.push(Found::at("T2", &[&removed.span, span], message));
        }
    }
}

/// Whether a removal before this surely came after the insertion.
fn sure(pushed: Span, life: MessageLife<'_, '_>, span: &Span) -> bool {
    life.before(span)
        .any(|removed| matches!(removed.what, What::Removed(true)) && pushed.before(&removed.span))
}

/// Whether a removal may have come before this.
fn may_be_removed(life: MessageLife<'_, '_>, span: &Span) -> bool {
    let mut earlier = life.perhaps_before(span);
    earlier.any(|removed| matches!(removed.what, What::Removed(_)))
}

/// Between two visits of an item, every other item that was there all the time is visited, too. An item's next visit
/// comes no sooner than the pace allows. Another pace makes each item due in its place, so it changes no order.
fn visits(facts: &Facts<'_>, life: MessageLife<'_, '_>, paces: &Paces, found: &mut Vec<Found>) {
    let mut last: Option<Span> = None;
    for happened in life.iter() {
        if !matches!(happened.what, What::Visited(_)) {
            continue;
        }
        let span = happened.span;
        if let Some(last) = last.filter(|last| last.before(&span)) {
            let pace = least_pace(paces, &last, &span);
            // Without a pace the clock says nothing: it may have stepped back in between.
            if pace > 0 && span.latest < last.earliest.saturating_add(pace) {
                let message = format!(
                    "item {} is visited at {} and {}, with a pace of {pace}",
                    life.id(),
                    last.latest,
                    span.latest
                );
                found.push(Found::at("T4", &[&last, &span], message));
            }
            let steps_back = span.clock > span.latest;
            let mut ghosts = facts.ghosts.iter();
            let unseen = ghosts.any(|ghost| ghost.may_be_between(&last, &span));
            // Calls of real threads overlap, so the two visits need not be consecutive.
            let third = life.iter().any(|other| {
                matches!(other.what, What::Visited(_)) && other.span.may_be_between(&last, &span)
            });
            if !unseen && !steps_back && !third {
                full_rotation(facts, life.id(), &last, &span, found);
            }
        }
        last = Some(span);
    }
}

fn full_rotation(facts: &Facts<'_>, id: MessageId, from: &Span, to: &Span, found: &mut Vec<Found>) {
    for other in facts.lives().filter(|other| other.id() != id) {
        let visits = other
            .iter()
            .filter(|happened| matches!(happened.what, What::Visited(_)));
        let (mut least, mut most) = (0, 0);
        for visit in visits {
            least += u32::from(from.before(&visit.span) && visit.span.before(to));
            most += u32::from(visit.span.may_be_between(from, to));
        }
        let inserted = other
            .push()
            .is_some_and(|at| facts.pushes[at].span.before(from));
        let removed = may_be_removed(other, to);
        if least > 1 || most == 0 && inserted && !removed {
            let message = format!(
                "between two visits of item {id} item {} is visited {least} times",
                other.id()
            );
            found.push(Found::at("T3", &[from, to], message));
        }
    }
}

/// The number of items in the ring.
fn length(facts: &Facts<'_>, span: &Span, count: u64, found: &mut Vec<Found>) {
    let (mut least, mut most) = (0, 0);
    for push in &facts.pushes {
        let Some(PushFact::Accepted(id)) = push.put else {
            most += u64::from(push.put.is_none() && push.span.may_precede(span));
            continue;
        };
        let life = facts.life(id);
        least += u64::from(push.span.before(span) && !may_be_removed(life, span));
        most += u64::from(push.span.may_precede(span) && !sure(push.span, life, span));
    }
    if count < least || count > most {
        let message = format!("{count} items, where {least} to {most} can be");
        found.push(Found::at("T2", &[span], message));
    }
}

/// If an insert finds an item present, that item has the key, and is in the ring.
fn present(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for push in &facts.pushes {
        match (push.put, push.key) {
            (Some(PushFact::Present(id)), key) => {
                let Some(first) = facts.push_of(id) else {
                    continue;
                };
                let removed = sure(first.span, facts.life(id), &push.span);
                if key.is_none() || first.key != key || removed {
                    let message = format!("item {id} is called present, and is not, or not so");
                    found.push(Found::at("T2", &[&first.span, &push.span], message));
                }
            }
            (Some(PushFact::Accepted(id)), Some(key)) => {
                let twin = facts.pushes.iter().find(|first| {
                    let Some(PushFact::Accepted(id)) = first.put else {
                        return false;
                    };
                    first.key == Some(key)
                        && first.span.before(&push.span)
                        && !may_be_removed(facts.life(id), &push.span)
                });
                if let Some(twin) = twin {
                    let message = format!("item {id} is added, and one with its key is there");
                    found.push(Found::at("T2", &[&twin.span, &push.span], message));
                }
            }
            _ => {}
        }
    }
}
