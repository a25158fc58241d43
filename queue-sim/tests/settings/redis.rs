//! The settings of a backend on Redis.

use std::time::Duration;

use queue_core::*;
use queue_redis::{Builder, RedisBackend};
use real_redis::Server;

use crate::row::{Refuse, Row, Serve, row, times};

/// Connects to a new server, and moves forty messages through a queue.
fn connected(set: impl FnOnce(Builder) -> Builder) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let server = Server::start().expect("a server");
        let minute = Duration::from_secs(60);
        // A busy machine may be slow.
        let builder = RedisBackend::builder(&server.url())?
            .connect_timeout(minute)
            .response_timeout(minute);
        let backend = set(builder).connect().await?;
        let jobs: Reliable<u64> = Queues::new(backend).reliable("jobs").open().await?;
        jobs.push_all(&(0..40).collect::<Vec<_>>()).await?;
        let deliveries = jobs.receive_batch(40, minute, minute).await?;
        assert_eq!(deliveries.len(), 40);
        for delivery in deliveries {
            delivery.ack().await?;
        }
        Ok(())
    })
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        times(
            "builder: connect_timeout",
            Refuse("a connect_timeout of 0 ms"),
            Refuse("a connect_timeout of"),
            |timeout| connected(|builder| builder.connect_timeout(timeout)),
        ),
        times(
            "builder: response_timeout",
            Refuse("a response_timeout of 0 ms"),
            Refuse("a response_timeout of"),
            |timeout| connected(|builder| builder.response_timeout(timeout)),
        ),
        times(
            "builder: fall_back",
            Refuse("a fall_back of 0 ms"),
            Refuse("a fall_back of"),
            |interval| connected(|builder| builder.fall_back(interval)),
        ),
        times(
            "builder: startup_timeout",
            Serve,
            Refuse("a startup_timeout of"),
            |timeout| connected(|builder| builder.startup_timeout(timeout)),
        ),
        times(
            "builder: keep_alive",
            Refuse("a keep_alive of 0 ms"),
            Refuse("a keep_alive of"),
            |interval| connected(|builder| builder.keep_alive(interval)),
        ),
        row(
            "builder: large_bodies_from",
            (0, Serve),
            (usize::MAX, Serve),
            |bytes| connected(|builder| builder.large_bodies_from(bytes)),
        ),
        row(
            "builder: packs_from",
            (0, Serve),
            (usize::MAX, Serve),
            |messages| connected(|builder| builder.packs_from(messages)),
        ),
    ]
}
