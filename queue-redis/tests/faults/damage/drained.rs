//! The messages that come out of a damaged queue.

use std::{collections::BTreeSet, num::NonZeroUsize};

use queue_core::*;

use super::{
    filled::{Filled, LEASE},
    harm::Done,
};

/// More rounds than there are messages.
const ROUNDS: usize = 300;

/// Whether the harm changed this message, or its place.
fn is_touched(filled: &Filled, done: &[Done], id: u64) -> bool {
    let bytes = id.to_be_bytes();
    done.iter().any(|done| match &*done.suffix {
        // These keys hold neither a message nor its place.
        "dedup" | "firsts" | "arrivals" | "room" | "uploads" => false,
        "bodies" => filled.large.contains(&id),
        "distinct" | "owned" => filled.bodies[&id].starts_with(b"distinct"),
        "meta" => matches!(
            &*done.entry,
            b"config" | b"accepted" | b"flags" | b"capacity" | b"surplus"
        ),
        _ => done.ids.contains(&bytes[1..]),
    })
}

/// Takes out all messages, and checks that every untouched message is among them.
pub(crate) async fn drain(filled: &Filled, done: &[Done]) {
    let leasing = filled.leasing();
    let untouched: BTreeSet<u64> = filled
        .bodies
        .keys()
        .copied()
        .filter(|id| !is_touched(filled, done, *id))
        .collect();
    let mut delivered = BTreeSet::new();
    let five = NonZeroUsize::new(5).expect("not zero");
    let (mut idle, mut rounds) = (0, 0);
    while idle < 3 {
        rounds += 1;
        assert!(rounds < ROUNDS, "no end of deliveries after {done:?}");
        let Ok(leased) = leasing.lease(five, LEASE).await else {
            idle += 1;
            continue;
        };
        if leased.deliveries.is_empty() && leased.next.is_none_or(|next| !next.is_zero()) {
            idle += 1;
        }
        let acks: Vec<_> = leased
            .deliveries
            .iter()
            .map(|each| Settlement::ack(each.receipt))
            .collect();
        for each in leased.deliveries {
            let id = each.id().get();
            if untouched.contains(&id) {
                assert_eq!(each.body, filled.bodies[&id], "L5: made up, after {done:?}");
                assert!(delivered.insert(id), "L3: {id} again, after {done:?}");
            }
        }
        if !acks.is_empty() {
            drop(leasing.settle(&acks).await);
        }
    }
    let mut page = Page::first(1_000);
    let mut dead = BTreeSet::new();
    while let Ok(letters) = leasing.dead_letters(page).await {
        for letter in letters.entries {
            let id = letter.id.get();
            if untouched.contains(&id) {
                assert_eq!(letter.body, filled.bodies[&id], "after {done:?}");
            }
            dead.insert(id);
        }
        match letters.next {
            Some(next) => page = Page::after(next, 1_000),
            None => break,
        }
    }
    let lost: Vec<_> = untouched
        .iter()
        .filter(|id| !delivered.contains(id) && !dead.contains(id))
        .map(|id| (id, String::from_utf8_lossy(&filled.bodies[id])))
        .collect();
    assert!(lost.is_empty(), "L5: {lost:?} are lost after {done:?}");
    if let Ok(depth) = leasing.depth().await {
        let touched = filled.bodies.len() - untouched.len();
        let more = done.len();
        assert!(
            depth.occupied() <= (touched + more) as u64,
            "{depth:?} after {done:?}"
        );
    }
}
