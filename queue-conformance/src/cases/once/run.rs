//! O5: effects under a key.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::*;

use super::{KEY, LONG, busy, claimed, found, lost, open};
use crate::{
    stage::{Stage, ms},
    steps::cut,
};

/// A handle with claims of 100 ms and marks of 1,000 ms.
async fn once(stage: &Stage<'_>) -> Once {
    Once::new(open(stage).await)
        .with_claim(ms(100))
        .with_keep(ms(1_000))
}

async fn answer(value: u64) -> Result<u64> {
    Ok(value)
}

pub(crate) async fn o5_an_effect_runs_once_while_its_mark_is_kept(stage: &Stage<'_>) {
    let once = once(stage).await;
    let ran = Arc::new(AtomicU64::new(0));
    let mut count = 0;
    for (after, runs) in [(0, true), (0, false), (999, false), (1, true)] {
        stage.advance(after).await;
        count += u64::from(runs);
        let ran = Arc::clone(&ran);
        let outcome = once
            .run(KEY, |_| answer(ran.fetch_add(1, Ordering::SeqCst) + 1))
            .await
            .expect("runs");
        match outcome {
            OnceRun::Ran(value) => assert!(runs && value == count, "{value}"),
            OnceRun::AlreadyDone => assert!(!runs),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ran.load(Ordering::SeqCst), 2);
}

pub(crate) async fn o5_a_failed_effect_releases_its_claim(stage: &Stage<'_>) {
    let once = Once::new(open(stage).await).with_claim(LONG);
    for _ in 0..3 {
        let failed: Result<OnceRun<()>, Error> = once
            .run(KEY, |_| async { Err(Error::invalid("no such card")) })
            .await;
        assert!(failed.unwrap_err().to_string().contains("no such card"));
    }
    let ran = once.run(KEY, |_| answer(1)).await.expect("runs");
    assert!(matches!(ran, OnceRun::Ran(1)), "{ran:?}");
}

pub(crate) async fn o5_one_that_comes_meanwhile_is_told_how_long(stage: &Stage<'_>) {
    let once = once(stage).await;
    let (store, other) = (once.store(), once.clone());
    let outcome = once.run(KEY, |claim| async move {
        assert_eq!(claim.key(), KEY);
        stage.advance(30).await;
        let meanwhile = other.run(KEY, |_| answer(2)).await.expect("asks");
        assert!(
            matches!(meanwhile, OnceRun::Busy { left } if left == ms(70)),
            "{meanwhile:?}"
        );
        claim.extend().await.expect("is live");
        assert_eq!(found(&**store, KEY).await, busy(100));
        Ok::<_, Error>(claim.token())
    });
    let OnceRun::Ran(token) = outcome.await.expect("runs") else {
        panic!("nothing hinders it");
    };
    store
        .finish(KEY, token, ms(1))
        .await
        .expect("the token that the effect was given is the claim's");
}

pub(crate) async fn o5_an_effect_that_outlives_its_claim_is_unrecorded(stage: &Stage<'_>) {
    let once = once(stage).await;
    let store = once.store();
    let outcome = once.run(KEY, |claim| async move {
        stage.advance(100).await;
        lost(claim.extend().await);
        claimed(&**store, KEY, 500).await;
        answer(7).await
    });
    match outcome.await.expect("the effect itself succeeded") {
        OnceRun::Unrecorded {
            value,
            claim,
            error,
        } => {
            assert_eq!(value, 7);
            lost::<()>(Err(error));
            lost(claim.finish().await);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(found(&**store, KEY).await, busy(500), "nothing changed");
}

pub(crate) async fn o5_a_dropped_run_leaves_its_claim_to_end(stage: &Stage<'_>) {
    let once = once(stage).await;
    let started = Arc::new(AtomicU64::new(0));
    for polls in 0..40 {
        let key = vec![polls as u8];
        let effect = |_| async {
            started.fetch_add(1, Ordering::SeqCst);
            loop {
                tokio::task::yield_now().await;
            }
        };
        let cut: Option<Result<OnceRun<()>>> = cut(once.run(key.clone(), effect), polls).await;
        assert!(cut.is_none(), "the effect does not end");
        stage.advance(100).await;
        let ran = once.run(key, |_| answer(1)).await.expect("runs");
        assert!(matches!(ran, OnceRun::Ran(1)), "{ran:?}");
    }
    assert!(started.load(Ordering::SeqCst) > 0, "some were begun");
}

pub(crate) async fn o5_times_out_of_range_are_found_before_the_effect(stage: &Stage<'_>) {
    let once = once(stage).await;
    let effect = |_: Claimed| async { panic!("it must not run") };
    for wrong in [
        once.clone().with_claim(Duration::ZERO),
        once.clone().with_keep(Duration::ZERO),
        once.clone().with_keep(limits::MAX_KEEP + ms(1)),
    ] {
        let refused: Result<OnceRun<()>, Error> = wrong.run(KEY, effect).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    let refused: Result<OnceRun<()>, Error> = once.run("", effect).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    claimed(&**once.store(), KEY, 100).await;
}
