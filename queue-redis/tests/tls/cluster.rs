//! A cluster through TLS.

use std::time::Duration;

use queue_core::*;
use real_redis::Cluster;

use super::{PATIENCE, Test, certificates::Authority, patient::patient, trusting, with};

#[tokio::test]
async fn all_nodes_are_spoken_to_through_tls() -> Test {
    let authority = Authority::new();
    let settings = with(&authority.issue_here())
        .with_client_roots(authority.certificate.as_str())
        .with_line("tls-auth-clients no")
        .with_line("tls-cluster yes");
    let cluster = Cluster::start(2, 0, settings)?;
    assert!(cluster.url().starts_with("rediss+cluster://"));
    let backend = patient(&cluster.url())
        .tls(trusting(&authority))
        .connect()
        .await?;
    for number in 0..6 {
        let name = QueueName::new(format!("q{number}"))?;
        let config = ReliableConfig::default();
        let queue = backend.open_reliable(&name, &config).await?;
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.receive_one(Duration::from_secs(60), PATIENCE).await }
        });
        let _ = queue.push_one("hello").await?;
        let delivery = waiting.await??.expect("it was pushed");
        queue.ack(delivery.receipt).await?;
    }
    assert!(backend.health().is_up());
    Ok(())
}
