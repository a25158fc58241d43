//! Which calls wait for a replica, and which do not.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use queue_core::*;

use super::{Pair, Reliable, SOON, Test, by_a_replica, confirming, open::open, pushing, safe_pair};

#[tokio::test]
async fn an_unconfirmed_push_is_stored_and_has_its_id() -> Test {
    let (pair, backend, safe) = safe_pair().await?;
    let hasty = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;
    let pushed = safe.confirmed(|safe| safe.push_one("first")).await?;
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(1)));
    assert!(pushed.is_confirmed(), "{}", pushed.copies);

    pair.replica.freeze()?;
    let pushed = hasty.confirmed(|hasty| hasty.push_one("second")).await?;
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(2)));
    let fewer = Copies::Fewer {
        replicas: 0,
        flushed: false,
    };
    assert_eq!(pushed.copies, fewer);
    let expected = "stored, unconfirmed: in time it was at 0 replicas";
    assert_eq!(pushed.copies.to_string(), expected);
    assert_eq!(open(&backend, "q").await?.depth().await?.ready, 2);
    Ok(())
}

#[tokio::test]
async fn an_ack_is_confirmed_on_a_server_without_memory() -> Test {
    let (pair, _, safe) = safe_pair().await?;
    let _ = safe.push_one("hello").await?;
    let lease = Duration::from_secs(60);
    let delivery = safe
        .receive_one(lease, Duration::ZERO)
        .await?
        .expect("it is ready");
    pair.primary
        .ask::<()>(&["CONFIG", "SET", "maxmemory", "1"])?;
    let refused = safe.confirmed(|safe| safe.push_one("no")).await;
    let error = refused.expect_err("there is no memory");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error:?}");
    let acked = safe.confirmed(|safe| safe.ack(delivery.receipt)).await?;
    assert!(acked.is_confirmed(), "{}", acked.copies);
    Ok(())
}

#[tokio::test]
async fn more_replicas_than_there_are_leave_it_unconfirmed() -> Test {
    let pair = Pair::start()?;
    let backend = pair.connect().await?;
    let two = confirming(&backend, Confirmation::replicas(2).within(SOON)).await?;
    let pushed = two.confirmed(|two| two.push_one("hello")).await?;
    // On a busy machine the running replica may be late, too.
    let Copies::Fewer {
        replicas: 0..=1,
        flushed: false,
    } = pushed.copies
    else {
        panic!("{}", pushed.copies);
    };
    Ok(())
}

#[tokio::test]
async fn nobody_else_waits_for_a_replica() -> Test {
    let pair = Pair::start()?;
    let backend = pair.connect().await?;
    let plain = open(&backend, "q").await?;
    let safe = confirming(&backend, by_a_replica()).await?;
    let others = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;
    pair.replica.freeze()?;
    let out = pushing(&safe, "safe");
    pair.until_one_waits().await;
    let _ = plain.push_one("plain").await?;
    // The message is there for everybody, confirmed or not.
    let delivery = plain
        .receive_one(Duration::from_secs(60), Duration::ZERO)
        .await?;
    let delivery = delivery.expect("it is ready");
    assert_eq!(&delivery.body[..], b"safe");
    plain.ack(delivery.receipt).await?;
    // Handles with different confirmations use different connections.
    let pushed = others.confirmed(|others| others.push_one("others")).await?;
    assert!(!pushed.is_confirmed());
    assert_eq!(pair.waiting(), 1, "the first still waits");
    assert!(!out.is_finished());

    pair.replica.thaw()?;
    let pushed = out.await??;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(1)));
    Ok(())
}

#[tokio::test]
async fn a_dropped_wait_leaves_the_message_and_stops_nobody() -> Test {
    let (pair, backend, safe) = safe_pair().await?;
    assert!(
        safe.confirmed(|safe| safe.push_one("before"))
            .await?
            .is_confirmed()
    );
    pair.replica.freeze()?;
    let out = pushing(&safe, "dropped");
    pair.until_one_waits().await;
    out.abort();
    assert!(out.await.is_err_and(|error| error.is_cancelled()));
    assert_eq!(open(&backend, "q").await?.depth().await?.ready, 2);
    let next = pushing(&safe, "next");
    pair.replica.thaw()?;
    let pushed = next.await??;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(3)));
    Ok(())
}

#[tokio::test]
async fn nobody_waits_for_a_caller_that_polls_no_more() -> Test {
    let (pair, _, safe) = safe_pair().await?;
    pair.replica.freeze()?;
    let set_aside = {
        let safe = Reliable::clone(&safe);
        async move { safe.confirmed(|safe| safe.push_one("aside")).await }
    };
    let mut set_aside = Box::pin(set_aside);
    while pair.waiting() == 0 {
        assert!(
            set_aside.as_mut().now_or_never().is_none(),
            "the replica is frozen"
        );
        tokio::task::yield_now().await;
    }
    pair.replica.thaw()?;
    let pushed = safe.confirmed(|safe| safe.push_one("next")).await?;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    assert!(set_aside.await?.is_confirmed());
    Ok(())
}

#[tokio::test]
async fn a_duplicate_is_confirmed_with_the_message_that_came_first() -> Test {
    let pair = Pair::start()?;
    let backend = pair.connect().await?;
    let plain = open(&backend, "q").await?;
    let safe = confirming(&backend, by_a_replica()).await?;
    let hasty = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;
    // The last write of the hasty connection is at the replica.
    let _ = hasty.push_one("before").await?;
    let pushed = safe.confirmed(|safe| safe.push_one("before")).await?;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    pair.replica.freeze()?;
    let push = || Push::new("charge").with_dedup("42", Duration::from_secs(60));
    let first = plain.push_one(push()).await?;
    let again = hasty.confirmed(|hasty| hasty.push_one(push())).await?;
    assert_eq!(
        again.answer,
        Pushed::Duplicate(first.id().expect("accepted"))
    );
    assert!(!again.is_confirmed(), "the replica does not have the first");
    pair.replica.thaw()?;
    let again = safe.confirmed(|safe| safe.push_one(push())).await?;
    assert_eq!(
        again.answer,
        Pushed::Duplicate(first.id().expect("accepted"))
    );
    assert!(again.is_confirmed(), "{}", again.copies);
    Ok(())
}

#[tokio::test]
async fn the_calls_of_one_scope_share_one_wait_and_are_answered_before_it() -> Test {
    let (pair, _, safe) = safe_pair().await?;
    let before = pair.primary.command_counts()?;
    let ids = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&ids);
    pair.replica.freeze()?;
    let out = tokio::spawn({
        let safe = Reliable::clone(&safe);
        async move {
            safe.confirmed(|safe| async move {
                for body in ["a", "b", "c"] {
                    let id = safe.push_one(body).await?.id().expect("accepted").get();
                    noted.lock().expect("no panic").push(id);
                }
                Ok(())
            })
            .await
        }
    });
    pair.until_one_waits().await;
    assert_eq!(*ids.lock().expect("no panic"), [1, 2, 3]);
    pair.replica.thaw()?;
    assert!(out.await??.is_confirmed());
    let counts = pair.primary.command_counts()?.since(&before);
    assert_eq!((counts.of("evalsha"), counts.of("wait")), (3, 1));
    Ok(())
}
