//! Calls that cannot be confirmed are refused before anything is done.

use std::time::Duration;

use queue_core::*;
use queue_redis::{RedisBackend, access_rules};
use real_redis::Server;

use super::{SOON, Test, confirming, open::open};

#[tokio::test]
async fn a_confirmation_that_asks_for_nothing_is_invalid() -> Test {
    let server = Server::start()?;
    let backend = RedisBackend::connect(&server.url()).await?;
    let day = Duration::from_secs(24 * 60 * 60);
    for (confirmation, named) in [
        (Confirmation::replicas(0), "0 replicas"),
        (Confirmation::replicas(1).within(Duration::ZERO), "of 0 ms"),
        (Confirmation::flushed().within(day), "between 1 ms and"),
    ] {
        let error = backend.confirmed(confirmation).await.expect_err(named);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        assert!(error.to_string().contains(named), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_plain_handle_confirms_nothing_and_pushes_nothing() -> Test {
    let server = Server::start()?;
    let backend = RedisBackend::connect(&server.url()).await?;
    let queue = open(&backend, "q").await?;
    let error = queue.confirmed(|queue| queue.push_one("no")).await;
    let error = error.expect_err("it is a plain handle");
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains("Queues::confirmed"), "{error}");
    assert_eq!(queue.depth().await?.ready, 0);
    Ok(())
}

#[tokio::test]
async fn a_server_without_replicas_leaves_it_unconfirmed() -> Test {
    let server = Server::start()?;
    let backend = RedisBackend::connect(&server.url()).await?;
    let hasty = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;
    let pushed = hasty.confirmed(|hasty| hasty.push_one("hello")).await?;
    assert!(!pushed.is_confirmed());
    assert_eq!(pushed.answer, Pushed::Accepted(MessageId::new(1)));
    Ok(())
}

#[tokio::test]
async fn a_user_needs_the_right_to_wait() -> Test {
    let rules = access_rules("qk");
    let server = Server::builder()
        .with_user("worker", "secret", &rules)
        .with_user("other", "secret", &rules.replace(" +wait", ""))
        .with_line("save 3600 1")
        .start()?;
    let backend = RedisBackend::connect(&server.url_as("worker", "secret")).await?;
    let hasty = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;
    let pushed = hasty.confirmed(|hasty| hasty.push_one("hello")).await?;
    let fewer = Copies::Fewer {
        replicas: 0,
        flushed: false,
    };
    assert_eq!(pushed.copies, fewer, "the write and the wait are allowed");

    let backend = RedisBackend::connect(&server.url_as("other", "secret")).await?;
    let confirmation = Confirmation::replicas(1);
    let error = backend.confirmed(confirmation).await.expect_err("no right");
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains("NOPERM"), "{error}");
    assert!(error.to_string().to_lowercase().contains("wait"), "{error}");
    let _ = open(&backend, "q").await?.push_one("hello").await?;
    Ok(())
}

#[tokio::test]
async fn a_refused_write_before_the_wait_leaves_it_unconfirmed_and_says_why() -> Test {
    let server = Server::builder()
        .with_user("worker", "secret", &access_rules("qk"))
        .start()?;
    let backend = RedisBackend::connect(&server.url_as("worker", "secret")).await?;
    let hasty = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;
    let pushed = hasty.confirmed(async |hasty| {
        let pushed = hasty.push_one("stored").await;
        let refused = server.ask::<()>(&["ACL", "SETUSER", "worker", "-hset"]);
        refused.expect("the server obeys");
        pushed
    });
    let pushed = pushed.await?;
    let said = pushed.copies.to_string();
    assert!(matches!(pushed.copies, Copies::Unknown(_)), "{said}");
    assert!(
        said.contains("allow its user"),
        "the server says why: {said}"
    );
    Ok(())
}
