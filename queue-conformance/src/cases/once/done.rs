//! O2 and O3: keys that are done, and for how long.

use queue_core::*;

use super::{KEY, LONG, claimed, found, lost, open};
use crate::{
    stage::{Stage, ms},
    steps::cut,
};

pub(crate) async fn o2_a_finished_key_is_done_for_exactly_its_time(stage: &Stage<'_>) {
    let store = open(stage).await;
    let token = claimed(&*store, KEY, 1_000).await;
    stage.advance(500).await;
    store.finish(KEY, token, ms(100)).await.expect("is live");
    assert_eq!(found(&*store, KEY).await, Claim::Done);
    stage.advance(99).await;
    assert_eq!(found(&*store, KEY).await, Claim::Done);
    stage.advance(1).await;
    let again = claimed(&*store, KEY, 1_000).await;
    assert!(again > token);
    // The old claim's end, which is still to come, has no effect any more.
    stage.advance(400).await;
    assert_eq!(found(&*store, KEY).await, super::busy(600));
}

pub(crate) async fn o2_a_released_key_is_free_at_once(stage: &Stage<'_>) {
    let store = open(stage).await;
    let first = claimed(&*store, KEY, 100_000).await;
    store.release(KEY, first).await.expect("is live");
    let second = claimed(&*store, KEY, 100_000).await;
    assert!(second > first);
    lost(store.release(KEY, first).await);
    store.finish(KEY, second, LONG).await.expect("is live");
    lost(store.release(KEY, second).await);
    assert_eq!(found(&*store, KEY).await, Claim::Done, "done is done");
}

pub(crate) async fn o2_a_key_may_be_done_longer_than_a_claim_lasts(stage: &Stage<'_>) {
    let store = open(stage).await;
    let token = claimed(&*store, KEY, 10).await;
    let kept = store.finish(KEY, token, limits::MAX_KEEP).await;
    kept.expect("is live");
    let week = limits::MAX_KEEP.as_millis() as u64;
    stage.advance(week - 1).await;
    assert_eq!(found(&*store, KEY).await, Claim::Done);
    stage.advance(1).await;
    claimed(&*store, KEY, 10).await;
}

pub(crate) async fn o3_a_finish_may_be_repeated(stage: &Stage<'_>) {
    let store = open(stage).await;
    let token = claimed(&*store, KEY, 50).await;
    store.finish(KEY, token, ms(100)).await.expect("is live");
    // Now the end of the old claim has passed.
    stage.advance(60).await;
    let again = store.finish(KEY, token, ms(100)).await;
    again.expect("it made the mark");
    lost(store.extend(KEY, token, LONG).await);
    lost(store.finish(KEY, Token::new(token.get() + 1), LONG).await);
    stage.advance(39).await;
    assert_eq!(found(&*store, KEY).await, Claim::Done);
    stage.advance(1).await;
    lost(store.finish(KEY, token, ms(100)).await);
    claimed(&*store, KEY, 50).await;
}

pub(crate) async fn o3_a_finish_dropped_at_any_await_can_be_repeated(stage: &Stage<'_>) {
    let store = open(stage).await;
    for polls in 0..12 {
        let key = [polls as u8];
        let token = claimed(&*store, &key, 100_000).await;
        cut(store.finish(&key, token, LONG), polls).await;
        let again = store.finish(&key, token, LONG).await;
        again.expect("it is live, or it made the mark");
        assert_eq!(found(&*store, &key).await, Claim::Done);
    }
}

pub(crate) async fn o3_a_release_dropped_at_any_await_leaves_it_claimed_or_free(stage: &Stage<'_>) {
    let store = open(stage).await;
    for polls in 0..12 {
        let key = [polls as u8];
        let token = claimed(&*store, &key, 100_000).await;
        cut(store.release(&key, token), polls).await;
        match store.claim(&key, LONG).await.expect("claims") {
            Claim::Claimed(next) => assert!(next > token),
            Claim::Busy { left } => {
                assert!(left <= ms(100_000));
                // The store may get the dropped release before this one.
                match store.release(&key, token).await {
                    Ok(()) => {}
                    late => lost(late),
                }
                claimed(&*store, &key, 100).await;
            }
            Claim::Done => panic!("nobody finished it"),
        }
    }
}
