//! Calls that work over TLS as they do without it.

use std::{env, fs, process::Command, time::Duration};

use queue_core::*;
use queue_redis::{ConnectionHealth, Tls};

use super::{
    PATIENCE, Test, certificates::Authority, open::open, patient::patient, to, trusting,
    until::until, url, with,
};

const LEASE: Duration = Duration::from_secs(60);

/// Names the server to the test that runs in its own process.
const SERVER: &str = "QUEUE_TEST_TLS_URL";

#[tokio::test]
async fn a_queue_is_pushed_to_waited_at_and_settled() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue_here()).start()?;
    let backend = to(&server, trusting(&authority)).connect().await?;
    let queue = open(&backend, "q").await?;
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.receive_one(LEASE, PATIENCE).await }
    });
    until("its second connection is open", || {
        matches!(backend.health().waiter, ConnectionHealth::Up)
    })
    .await;
    let _ = queue.push_one("hello").await?;
    let delivery = waiting.await??.expect("it was pushed");
    assert_eq!(&*delivery.body, b"hello");
    queue.ack(delivery.receipt).await?;
    assert_eq!(queue.depth().await?.leased, 0);
    Ok(())
}

#[tokio::test]
async fn large_bodies_pass_in_both_directions() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue_here()).start()?;
    let backend = to(&server, trusting(&authority)).connect().await?;
    let queue = open(&backend, "q").await?;
    let body: Vec<u8> = (0..1 << 20).map(|at: u32| (at >> 3) as u8).collect();
    for _ in 0..4 {
        let _ = queue.push_one(body.clone()).await?;
    }
    for _ in 0..4 {
        let delivery = queue
            .receive_one(LEASE, PATIENCE)
            .await?
            .expect("it is there");
        assert!(delivery.body == body, "the body is as it was");
        queue.ack(delivery.receipt).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_was_killed_is_connected_to_again() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue_here()).start()?;
    let backend = to(&server, trusting(&authority)).connect().await?;
    let queue = open(&backend, "q").await?;
    let _ = queue.push_one("before").await?;
    server.kill()?;
    until("the end is noticed", || !backend.health().is_up()).await;
    server.start_again()?;
    until("it serves again", || backend.health().is_up()).await;
    let _ = queue.push_one("after").await?;
    assert_eq!(queue.depth().await?.ready, 1, "the server keeps nothing");
    Ok(())
}

#[tokio::test]
async fn an_old_server_is_spoken_to_in_version_1_2() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue_here())
        .with_line("tls-protocols TLSv1.2")
        .start()?;
    let backend = to(&server, trusting(&authority)).connect().await?;
    let _ = open(&backend, "q").await?.push_one("yes").await?;
    Ok(())
}

#[tokio::test]
async fn a_client_shows_its_certificate_and_logs_in() -> Test {
    let authority = Authority::new();
    let me = authority.issue(&["me"]);
    for versions in ["TLSv1.2", "TLSv1.3"] {
        let server = with(&authority.issue_here())
            .with_client_roots(authority.certificate.as_str())
            .with_line(format!("tls-protocols {versions}"))
            .with_password("secret")
            .start()?;
        let tls = trusting(&authority).identity(me.certificate.as_str(), me.key.as_str());
        let backend = to(&server, tls).connect().await?;
        let _ = open(&backend, "q").await?.push_one("yes").await?;
    }
    Ok(())
}

#[tokio::test]
async fn another_name_than_the_hosts_may_be_expected() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue(&["redis.example"])).start()?;
    let tls = trusting(&authority).server_name("redis.example");
    to(&server, tls).connect().await?.ping().await?;
    Ok(())
}

#[tokio::test]
async fn the_host_of_the_url_may_be_a_name() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue(&["localhost"])).start()?;
    let url = url(&server).replace("127.0.0.1", "localhost");
    let tls: Tls = trusting(&authority);
    let backend = patient(&format!("{url}/3?prefix=shop")).tls(tls);
    backend.connect().await?.ping().await?;
    Ok(())
}

/// The system's authorities are read from the environment, so this test needs its own process.
#[test]
fn the_systems_roots_do_with_the_url_alone() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue_here()).start()?;
    let roots = server.folder().join("roots.pem");
    fs::write(&roots, &authority.certificate)?;
    let child = |roots| {
        Command::new(env::current_exe().expect("this test"))
            .args(["--ignored", "--exact", "working::connects_by_the_url_alone"])
            .env("SSL_CERT_FILE", roots)
            .env_remove("SSL_CERT_DIR")
            .env(SERVER, url(&server))
            .output()
    };
    let good = child(&roots)?;
    assert!(good.status.success(), "{good:?}");
    let other = server.folder().join("other.pem");
    fs::write(&other, Authority::new().certificate)?;
    let bad = child(&other)?;
    let output = String::from_utf8_lossy(&bad.stdout).into_owned();
    assert!(!bad.status.success(), "{output}");
    assert!(output.contains("none of the trusted roots"), "{output}");
    Ok(())
}

#[tokio::test]
#[ignore = "the test above runs it in a process of its own"]
async fn connects_by_the_url_alone() -> Test {
    let url = env::var(SERVER)?;
    patient(&url).connect().await?.ping().await?;
    Ok(())
}
