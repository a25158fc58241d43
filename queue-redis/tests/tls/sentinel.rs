//! Sentinels through TLS.

use queue_core::LeasingExt;
use queue_redis::Tls;

use super::{Test, certificates::Authority, open::open, patient::patient, trusting, url, with};

#[tokio::test]
async fn sentinels_and_the_primary_are_both_spoken_to_through_tls() -> Test {
    let authority = Authority::new();
    let here = authority.issue_here();
    let primary = with(&here).start()?;
    let sentinel = with(&here)
        .with_client_roots(authority.certificate.as_str())
        .with_line("tls-auth-clients no")
        .with_line("tls-replication yes")
        .with_watch("orders", &primary, 1)?
        .start()?;
    let url = url(&sentinel).replace("rediss://", "rediss+sentinel://");
    let url = format!("{url}/orders");
    let connect = |tls: Tls| async { patient(&url).tls(tls).connect().await };
    let backend = connect(trusting(&authority)).await?;
    let _ = open(&backend, "q").await?.push_one("yes").await?;
    let stranger = Authority::new();
    let error = connect(trusting(&stranger)).await.expect_err("not trusted");
    assert!(!error.is_transient(), "{error}");
    for part in ["the sentinel", "none of the trusted roots"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    Ok(())
}
