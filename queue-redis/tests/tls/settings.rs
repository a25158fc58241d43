//! Settings of TLS that cannot be used.

use std::sync::Arc;

use queue_core::{ErrorKind, TokioSpawn};
use queue_redis::{RedisBackend, ServerConnector, Tls};

use super::{Test, certificates::Authority, trusting};

#[tokio::test]
async fn settings_that_cannot_be_used_are_refused_before_anything_is_tried() -> Test {
    let authority = Authority::new();
    let one = authority.issue(&["one"]);
    let two = authority.issue(&["two"]);
    let (root, one_pem) = (authority.certificate.as_str(), one.certificate.as_str());
    let broken = root.replacen("MII", "!!!", 1);
    for (tls, named) in [
        (Tls::new().roots(""), "the roots hold no certificate"),
        (Tls::new().roots(one.key.as_str()), "the roots hold no"),
        (Tls::new().roots(broken.as_str()), "no sound PEM"),
        (
            trusting(&authority).identity("", ""),
            "the identity hold no",
        ),
        (trusting(&authority).identity(one_pem, ""), "no private key"),
        (
            trusting(&authority).identity(one_pem, two.key.as_str()),
            "belong together",
        ),
        (trusting(&authority).server_name("two words"), "two words"),
    ] {
        let shown = format!("{tls:?}");
        assert!(
            !shown.contains("PRIVATE") && !shown.contains("BEGIN"),
            "{shown}"
        );
        let builder = RedisBackend::builder("rediss://127.0.0.1:1")?.tls(tls);
        let error = builder.connect().await.expect_err(named);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(named), "{named:?}: {error}");
        assert!(!format!("{error:?}").contains("PRIVATE"), "{error:?}");
    }
    Ok(())
}

#[tokio::test]
async fn settings_without_tls_are_refused() -> Test {
    for url in ["redis://127.0.0.1:1", "unix:///nowhere/redis.sock"] {
        let builder = RedisBackend::builder(url)?.tls(Tls::new());
        let error = builder.connect().await.expect_err(url);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("rediss://"), "{error}");
    }
    let spawn = Arc::new(TokioSpawn::default());
    let connector = ServerConnector::new("redis://127.0.0.1:1", spawn)?;
    let builder = RedisBackend::with_connector(connector).tls(Tls::new());
    let error = builder.connect().await.expect_err("a connector");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("with_tls"), "{error}");
    Ok(())
}

#[tokio::test]
async fn nothing_in_a_url_leaves_checks_out() {
    for url in [
        "rediss://localhost/#insecure",
        "rediss://me:hunter#2@localhost",
        "valkeys://localhost#insecure",
    ] {
        let error = RedisBackend::connect(url).await.expect_err(url);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}: {error}");
        assert!(error.to_string().contains("%23"), "{url}: {error}");
        assert!(!format!("{error:?}").contains("hunter"), "{error:?}");
    }
}
