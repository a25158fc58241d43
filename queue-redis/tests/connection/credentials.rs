//! Logins that change while a backend lives.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use queue_core::{Error, ErrorKind, TokioSpawn};
use queue_redis::{Credentials, ServerConnector};
use real_redis::Server;

use super::{
    BRIEF, Test,
    errors::{assert_lasts, assert_passes},
    patient::patient,
    through, to,
    until::until,
};

fn with_worker() -> Result<Server, real_redis::ServerError> {
    let server = Server::builder().with_user("worker", "one", "~* &* +@all");
    server.start()
}

/// Gives the user another password, and ends all connections.
fn rotate(server: &Server, password: &str) -> Test {
    let password = format!(">{password}");
    server.ask::<()>(&["ACL", "SETUSER", "worker", "resetpass", &password])?;
    server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal"])?;
    Ok(())
}

#[tokio::test]
async fn a_backend_goes_on_after_its_password_is_rotated() -> Test {
    let server = with_worker()?;
    let secret = Arc::new(Mutex::new("one".to_owned()));
    let provider = {
        let secret = Arc::clone(&secret);
        move || {
            let secret = secret.lock().expect("no panic").clone();
            async move { Ok(Credentials::user("worker", secret)) }
        }
    };
    let backend = to(&server)
        .credentials(provider)
        .response_timeout(BRIEF)
        .connect()
        .await?;
    backend.ping().await?;
    rotate(&server, "two")?;
    until("the outage is noticed", || !backend.health().is_up()).await;
    let error = backend.ping().await.expect_err("its password is old");
    assert_passes(&error, &["password"]);
    "two".clone_into(&mut secret.lock().expect("no panic"));
    until("it is let in again", || backend.health().is_up()).await;
    backend.ping().await?;
    Ok(())
}

#[tokio::test]
async fn a_provider_is_asked_again_when_a_login_is_refused() -> Test {
    let server = with_worker()?;
    let asked = Arc::new(AtomicUsize::new(0));
    let provider = {
        let asked = Arc::clone(&asked);
        move || {
            let password = match asked.fetch_add(1, Ordering::SeqCst) {
                0 => "old",
                _ => "one",
            };
            async move { Ok(Credentials::user("worker", password)) }
        }
    };
    to(&server)
        .credentials(provider)
        .connect()
        .await?
        .ping()
        .await?;
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // If the provider returns a refused login again, it is not tried a second time.
    let wrong = || async { Ok(Credentials::user("worker", "hunter2")) };
    let error = to(&server)
        .credentials(wrong)
        .connect()
        .await
        .expect_err("wrong");
    assert_lasts(&error, &["WRONGPASS", "Builder::credentials"]);
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_password_alone_is_of_the_urls_user() -> Test {
    let server = with_worker()?;
    let builder = patient(&server.url_as("worker", "old"));
    let provider = || async { Ok(Credentials::password("one")) };
    builder
        .credentials(provider)
        .connect()
        .await?
        .ping()
        .await?;
    Ok(())
}

#[tokio::test]
async fn the_error_of_a_provider_keeps_its_kind_and_text() -> Test {
    let server = Server::start()?;
    for kind in [ErrorKind::Unavailable, ErrorKind::Configuration] {
        let provider = move || async move { Err(Error::new(kind, "the vault is sealed")) };
        let error = to(&server)
            .credentials(provider)
            .connect()
            .await
            .expect_err("no login");
        match kind {
            ErrorKind::Unavailable => assert_passes(&error, &["the vault is sealed"]),
            _ => assert_lasts(&error, &["the vault is sealed"]),
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_connector_has_its_own_provider() -> Test {
    let server = with_worker()?;
    let provider = || async { Ok(Credentials::user("worker", "one")) };
    let connector = || ServerConnector::new(&server.url(), Arc::new(TokioSpawn::default()));
    let own = connector()?.credentials(provider);
    through(own).connect().await?.ping().await?;
    let beside = through(connector()?).credentials(provider);
    let error = beside.connect().await.expect_err("it would have no effect");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    Ok(())
}
