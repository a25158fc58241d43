//! O1 and O3: a key has one live claim, and only its holder ends it.

use queue_core::*;

use super::{KEY, LONG, busy, claimed, found, open, open_again, powerless};
use crate::{
    stage::{Stage, ms},
    steps::cut,
};

pub(crate) async fn o1_a_claimed_key_is_busy_until_the_claim_ends(stage: &Stage<'_>) {
    let store = open(stage).await;
    let first = claimed(&*store, KEY, 100).await;
    assert_eq!(found(&*store, KEY).await, busy(100));
    stage.advance(99).await;
    assert_eq!(found(&*store, KEY).await, busy(1));
    stage.advance(1).await;
    let second = claimed(&*store, KEY, 100).await;
    assert!(second > first, "{second} after {first}");
    assert_eq!(found(&*store, KEY).await, busy(100));
}

pub(crate) async fn o1_a_claim_is_rounded_up_to_a_millisecond(stage: &Stage<'_>) {
    let store = open(stage).await;
    let short = std::time::Duration::from_micros(1_500);
    let claim = store.claim(KEY, short).await.expect("claims");
    assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
    assert_eq!(found(&*store, KEY).await, busy(2));
}

pub(crate) async fn o1_of_concurrent_claims_one_holds(stage: &Stage<'_>) {
    let clients = [open(stage).await, open_again(stage).await];
    for round in 0..20_u8 {
        let mut tasks = Vec::new();
        for task in 0..16 {
            let store = std::sync::Arc::clone(&clients[task % 2]);
            tasks.push(tokio::spawn(
                async move { store.claim(&[round], LONG).await },
            ));
        }
        let mut held = 0;
        for task in tasks {
            let claim = task.await.expect("no panic").expect("claims");
            assert_ne!(claim, Claim::Done);
            held += usize::from(matches!(claim, Claim::Claimed(_)));
        }
        assert_eq!(held, 1, "round {round}");
    }
}

pub(crate) async fn o1_tokens_grow_with_the_time_and_the_claims(stage: &Stage<'_>) {
    let store = open(stage).await;
    let first = claimed(&*store, b"0", 10).await.get();
    for n in 1..=5_u64 {
        let token = claimed(&*store, &[n as u8], 10).await.get();
        assert_eq!(token, first + n, "in the same millisecond");
    }
    stage.advance(1_000).await;
    let later = claimed(&*store, b"0", 10).await.get();
    assert_eq!(
        later,
        first + 1_000 * Token::PER_MILLI,
        "the time of the claim"
    );
    store
        .finish(b"0", Token::new(later), ms(1))
        .await
        .expect("finishes");
    stage.advance(1).await;
    let next = claimed(&*store, b"0", 10).await.get();
    assert_eq!(next, later + Token::PER_MILLI);
}

pub(crate) async fn o3_a_stale_claim_changes_nothing(stage: &Stage<'_>) {
    let store = open(stage).await;
    let stale = claimed(&*store, KEY, 100).await;
    stage.advance(100).await;
    let live = claimed(&*store, KEY, 500).await;
    powerless(&*store, KEY, stale).await;
    assert_eq!(found(&*store, KEY).await, busy(500));
    store.finish(KEY, live, ms(700)).await.expect("is live");
    powerless(&*store, KEY, stale).await;
    stage.advance(699).await;
    assert_eq!(found(&*store, KEY).await, Claim::Done);
    stage.advance(1).await;
    let next = claimed(&*store, KEY, 100).await;
    powerless(&*store, KEY, live).await;
    store.release(KEY, next).await.expect("is live");
}

pub(crate) async fn o3_a_claim_is_lost_from_its_end_on(stage: &Stage<'_>) {
    let store = open(stage).await;
    for verb in 0..3 {
        for late in [0, 1] {
            let token = claimed(&*store, KEY, 100).await;
            stage.advance(99 + late).await;
            let answer = match verb {
                0 => store.extend(KEY, token, ms(1)).await,
                1 => store.finish(KEY, token, ms(1)).await,
                _ => store.release(KEY, token).await,
            };
            if late == 1 {
                super::lost(answer);
            } else {
                answer.expect("one millisecond is left");
                stage.advance(1).await;
            }
        }
    }
}

pub(crate) async fn o3_a_made_up_token_matches_nothing(stage: &Stage<'_>) {
    let store = open(stage).await;
    powerless(&*store, b"never claimed", Token::new(1)).await;
    let token = claimed(&*store, KEY, 1_000_000).await.get();
    let other = claimed(&*store, b"other", 1_000_000).await;
    for wrong in [
        0,
        1,
        token - 1,
        token + 2,
        1 << 53,
        u64::MAX - 1,
        u64::MAX,
        other.get(),
    ] {
        powerless(&*store, KEY, Token::new(wrong)).await;
    }
    powerless(&*store, b"order-4", Token::new(token)).await;
    let finished = store.finish(KEY, Token::new(token), LONG).await;
    finished.expect("the claim was not touched");
}

pub(crate) async fn o3_extend_sets_the_end_from_now(stage: &Stage<'_>) {
    let store = open(stage).await;
    let token = claimed(&*store, KEY, 100).await;
    stage.advance(60).await;
    store.extend(KEY, token, ms(100)).await.expect("is live");
    assert_eq!(found(&*store, KEY).await, busy(100));
    store.extend(KEY, token, ms(30)).await.expect("nearer");
    assert_eq!(found(&*store, KEY).await, busy(30));
    stage.advance(30).await;
    super::lost(store.extend(KEY, token, ms(100)).await);
    claimed(&*store, KEY, 100).await;
}

pub(crate) async fn o3_a_claim_may_be_ended_through_another_client(stage: &Stage<'_>) {
    let store = open(stage).await;
    let other = open_again(stage).await;
    let token = claimed(&*store, KEY, 100_000).await;
    other.extend(KEY, token, LONG).await.expect("is live");
    other.release(KEY, token).await.expect("is live");
    let token = claimed(&*other, KEY, 100_000).await;
    store.finish(KEY, token, LONG).await.expect("is live");
    assert_eq!(found(&*other, KEY).await, Claim::Done);
}

pub(crate) async fn o3_a_claim_dropped_at_any_await_ends_by_itself(stage: &Stage<'_>) {
    let store = open(stage).await;
    for polls in 0..12 {
        let key = [polls as u8];
        cut(store.claim(&key, ms(100)), polls).await;
        stage.advance(100).await;
        match store.claim(&key, ms(100)).await.expect("claims") {
            Claim::Claimed(_) => {}
            // The store has got the dropped claim only now.
            Claim::Busy { left } => {
                assert_eq!(left, ms(100));
                stage.advance(100).await;
                claimed(&*store, &key, 100).await;
            }
            Claim::Done => panic!("nobody finished it"),
        }
    }
}
