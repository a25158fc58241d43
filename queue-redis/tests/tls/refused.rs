//! The servers and clients that are refused, and the reason in the error.

use std::time::Duration;

use queue_core::Error;
use queue_redis::{ConnectionHealth, Tls};
use real_redis::Server;

use super::{
    Test,
    certificates::Authority,
    errors::{assert_lasts, assert_passes, assert_says},
    patient::patient,
    to, trusting,
    until::until,
    url, with,
};

/// A timeout that a test waits for. A server that answers is faster, also on a busy machine.
const BRIEF: Duration = Duration::from_secs(5);

async fn refusal(server: &Server, tls: Tls) -> Error {
    let refused = to(server, tls).connect().await;
    let error = refused.expect_err("it must be refused");
    assert_says(&error, &["127.0.0.1:"]);
    error
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_is_named_with_the_way_out() -> Test {
    let server = with(&Authority::new().issue_here()).start()?;
    let error = refusal(&server, trusting(&Authority::new())).await;
    assert_lasts(
        &error,
        &["rediss://", "none of the trusted roots", "Tls::roots"],
    );
    Ok(())
}

#[tokio::test]
async fn a_certificate_that_is_not_valid_now_says_so() -> Test {
    let authority = Authority::new();
    let expired = with(&authority.issue_expired()).start()?;
    let error = refusal(&expired, trusting(&authority)).await;
    assert_lasts(&error, &["has expired", "renew it"]);
    let early = with(&authority.issue_early()).start()?;
    let error = refusal(&early, trusting(&authority)).await;
    assert_lasts(&error, &["not valid yet", "clock"]);
    Ok(())
}

#[tokio::test]
async fn a_certificate_for_another_host_says_for_whom_it_is() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue(&["other.example", "10.0.0.7"])).start()?;
    let error = refusal(&server, trusting(&authority)).await;
    let parts = [
        "is for other.example, 10.0.0.7, and",
        "not for \"127.0.0.1\"",
        "Tls::server_name",
    ];
    assert_lasts(&error, &parts);
    let error = refusal(&server, trusting(&authority).server_name("third.example")).await;
    assert_lasts(&error, &["other.example", "third.example"]);
    Ok(())
}

#[tokio::test]
async fn a_client_without_a_good_certificate_is_asked_for_one() -> Test {
    let authority = Authority::new();
    let stranger = Authority::new().issue(&["me"]);
    for version in ["TLSv1.2", "TLSv1.3"] {
        let server = with(&authority.issue_here())
            .with_client_roots(authority.certificate.as_str())
            .with_line(format!("tls-protocols {version}"))
            .start()?;
        // Several tries, because the server may close before it has read all that the client sent.
        for _ in 0..10 {
            let error = refusal(&server, trusting(&authority)).await;
            assert_lasts(&error, &["client's certificate", "Tls::identity"]);
        }
        let tls = trusting(&authority);
        let tls = tls.identity(stranger.certificate.as_str(), stranger.key.as_str());
        let error = refusal(&server, tls).await;
        assert_lasts(&error, &["does not accept this client's certificate"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_server_without_tls_is_suspected() -> Test {
    let server = Server::builder().with_tcp().start()?;
    let url = url(&server).replace("redis://", "rediss://");
    let builder = patient(&url).tls(trusting(&Authority::new()));
    let refused = builder.connect_timeout(BRIEF).connect().await;
    let error = refused.expect_err("it speaks no TLS");
    assert_passes(&error, &["rediss://127.0.0.1:", "without TLS", "5000 ms"]);
    Ok(())
}

#[tokio::test]
async fn a_server_of_another_protocol_speaks_no_tls() -> Test {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let _answering = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await
    });
    let builder = patient(&format!("rediss://127.0.0.1:{port}"));
    let refused = builder.tls(trusting(&Authority::new())).connect().await;
    let error = refused.expect_err("it speaks no TLS");
    assert_lasts(&error, &["speaks no TLS", "redis://", "127.0.0.1:"]);
    Ok(())
}

#[tokio::test]
async fn a_plain_url_to_a_tls_port_gets_an_error_with_the_scheme() -> Test {
    let server = with(&Authority::new().issue_here()).start()?;
    let url = url(&server).replace("rediss://", "redis://");
    // The server may close before its alert is read. Then the client cannot distinguish it from a server
    // that stops.
    for _ in 0..10 {
        let error = patient(&url).connect().await.expect_err("it speaks TLS");
        assert_says(&error, &["speaks TLS", "use rediss://", "127.0.0.1:"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_down_may_come_back() -> Test {
    let builder = patient("rediss://me:hunter2@127.0.0.1:1/3");
    let builder = builder.tls(trusting(&Authority::new()));
    assert!(!format!("{builder:?}").contains("hunter2"));
    let error = builder.connect().await.expect_err("nobody is there");
    assert_passes(&error, &["rediss://127.0.0.1:1/3"]);
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_wrong_password_is_the_same_through_tls() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue_here())
        .with_password("right")
        .start()?;
    let url = url(&server).replace("right", "wrong-one");
    let builder = patient(&url).tls(trusting(&authority));
    let error = builder.connect().await.expect_err("a wrong password");
    assert_lasts(&error, &["password", "127.0.0.1:"]);
    assert!(!format!("{error:?}").contains("wrong-one"), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_server_without_room_for_another_client_may_get_some() -> Test {
    let authority = Authority::new();
    let server = with(&authority.issue_here())
        .with_line("maxclients 10")
        .start()?;
    let mut held = Vec::new();
    while let Ok(connection) = server.connect() {
        held.push(connection);
        assert!(held.len() <= 10, "the limit holds nothing");
    }
    let error = refusal(&server, trusting(&authority)).await;
    assert_passes(&error, &[]);
    Ok(())
}

#[tokio::test]
async fn a_certificate_that_goes_bad_later_is_an_outage_until_it_is_replaced() -> Test {
    let authority = Authority::new();
    let good = authority.issue_here();
    let server = with(&good).start()?;
    let backend = to(&server, trusting(&authority));
    let backend = backend.response_timeout(BRIEF).connect().await?;
    server.kill()?;
    // The names of the files are those of real-redis.
    let folder = server.folder().to_owned();
    let expired = authority.issue_expired();
    std::fs::write(folder.join("server.crt"), &expired.certificate)?;
    std::fs::write(folder.join("server.key"), &expired.key)?;
    server.start_again()?;
    until("the reason is known", || match backend.health().commands {
        ConnectionHealth::Down(Some(reason)) => reason.to_string().contains("expired"),
        _ => false,
    })
    .await;
    let error = backend.ping().await.expect_err("no connection");
    assert_passes(&error, &["has expired", "127.0.0.1:"]);
    server.kill()?;
    std::fs::write(folder.join("server.crt"), &good.certificate)?;
    std::fs::write(folder.join("server.key"), &good.key)?;
    server.start_again()?;
    until("it serves again", || backend.health().is_up()).await;
    backend.ping().await?;
    Ok(())
}
