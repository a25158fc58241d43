//! Once keys on a real server: the parts that are particular to Redis.

#![cfg(unix)]

#[path = "support/patient.rs"]
mod patient;

use std::{error::Error as StdError, sync::Arc, time::Duration};

use queue_core::{Backend, Claim, ErrorKind, OnceStore, Outcome, QueueName, Token};
use real_redis::Server;

use self::patient::patient;

type Test = Result<(), Box<dyn StdError>>;

const LONG: Duration = Duration::from_secs(3600);

async fn open(server: &Server) -> Result<Arc<dyn OnceStore>, Box<dyn StdError>> {
    let backend = patient(&server.url()).connect().await?;
    Ok(backend.open_once(&QueueName::new("effects")?).await?)
}

async fn claim(store: &dyn OnceStore, key: &[u8]) -> Result<Token, Box<dyn StdError>> {
    match store.claim(key, LONG).await? {
        Claim::Claimed(token) => Ok(token),
        other => Err(format!("{key:?} is not free: {other:?}").into()),
    }
}

#[tokio::test]
async fn each_verb_is_one_round_trip_and_survives_forgotten_scripts() -> Test {
    let server = Server::start()?;
    let store = open(&server).await?;
    for forget in [false, true] {
        let flush = || {
            if forget {
                server.ask::<()>(&["SCRIPT", "FLUSH"]).expect("it forgets");
            }
        };
        let before = server.command_counts()?;
        flush();
        let token = claim(&*store, b"a").await?;
        flush();
        store.extend(b"a", token, LONG).await?;
        flush();
        store.release(b"a", token).await?;
        flush();
        let token = claim(&*store, b"a").await?;
        flush();
        store.finish(b"a", token, Duration::from_millis(1)).await?;
        flush();
        store.counts().await?;
        if !forget {
            let calls = server.command_counts()?.since(&before);
            assert_eq!((calls.of("evalsha"), calls.of("eval")), (6, 0));
        }
        while store.claim(b"a", LONG).await? == Claim::Done {}
        let keys = ["qk:{effects}:once-claimed", "qk:{effects}:once-tokens"];
        server.ask::<()>(&["DEL", keys[0], keys[1]])?;
    }
    Ok(())
}

#[tokio::test]
async fn a_flushed_store_is_as_good_as_new() -> Test {
    let server = Server::start()?;
    let store = open(&server).await?;
    let (held, done) = (
        claim(&*store, b"held").await?,
        claim(&*store, b"done").await?,
    );
    store.finish(b"done", done, LONG).await?;
    server.ask::<()>(&["FLUSHALL"])?;
    for (key, token) in [(b"held", held), (b"done", done)] {
        let error = store.finish(key, token, LONG).await.expect_err("is lost");
        assert_eq!(error.kind(), ErrorKind::ClaimLost);
        let next = claim(&*store, key).await?;
        assert!(next > token, "R1: {next} after {token}");
        let error = store.release(key, token).await.expect_err("is lost");
        assert_eq!(error.kind(), ErrorKind::ClaimLost);
        store.finish(key, next, LONG).await?;
    }
    // The configuration is back, so another open is checked against it.
    open(&server).await?;
    server.ask::<()>(&["HSET", "qk:{effects}:once", "config", "once layout=99"])?;
    let opened = open(&server).await.expect_err("of another layout");
    assert!(opened.to_string().contains("once layout=99"), "{opened}");
    let error = store.counts().await.expect_err("of another layout");
    assert_eq!(error.kind(), ErrorKind::ConfigMismatch);
    Ok(())
}

#[tokio::test]
async fn a_key_that_holds_something_else_is_named_at_open() -> Test {
    let server = Server::start()?;
    for suffix in ["once", "once-claimed", "once-done", "once-tokens"] {
        let key = format!("qk:{{effects}}:{suffix}");
        server.ask::<()>(&["SET", &key, "somebody else's"])?;
        let error = open(&server).await.expect_err("refused").to_string();
        assert!(
            error.contains(&key) && error.contains("once store"),
            "{error}"
        );
        assert_eq!(server.ask::<i64>(&["DEL", &key])?, 1);
    }
    open(&server).await?;
    Ok(())
}

/// Only live data stays, and no key has an expiry by which a server could evict it.
#[tokio::test]
async fn ended_claims_and_marks_are_cleared_away() -> Test {
    let server = Server::start()?;
    let store = open(&server).await?;
    let short = Duration::from_millis(1);
    for n in 0..500_u16 {
        let key = n.to_be_bytes();
        let token = claim(&*store, &key).await?;
        if n % 2 == 0 {
            // One key stays, so that a slow machine still finds one.
            let keep = if n == 0 { LONG } else { short };
            store.finish(&key, token, keep).await?;
        }
    }
    for key in ["once", "once-claimed", "once-done", "once-tokens"] {
        let key = format!("qk:{{effects}}:{key}");
        assert_eq!(server.ask::<i64>(&["PTTL", &key])?, -1, "{key}");
    }
    let mut rounds = 0_u32;
    let left = |key: &str, count: &str| {
        let left = server.ask::<u64>(&[count, &format!("qk:{{effects}}:{key}")]);
        left.expect("it counts")
    };
    while left("once-done", "ZCARD") > 1 {
        assert!(rounds < 1_000, "each claim clears some away");
        claim(&*store, format!("another-{rounds}").as_bytes()).await?;
        rounds += 1;
    }
    let live = 250 + u64::from(rounds);
    assert_eq!(left("once-claimed", "ZCARD"), live);
    assert_eq!(left("once-tokens", "HLEN"), live + 1, "the mark's too");
    assert_eq!(store.counts().await?.claimed, live);
    Ok(())
}

#[tokio::test]
async fn a_full_server_refuses_claims_and_lets_effects_be_recorded() -> Test {
    let server = Server::start()?;
    let store = open(&server).await?;
    let (first, second) = (claim(&*store, b"1").await?, claim(&*store, b"2").await?);
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "1"])?;
    let error = store.claim(b"3", LONG).await.expect_err("is full");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    store.extend(b"1", first, LONG).await?;
    store.finish(b"1", first, LONG).await?;
    store.release(b"2", second).await?;
    let counts = store.counts().await?;
    assert_eq!((counts.claimed, counts.done), (0, 1));
    Ok(())
}
