//! The primary that sentinels name is frozen, and its replica takes its place.

use queue_core::*;
use real_redis::{Server, ServerError};

use super::{Test, open::open, patient::patient, until::until, url, watching};

/// Three sentinels that fail over a second after the primary has gone, or a little later.
async fn sentinels(primary: &Server) -> Result<Vec<Server>, ServerError> {
    let sentinels: Vec<Server> = (0..3)
        .map(|_| {
            watching(primary, 2)?
                .with_line("sentinel down-after-milliseconds orders 1000")
                .with_line("sentinel failover-timeout orders 10000")
                .start()
        })
        .collect::<Result<_, _>>()?;
    for sentinel in &sentinels {
        until("the sentinels know each other, and the replica", || {
            let known: String = sentinel.ask(&["INFO", "sentinel"]).expect("text");
            known.contains("slaves=1,sentinels=3")
        })
        .await;
    }
    Ok(sentinels)
}

#[tokio::test]
async fn a_connect_that_meets_a_frozen_primary_ends_at_its_successor() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let replica = Server::builder().with_tcp().with_primary(&primary)?;
    let replica = replica.start()?;
    let sentinels = sentinels(&primary).await?;
    primary.freeze()?;
    // One try, which begins while every sentinel still names the frozen one.
    let sentinels: Vec<&Server> = sentinels.iter().collect();
    let backend = patient(&url(&sentinels)).connect().await?;
    let _ = open(&backend, "q").await?.push_one("yes").await?;
    assert!(replica.ask::<bool>(&["EXISTS", "qk:{q}:ready"])?);
    primary.thaw()?;
    Ok(())
}
