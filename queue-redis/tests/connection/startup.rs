//! Connecting to a server that is not up yet.

use std::time::Duration;

use queue_core::ErrorKind;
use queue_redis::RedisBackend;
use real_redis::Server;

use super::{Test, errors::assert_passes, patient::patient, to};

/// Longer than a start takes on a busy machine.
const PATIENCE: &str = "60s";
/// Time for a try that fails.
const MOMENT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn connecting_waits_for_a_server_that_is_not_up_yet() -> Test {
    let server = Server::builder().with_tcp().start()?;
    let url = server.tcp_url().expect("it has a port");
    server.kill()?;
    let at_once = patient(&url).connect().await;
    assert_passes(&at_once.expect_err("nobody is there"), &[]);
    let patient = format!("{url}?startup_timeout={PATIENCE}");
    let waiting = RedisBackend::connect(&patient);
    let start = async {
        tokio::time::sleep(MOMENT).await;
        server.start_again()
    };
    let (backend, started) = tokio::join!(waiting, start);
    started?;
    backend?.ping().await?;
    Ok(())
}

#[tokio::test]
async fn a_startup_timeout_beyond_an_hour_is_refused() -> Test {
    let server = Server::start()?;
    let hour = Duration::from_secs(3600);
    let error = to(&server)
        .startup_timeout(hour + Duration::from_millis(1))
        .connect()
        .await;
    let error = error.expect_err("it is too long");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("startup_timeout"), "{error}");
    to(&server).startup_timeout(hour).connect().await?;
    Ok(())
}
