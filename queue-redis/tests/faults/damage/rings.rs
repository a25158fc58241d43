//! Damaged rings, and damaged stores of once keys.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, time::Duration};

use proptest::{bool, collection::vec};
use queue_core::*;
use queue_testing::property::check_property;

use super::{
    CASES, Ground, HOUR, START,
    harm::{Done, Harm, ask, harm},
    played::{assert_allowed, page_through},
};
use crate::ground::within;

const PACE: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(3600);
/// The first of the items with out-of-line bodies.
const LARGE: u64 = 6;

async fn ring(ground: &Ground, name: &QueueName, paced: bool) -> Result<Arc<dyn RotatingQueue>> {
    let config = match paced {
        true => RotatingConfig::default().with_pace(PACE),
        false => RotatingConfig::default(),
    };
    let AnyQueue::Rotating(ring) = ground.backend.open(name, &config.into()).await? else {
        panic!("a ring was asked for");
    };
    Ok(ring)
}

impl Ground {
    async fn rotate_damaged(&self, paced: bool, harms: &[Harm]) {
        self.clock.set(START);
        let mut connection = self.connection();
        let name = self.next_name("ring");
        let ring = ring(self, &name, paced).await.expect("opens");
        let mut items = BTreeMap::new();
        for number in 0..8 {
            let name = format!("item {number}");
            let body = match number {
                LARGE.. => name.repeat(3_000),
                _ => name.clone(),
            };
            let insert = Insert::new(body.clone());
            let insert = if number < 2 {
                insert.with_key(name)
            } else {
                insert
            };
            let inserted = ring.insert(&[insert]).await.expect("sound");
            items.insert(inserted[0].id(), body);
        }
        let three = NonZeroUsize::new(3).expect("not zero");
        let _ = ring.rotate(three).await.expect("sound");
        let keys = self.keys(&mut connection, &name);
        let done: Vec<Done> = harms
            .iter()
            .map(|harm| harm.done_to(&mut connection, &keys))
            .collect();

        let allowed = |answer: Result<()>| assert_allowed(answer, &name, &done);
        allowed(ring.len().await.map(drop));
        allowed(page_through(async |page| ring.list(page).await).await);
        for key in ["item 0", "another"] {
            let insert = Insert::new("another").with_key(key);
            allowed(ring.insert(&[insert]).await.map(drop));
        }
        allowed(ring.remove(&[MessageId::new(1 << 40)]).await.map(drop));
        for hours in 1..=12 {
            self.clock.set(START + hours * HOUR);
            match ring.rotate(three).await {
                Ok(visited) => {
                    for item in visited.items {
                        let body = items.get(&item.id);
                        if body.is_some_and(|body| *body == item.body) {
                            items.remove(&item.id);
                        }
                    }
                }
                refused => allowed(refused.map(drop)),
            }
        }
        let is_touched = |id: &MessageId| {
            let bytes = id.get().to_be_bytes();
            done.iter().any(|done| match &*done.suffix {
                "keyed" | "named" | "arrivals" => false,
                "meta" => matches!(&*done.entry, b"config" | b"accepted"),
                // The reference of one of the large ones.
                "bodies" if done.entry.len() != 7 => id.get() > LARGE,
                _ => done.ids.contains(&bytes[1..]),
            })
        };
        items.retain(|id, _| !is_touched(id));
        assert!(items.is_empty(), "T3: {items:?} never come, after {done:?}");
        for key in self.keys(&mut connection, &name) {
            let () = ask(&mut connection, "DEL", &[key.as_bytes()]);
        }
    }

    async fn remember(&self, harms: &[Harm]) {
        self.clock.set(START);
        let mut connection = self.connection();
        let name = self.next_name("effects");
        let store = self.backend.open_once(&name).await.expect("opens");
        for key in ["done", "claimed", "released"] {
            let claimed = store.claim(key.as_bytes(), LONG).await.expect("sound");
            let Claim::Claimed(token) = claimed else {
                panic!("{key}: {claimed:?}");
            };
            match key {
                "done" => store.finish(b"done", token, LONG).await.expect("sound"),
                "released" => store.release(b"released", token).await.expect("sound"),
                _ => {}
            }
        }
        let keys = self.keys(&mut connection, &name);
        let done: Vec<Done> = harms
            .iter()
            .map(|harm| harm.done_to(&mut connection, &keys))
            .collect();
        let allowed = |answer: Result<()>| {
            if !matches!(&answer, Err(error) if error.kind() == ErrorKind::ClaimLost) {
                assert_allowed(answer, &name, &done);
            }
        };
        allowed(store.counts().await.map(drop));
        let is_sound = |key: &[u8]| {
            done.iter()
                .all(|done| done.suffix == "once" || done.entry != key)
        };
        for key in [&b"done"[..], b"claimed", b"released", b"new"] {
            let claimed = store.claim(key, LONG).await;
            let config = done
                .iter()
                .any(|done| done.suffix == "once" && done.entry == b"config");
            if let (b"done", true, false) = (key, is_sound(key), config) {
                assert!(
                    matches!(claimed, Ok(Claim::Done)),
                    "O2: {claimed:?} after {done:?}"
                );
            }
            if let Ok(Claim::Claimed(token)) = claimed {
                allowed(store.extend(key, token, LONG).await);
                allowed(store.finish(key, token, LONG).await);
            }
            allowed(claimed.map(drop));
        }
        for key in self.keys(&mut connection, &name) {
            let () = ask(&mut connection, "DEL", &[key.as_bytes()]);
        }
    }
}

#[test]
fn undamaged_items_of_a_ring_are_visited() {
    let ground = Ground::new();
    check_property(CASES, (vec(harm(), 1..=2), bool::ANY), |(harms, paced)| {
        let visited = ground.rotate_damaged(paced, &harms);
        ground.runtime.block_on(within("a ring", visited));
    });
}

#[test]
fn undamaged_keys_of_a_once_store_are_remembered() {
    let ground = Ground::new();
    check_property(CASES, vec(harm(), 1..=2), |harms| {
        let remembered = ground.remember(&harms);
        ground.runtime.block_on(within("a store", remembered));
    });
}
