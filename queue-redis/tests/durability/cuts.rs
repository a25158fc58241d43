//! Connections that end at the worst moment: stored messages are in the queue, and none is reported as
//! confirmed.

use std::error::Error as StdError;

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Direction, Proxy};

use super::{Pair, Reliable, Test, by_a_replica, confirming, open::open, pushing, safe_pair};

/// Whether `copies` is the answer after the end of the connection.
fn is_lost(copies: &Copies) -> bool {
    matches!(copies, Copies::Unknown(_)) && copies.to_string().starts_with("stored, unconfirmed: ")
}

/// A pair, and a queue behind a proxy of its primary whose calls can wait for the replica.
async fn behind_a_proxy() -> std::result::Result<(Pair, Proxy, Reliable), Box<dyn StdError>> {
    let pair = Pair::start()?;
    let proxy = Proxy::before(&pair.primary)?;
    let backend = RedisBackend::connect(&proxy.url()).await?;
    let safe = confirming(&backend, by_a_replica()).await?;
    Ok((pair, proxy, safe))
}

/// The number of messages at the primary, read over another connection.
async fn stored_in(pair: &Pair) -> std::result::Result<u64, Box<dyn StdError>> {
    let queue = open(&pair.connect().await?, "q").await?;
    Ok(queue.depth().await?.ready)
}

#[tokio::test]
async fn a_cut_between_a_push_and_its_wait_leaves_it_stored_and_unconfirmed() -> Test {
    let (pair, proxy, safe) = behind_a_proxy().await?;
    let pushed = safe.confirmed(async |safe| {
        let pushed = safe.push_one("stored").await;
        proxy.cut();
        pushed
    });
    let pushed = pushed.await?;
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(1)));
    assert!(is_lost(&pushed.copies), "{}", pushed.copies);
    assert_eq!(stored_in(&pair).await?, 1);

    let pushed = safe.confirmed(|safe| safe.push_one("next")).await?;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(2)));
    Ok(())
}

#[tokio::test]
async fn a_wait_on_the_next_connection_confirms_nothing_of_the_one_before() -> Test {
    let (_pair, proxy, safe) = behind_a_proxy().await?;
    let pushed = safe.confirmed(async |safe| {
        let _ = safe.push_one("on the first").await?;
        proxy.cut();
        // The cut may show only at the next push.
        while safe.push_one("on the next").await.is_err() {}
        Ok(())
    });
    let pushed = pushed.await?;
    assert!(is_lost(&pushed.copies), "{}", pushed.copies);
    Ok(())
}

#[tokio::test]
async fn a_cut_during_a_wait_leaves_it_stored_and_unconfirmed() -> Test {
    let (pair, proxy, safe) = behind_a_proxy().await?;
    pair.replica.freeze()?;
    let out = pushing(&safe, "stored");
    pair.until_one_waits().await;
    proxy.cut();
    let pushed = out.await??;
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(1)));
    assert!(is_lost(&pushed.copies), "{}", pushed.copies);
    assert_eq!(stored_in(&pair).await?, 1);
    pair.replica.thaw()?;
    let pushed = safe.confirmed(|safe| safe.push_one("next")).await?;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    Ok(())
}

#[tokio::test]
async fn a_push_whose_reply_is_lost_is_an_error_of_unknown_outcome() -> Test {
    let (_pair, proxy, safe) = behind_a_proxy().await?;
    let before = proxy.seen(Direction::Replies);
    proxy.hold(Direction::Replies);
    let out = pushing(&safe, "perhaps");
    proxy.beyond(Direction::Replies, before).await;
    proxy.cut();
    let error = out.await?.expect_err("its reply is lost");
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_primary_that_is_demoted_during_a_wait_confirms_nothing() -> Test {
    let (pair, _, safe) = safe_pair().await?;
    pair.replica.freeze()?;
    let out = pushing(&safe, "stored");
    pair.until_one_waits().await;
    pair.primary.ask::<()>(&["REPLICAOF", "127.0.0.1", "1"])?;
    let pushed = out.await??;
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(1)));
    assert!(is_lost(&pushed.copies), "{}", pushed.copies);
    let said = pushed.copies.to_string();
    assert!(said.contains("UNBLOCKED"), "the server says why: {said}");
    Ok(())
}
