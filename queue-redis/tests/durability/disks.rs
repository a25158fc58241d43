//! Copies on disk, where the server can report them.

use std::time::Duration;

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Aof, Server};

use super::{LONG, SOON, Test, confirming, open::open};

/// Whether this server can report which writes are on disk.
fn has_waitaof(server: &Server) -> bool {
    let info: Vec<redis::Value> = server
        .ask(&["COMMAND", "INFO", "WAITAOF"])
        .expect("it tells");
    info != [redis::Value::Nil]
}

fn on_disk() -> Confirmation {
    Confirmation::flushed().within(LONG)
}

#[tokio::test]
async fn a_push_confirmed_on_disk_survives_a_kill() -> Test {
    for aof in [Aof::Always, Aof::EverySecond] {
        let server = Server::builder().with_aof(aof).start()?;
        if !has_waitaof(&server) {
            return Ok(());
        }
        let backend = RedisBackend::connect(&server.url()).await?;
        let safe = confirming(&backend, on_disk()).await?;
        let pushed = safe.confirmed(|safe| safe.push_one("hello")).await?;
        assert!(pushed.is_confirmed(), "{}", pushed.copies);
        server.kill()?;
        server.start_again()?;
        let backend = RedisBackend::connect(&server.url()).await?;
        assert_eq!(open(&backend, "q").await?.depth().await?.ready, 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_disk_that_nobody_flushes_leaves_it_unconfirmed() -> Test {
    let server = Server::builder().with_aof(Aof::BySystem).start()?;
    if !has_waitaof(&server) {
        return Ok(());
    }
    let backend = RedisBackend::connect(&server.url()).await?;
    let hasty = confirming(&backend, Confirmation::flushed().within(SOON)).await?;
    // With `appendfsync no` the server does not know of the system's flushes.
    let pushed = hasty.confirmed(|hasty| hasty.push_one("hello")).await?;
    let fewer = Copies::Fewer {
        replicas: 0,
        flushed: false,
    };
    assert_eq!(pushed.copies, fewer);
    assert_eq!(open(&backend, "q").await?.depth().await?.ready, 1);
    Ok(())
}

#[tokio::test]
async fn a_replica_without_a_file_does_not_count_as_flushed() -> Test {
    let primary = Server::builder().with_tcp().with_aof(Aof::Always).start()?;
    if !has_waitaof(&primary) {
        return Ok(());
    }
    let replica = Server::builder().with_primary(&primary)?.start()?;
    let backend = RedisBackend::connect(&primary.url()).await?;
    let both = Confirmation::replicas(1).and_flushed();
    let hasty = confirming(&backend, both.within(Duration::from_secs(1))).await?;
    let pushed = hasty.confirmed(|hasty| hasty.push_one("hello")).await?;
    assert!(!pushed.is_confirmed());
    assert!(
        pushed.copies.to_string().ends_with("at 0 replicas"),
        "{}",
        pushed.copies
    );

    let with_a_file = Server::builder()
        .with_aof(Aof::Always)
        .with_primary(&primary)?;
    let _with_a_file = with_a_file.start()?;
    let safe = confirming(&backend, both.within(LONG)).await?;
    let pushed = safe.confirmed(|safe| safe.push_one("hello")).await?;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    drop(replica);
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_turned_off_is_noticed_before_the_next_push() -> Test {
    let server = Server::builder().with_aof(Aof::Always).start()?;
    if !has_waitaof(&server) {
        return Ok(());
    }
    let builder = RedisBackend::builder(&server.url())?;
    let backend = builder
        .response_timeout(Duration::from_secs(2))
        .connect()
        .await?;
    let safe = confirming(&backend, Confirmation::flushed().within(SOON)).await?;
    server.ask::<()>(&["CONFIG", "SET", "appendonly", "no"])?;
    let pushed = safe.confirmed(|safe| safe.push_one("stored")).await?;
    assert!(
        matches!(pushed.copies, Copies::Unknown(_)),
        "{}",
        pushed.copies
    );
    let error = safe.confirmed(|safe| safe.push_one("no")).await;
    let error = error.expect_err("nothing is flushed any more");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    assert!(error.is_transient(), "the file may be turned on again");
    assert!(error.to_string().contains("appendonly"), "{error}");
    assert_eq!(open(&backend, "q").await?.depth().await?.ready, 1);
    server.ask::<()>(&["CONFIG", "SET", "appendonly", "yes"])?;
    let _ = safe.push_one("yes").await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_tell_of_its_disk_is_refused_before_anything_is_pushed() -> Test {
    let server = Server::start()?;
    let backend = RedisBackend::connect(&server.url()).await?;
    let error = backend
        .confirmed(on_disk())
        .await
        .expect_err("it keeps no file");
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(!error.is_transient());
    let named = if has_waitaof(&server) {
        "turn its appendonly on"
    } else {
        "from 7.2 on"
    };
    for part in [
        named,
        &server.socket().display().to_string(),
        "on disk within",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    Ok(())
}
