//! O4, and cases of a store as a whole.

use std::time::Duration;

use queue_core::*;

use super::{KEY, LONG, claimed, found, open};
use crate::{
    cases::backend,
    stage::{Stage, ms, name},
    steps::{queues, refused},
};

async fn counts(store: &dyn OnceStore) -> (u64, u64) {
    let counts = store.counts().await.expect("counts");
    (counts.claimed, counts.done)
}

pub(crate) async fn o4_what_has_ended_does_not_count(stage: &Stage<'_>) {
    let store = open(stage).await;
    assert_eq!(counts(&*store).await, (0, 0));
    // These are more keys than one call clears away.
    let keys: Vec<[u8; 2]> = (0..300_u16).map(u16::to_be_bytes).collect();
    for (n, key) in keys.iter().enumerate() {
        let token = claimed(&*store, key, 100).await;
        if n % 2 == 0 {
            store.finish(key, token, ms(200)).await.expect("is live");
        }
    }
    assert_eq!(counts(&*store).await, (150, 150));
    stage.advance(99).await;
    assert_eq!(counts(&*store).await, (150, 150));
    stage.advance(1).await;
    assert_eq!(counts(&*store).await, (0, 150));
    let token = claimed(&*store, &keys[1], 1_000).await;
    assert_eq!(counts(&*store).await, (1, 150));
    stage.advance(100).await;
    assert_eq!(counts(&*store).await, (1, 0));
    store
        .release(&keys[1], token)
        .await
        .expect("is not cleared away with the claim before it");
    assert_eq!(counts(&*store).await, (0, 0));
    for key in &keys {
        claimed(&*store, key, 100).await;
    }
    assert_eq!(counts(&*store).await, (300, 0));
}

pub(crate) async fn o4_a_key_taken_again_outlives_what_is_cleared_away(stage: &Stage<'_>) {
    let store = open(stage).await;
    for mark in 0..2 {
        let key = [mark];
        let token = claimed(&*store, &key, 10).await;
        if mark == 1 {
            store.finish(&key, token, ms(10)).await.expect("is live");
        }
    }
    stage.advance(10).await;
    let again = [
        claimed(&*store, &[0], 1_000).await,
        claimed(&*store, &[1], 1_000).await,
    ];
    stage.advance(10).await;
    // This claim clears ended keys away.
    claimed(&*store, b"another", 1).await;
    for (key, token) in [[0], [1]].iter().zip(again) {
        store.finish(key, token, LONG).await.expect("is live");
        store.finish(key, token, LONG).await.expect("made the mark");
        assert_eq!(found(&*store, key).await, Claim::Done);
    }
}

pub(crate) async fn o4_keys_are_bytes_and_belong_to_their_store(stage: &Stage<'_>) {
    let store = open(stage).await;
    let other = stage.backend().open_once(&name("other")).await;
    let other = other.expect("opens");
    let longest = [0xff; 256];
    let keys: [&[u8]; 8] = [
        b"a",
        b"A",
        b"a\0",
        b"\0",
        b"a b",
        b"\r\n",
        b"\xff\xfe",
        &longest,
    ];
    for key in keys {
        let token = claimed(&*store, key, 3_600_000).await;
        store.finish(key, token, LONG).await.expect("is live");
        claimed(&*other, key, 3_600_000).await;
    }
    for key in keys {
        assert_eq!(found(&*store, key).await, Claim::Done);
        assert!(matches!(found(&*other, key).await, Claim::Busy { .. }));
    }
    assert_eq!(counts(&*store).await, (0, 8));
    assert_eq!(counts(&*other).await, (8, 0));
}

pub(crate) async fn limits_once_keys_and_times_have_limits(stage: &Stage<'_>) {
    let store = open(stage).await;
    let token = claimed(&*store, KEY, 100_000).await;
    for (key, names) in [(&b""[..], "0 bytes"), (&[b'k'; 257], "257")] {
        refused(store.claim(key, LONG).await, names);
        refused(store.extend(key, token, LONG).await, names);
        refused(store.finish(key, token, LONG).await, names);
        refused(store.release(key, token).await, names);
    }
    let zero = Duration::ZERO;
    let (day, week) = (limits::MAX_LEASE, limits::MAX_KEEP);
    refused(store.claim(b"new", zero).await, "of 0 ms");
    refused(store.claim(b"new", day + ms(1)).await, "of 86400001 ms");
    refused(store.extend(KEY, token, zero).await, "of 0 ms");
    refused(
        store.extend(KEY, token, day + ms(1)).await,
        "of 86400001 ms",
    );
    refused(store.finish(KEY, token, zero).await, "of 0 ms");
    refused(
        store.finish(KEY, token, week + ms(1)).await,
        "of 604800001 ms",
    );
    let error = store.claim(b"", LONG).await.expect_err("refused");
    assert!(error.to_string().contains("once store effects"), "{error}");

    assert_eq!(counts(&*store).await, (1, 0), "nothing changed");
    store.extend(KEY, token, day).await.expect("the longest");
    store.finish(KEY, token, week).await.expect("the longest");
    assert!(matches!(
        store.claim(b"new", day).await,
        Ok(Claim::Claimed(_))
    ));
}

pub(crate) async fn operators_a_store_is_no_queue(stage: &Stage<'_>) {
    let store = open(stage).await;
    claimed(&*store, KEY, 100_000).await;
    assert_eq!(queues(stage.backend()).await, []);
    for kind in stage.kinds() {
        let queue = kind.as_str();
        stage
            .backend()
            .open_once(&name(queue))
            .await
            .expect("opens");
        let opened = backend::open(stage, kind, queue).await;
        opened.expect("the name of a store is not taken");
        let both = stage.backend().open_once(&name(queue)).await;
        claimed(&*both.expect("opens"), KEY, 100_000).await;
    }
    let listed = queues(stage.backend()).await.len();
    assert_eq!(listed, stage.kinds().len());
}
