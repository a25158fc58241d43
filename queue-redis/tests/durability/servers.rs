//! Servers that cannot wait for copies for a while: calls fail soon, and are confirmed again afterwards.

use std::{error::Error as StdError, time::Duration};

use futures_util::future::join_all;
use queue_core::*;
use queue_redis::RedisBackend;
use tokio::time::{sleep, timeout};

use super::{
    LONG, Pair, Reliable, SOON, Test, by_a_replica, confirming, open::open, pushing, safe_pair,
};

/// Longer than a busy machine takes to answer, and much shorter than a wait for copies.
const RESPONSE: Duration = Duration::from_secs(1);

/// A pair, and a queue whose calls fail after a short silence, and can wait for the replica for long.
async fn impatient_pair() -> std::result::Result<(Pair, Reliable), Box<dyn StdError>> {
    let pair = Pair::start()?;
    let builder = RedisBackend::builder(&pair.primary.url())?;
    let backend = builder.response_timeout(RESPONSE).connect().await?;
    let safe = confirming(&backend, by_a_replica()).await?;
    Ok((pair, safe))
}

/// The error of a push, which comes long before the time of a wait for copies is over.
async fn refused(safe: &Reliable) -> Error {
    let pushed = safe.confirmed(|safe| safe.push_one("no"));
    let pushed = timeout(LONG / 2, pushed).await.expect("it fails soon");
    let error = pushed.expect_err("it is refused");
    assert!(error.is_transient(), "{error:?}");
    error
}

/// Pushes until one push is stored, which the replica then has.
async fn is_confirmed_again(safe: &Reliable) {
    let stored = async {
        loop {
            match safe.confirmed(|safe| safe.push_one("again")).await {
                Ok(pushed) => return pushed,
                Err(error) => assert!(error.is_transient(), "{error:?}"),
            }
        }
    };
    let pushed = timeout(LONG, stored).await.expect("the server is back");
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
}

#[tokio::test]
async fn a_demoted_primary_takes_nothing_until_it_is_promoted_again() -> Test {
    let (pair, _, safe) = safe_pair().await?;
    pair.primary.ask::<()>(&["REPLICAOF", "127.0.0.1", "1"])?;
    assert_eq!(refused(&safe).await.outcome(), Outcome::NotApplied);
    // All calls now wait for a connection, alone or in a batch.
    for error in join_all((0..5).map(|_| refused(&safe))).await {
        assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
        assert!(error.to_string().contains("replica"), "{error}");
    }
    pair.primary.ask::<()>(&["REPLICAOF", "NO", "ONE"])?;
    is_confirmed_again(&safe).await;
    Ok(())
}

#[tokio::test]
async fn a_user_without_the_right_to_wait_pushes_nothing_until_it_has_the_right_again() -> Test {
    let (pair, backend, safe) = safe_pair().await?;
    pair.primary
        .ask::<()>(&["ACL", "SETUSER", "default", "-wait"])?;
    let pushed = safe.confirmed(|safe| safe.push_one("stored")).await?;
    let said = pushed.copies.to_string();
    assert!(matches!(pushed.copies, Copies::Unknown(_)), "{said}");
    assert!(said.contains("NOPERM"), "the server says why: {said}");
    let error = refused(&safe).await;
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    assert!(error.to_string().contains("NOPERM"), "{error}");
    assert_eq!(open(&backend, "q").await?.depth().await?.ready, 1);
    pair.primary
        .ask::<()>(&["ACL", "SETUSER", "default", "+wait"])?;
    is_confirmed_again(&safe).await;
    Ok(())
}

#[tokio::test]
async fn a_replica_that_hangs_or_dies_confirms_again_when_it_is_back() -> Test {
    let (pair, backend, safe) = safe_pair().await?;
    let hasty = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;
    for dies in [false, true] {
        match dies {
            false => pair.replica.freeze()?,
            true => pair.replica.kill()?,
        }
        let pushed = hasty.confirmed(|hasty| hasty.push_one("stored")).await?;
        let fewer = Copies::Fewer {
            replicas: 0,
            flushed: false,
        };
        assert_eq!(pushed.copies, fewer);
        match dies {
            false => pair.replica.thaw()?,
            true => pair.replica.start_again()?,
        }
        is_confirmed_again(&safe).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_primary_that_hangs_is_noticed_before_a_wait_for_copies_could_be_over() -> Test {
    let (pair, safe) = impatient_pair().await?;
    pair.primary.freeze()?;
    assert_eq!(refused(&safe).await.outcome(), Outcome::Unknown);
    pair.primary.thaw()?;
    is_confirmed_again(&safe).await;
    Ok(())
}

/// Makes calls behind a wait for copies that takes longer than the response timeout. The caller of the wait
/// stays, or is `dropped`.
async fn calls_outlast_a_wait(dropped: bool) -> Test {
    let (pair, safe) = impatient_pair().await?;
    pair.replica.freeze()?;
    let first = pushing(&safe, "first");
    pair.until_one_waits().await;
    if dropped {
        first.abort();
    }
    // One is sent at once; the others wait in the batcher, some for the whole response timeout.
    let mut behind = vec![pushing(&safe, "sent"), pushing(&safe, "in line")];
    sleep(RESPONSE * 3 / 2).await;
    behind.push(pushing(&safe, "in line later"));
    sleep(RESPONSE * 3 / 2).await;
    assert!(behind.iter().all(|push| !push.is_finished()));
    pair.replica.thaw()?;
    for push in behind {
        let pushed = push.await??;
        assert!(pushed.is_confirmed(), "{}", pushed.copies);
    }
    Ok(())
}

#[tokio::test]
async fn calls_behind_a_long_wait_do_not_take_it_for_a_silence() -> Test {
    calls_outlast_a_wait(false).await
}

#[tokio::test]
async fn calls_behind_a_wait_that_was_dropped_do_not_take_it_for_a_silence() -> Test {
    calls_outlast_a_wait(true).await
}
