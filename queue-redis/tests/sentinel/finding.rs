//! The server that the sentinels name, and the errors if they name none.

use std::time::Duration;

use queue_core::{Error, LeasingExt};
use real_redis::Server;

use super::{
    Test,
    errors::{assert_lasts, assert_passes},
    open::open,
    patient::patient,
    place,
    until::until,
    url, watching,
};

/// A timeout that a test waits for.
const BRIEF: Duration = Duration::from_secs(1);

async fn refusal(url: &str) -> Error {
    patient(url)
        .connect()
        .await
        .expect_err("it must be refused")
}

#[tokio::test]
async fn the_primary_is_found_with_its_own_login() -> Test {
    let primary = Server::builder()
        .with_tcp()
        .with_password("secret")
        .start()?;
    let sentinel = watching(&primary, 1)?.start()?;
    let url = url(&[&sentinel]).replace("//", "//:secret@");
    let backend = patient(&format!("{url}/3?prefix=shop")).connect().await?;
    let _ = open(&backend, "q").await?.push_one("yes").await?;
    let mut connection = primary.connect()?;
    redis::cmd("SELECT").arg(3).exec(&mut connection)?;
    let mut exists = redis::cmd("EXISTS");
    let exists: u32 = exists.arg("shop:{q}:ready").query(&mut connection)?;
    assert_eq!(exists, 1, "it is in the database and under the prefix");
    Ok(())
}

#[tokio::test]
async fn a_sentinel_may_ask_for_a_login_of_its_own() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let sentinel = watching(&primary, 1)?.with_password("watch").start()?;
    let url = url(&[&sentinel]);
    let good = format!("{url}?sentinel_password=watch");
    patient(&good).connect().await?.ping().await?;
    let as_user = format!("{good}&sentinel_username=default");
    patient(&as_user).connect().await?.ping().await?;
    for (bad, said) in [
        (url.clone(), "Authentication required"),
        (
            format!("{url}?sentinel_password=hunter2"),
            "invalid username-password",
        ),
        (url.replace("//", "//:watch@"), "Authentication required"),
    ] {
        let error = refusal(&bad).await;
        let place = place(&sentinel);
        let parts = ["refuses the login", "sentinel_password", &*place, said];
        assert_lasts(&error, &parts);
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_service_that_no_sentinel_knows_is_named() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let sentinel = watching(&primary, 1)?.start()?;
    let wrong = url(&[&sentinel]).replace("/orders", "/mymaster");
    let error = refusal(&wrong).await;
    let parts = ["\"mymaster\"", &*place(&sentinel)];
    assert_lasts(&error, &parts);
    // A sentinel that is down might know the name; but a sentinel that answers ought to.
    let beside = wrong.replace("//", "//127.0.0.1:1,");
    let error = refusal(&beside).await;
    assert_lasts(&error, &["127.0.0.1:1", parts[0]]);
    Ok(())
}

#[tokio::test]
async fn sentinels_that_are_down_are_listed_and_may_come_back() {
    let error = refusal("redis+sentinel://:hunter2@127.0.0.1:1,127.0.0.1:2/orders/3").await;
    let parts = [
        "redis+sentinel://127.0.0.1:1,127.0.0.1:2/orders/3",
        "the sentinel 127.0.0.1:1",
        "the sentinel 127.0.0.1:2",
    ];
    assert_passes(&error, &parts);
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn a_server_is_distinguished_from_a_sentinel() -> Test {
    let server = Server::builder().with_tcp().start()?;
    let error = refusal(&url(&[&server])).await;
    assert_lasts(&error, &["is no sentinel", "26379"]);
    let one = format!("redis://{}", place(&watching(&server, 1)?.start()?));
    patient(&one).connect().await.expect_err("a sentinel");
    Ok(())
}

#[tokio::test]
async fn errors_of_the_primary_name_it_and_its_sentinel() -> Test {
    let primary = Server::builder()
        .with_tcp()
        .with_password("secret")
        .start()?;
    let sentinel = watching(&primary, 1)?.start()?;
    let error = refusal(&url(&[&sentinel])).await;
    let parts = [&*place(&sentinel), &*place(&primary), "password"];
    assert_lasts(&error, &parts);
    let down = Server::builder().with_tcp().start()?;
    let sentinel = watching(&down, 2)?.start()?;
    down.kill()?;
    let error = refusal(&url(&[&sentinel])).await;
    let parts = [&*place(&sentinel), &*place(&down)];
    assert_passes(&error, &parts);
    Ok(())
}

#[tokio::test]
async fn a_sentinel_that_is_down_or_silent_is_passed_over() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let (silent, good) = (
        watching(&primary, 2)?.start()?,
        watching(&primary, 2)?.start()?,
    );
    silent.freeze()?;
    let url = url(&[&silent, &good]).replace("//", "//127.0.0.1:1,");
    // The connect timeout does not pass first: it is longer than the test may take.
    patient(&url).connect().await?.ping().await?;
    silent.thaw()?;
    Ok(())
}

#[tokio::test]
async fn a_silent_sentinel_alone_is_an_outage() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let sentinel = watching(&primary, 1)?.start()?;
    sentinel.freeze()?;
    let builder = patient(&url(&[&sentinel])).connect_timeout(BRIEF);
    let error = builder.connect().await.expect_err("nobody answers");
    assert_passes(&error, &[&place(&sentinel), "1000 ms"]);
    sentinel.thaw()?;
    Ok(())
}

#[tokio::test]
async fn a_sentinel_that_names_a_replica_is_not_believed() -> Test {
    let old = Server::builder().with_tcp().start()?;
    let new = Server::builder().with_tcp().start()?;
    // Neither sentinel can reach its quorum, so neither ever acts.
    let (cut_off, good) = (watching(&old, 9)?.start()?, watching(&new, 9)?.start()?);
    let port = new.port().expect("it has a port").to_string();
    old.ask::<()>(&["REPLICAOF", "127.0.0.1", &port])?;
    let error = refusal(&url(&[&cut_off])).await;
    let parts = [&*place(&cut_off), &*place(&old), "is a replica"];
    assert_passes(&error, &parts);
    let backend = patient(&url(&[&cut_off, &good])).connect().await?;
    let _ = open(&backend, "q").await?.push_one("yes").await?;
    until("the primary has it", || {
        new.ask(&["EXISTS", "qk:{q}:ready"]).expect("it answers")
    })
    .await;
    Ok(())
}
