//! Opening queues by name.

use queue_core::{Backend, DelayConfig, ErrorKind, Leasing, LeasingExt, QueueName, ReliableConfig};
use queue_memory::MemoryBackend;

fn name(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

#[tokio::test]
async fn a_name_is_one_queue_for_all_clones() {
    let backend = MemoryBackend::new();
    let config = ReliableConfig::default();
    let one = backend.open_reliable(&name("a"), &config).await.unwrap();
    let two = backend
        .clone()
        .open_reliable(&name("a"), &config)
        .await
        .unwrap();
    one.push_one("x").await.unwrap().id().unwrap();
    assert_eq!(two.depth().await.unwrap().ready, 1);
    let other = MemoryBackend::new();
    let other = other.open_reliable(&name("a"), &config).await.unwrap();
    assert_eq!(other.depth().await.unwrap().ready, 0);
}

#[tokio::test]
async fn an_error_names_the_queue() {
    let backend = MemoryBackend::new();
    let queue = name("a");
    let config = ReliableConfig::default().with_max_body(3);
    let opened = backend.open_reliable(&queue, &config).await.unwrap();
    let kind = backend.open_delay(&queue, &DelayConfig::default()).await;
    let attempts = config.with_max_attempts(9);
    let attempts = backend.open_reliable(&queue, &attempts).await;
    for (error, expected) in [
        (kind.unwrap_err(), ErrorKind::ConfigMismatch),
        (attempts.unwrap_err(), ErrorKind::ConfigMismatch),
        (
            opened.push_one("four").await.unwrap_err(),
            ErrorKind::Invalid,
        ),
    ] {
        assert_eq!((error.kind(), error.queue()), (expected, Some(&queue)));
    }
}
