//! Opening queues by name.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    Backend, BoundedConfig, BoundedQueueExt, DelayConfig, Error, ErrorKind, Leasing, Outcome,
    Overflow, PriorityConfig, QueueConfig, QueueKind, QueueName, ReliableConfig, ReliableQueueExt,
};
use queue_memory::MemoryBackend;

fn name(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

#[track_caller]
fn is_mismatch(error: &Error, names: &[&str]) {
    assert_eq!(error.kind(), ErrorKind::ConfigMismatch);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    for name in names {
        assert!(
            error.to_string().contains(name),
            "{error} does not name {name}"
        );
    }
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
    one.push_one("x").await.unwrap();
    assert_eq!(two.depth().await.unwrap().ready, 1);
    let other = MemoryBackend::new();
    let other = other.open_reliable(&name("a"), &config).await.unwrap();
    assert_eq!(other.depth().await.unwrap().ready, 0);
}

#[tokio::test]
async fn another_kind_or_configuration_is_refused_with_both_values() {
    let backend = MemoryBackend::new();
    let config = DelayConfig::default().with_max_attempts(3);
    backend.open_delay(&name("a"), &config).await.unwrap();
    let kind = backend
        .open_reliable(&name("a"), &ReliableConfig::default())
        .await
        .unwrap_err();
    is_mismatch(&kind, &["delay", "reliable", "queue a"]);
    let attempts = backend
        .open_delay(&name("a"), &config.clone().with_max_attempts(4))
        .await
        .unwrap_err();
    is_mismatch(&attempts, &["3", "4", "max_attempts"]);
    // Each handle has its own size limit.
    let small = config.with_max_body(10);
    backend.open_delay(&name("a"), &small).await.unwrap();

    let ageing = PriorityConfig::default().with_ageing(Duration::from_secs(1));
    backend.open_priority(&name("b"), &ageing).await.unwrap();
    let error = backend
        .open_priority(&name("b"), &PriorityConfig::default())
        .await
        .unwrap_err();
    is_mismatch(&error, &["1000 ms", "none"]);
}

#[tokio::test]
async fn each_handle_keeps_its_own_limit_on_bodies() {
    let backend = MemoryBackend::new();
    let config = ReliableConfig::default();
    let wide = backend.open_reliable(&name("a"), &config).await.unwrap();
    let narrow = config.with_max_body(3);
    let narrow = backend.open_reliable(&name("a"), &narrow).await.unwrap();
    wide.push_one("abcd").await.unwrap();
    let error = narrow.push_one("abcd").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.queue(), Some(&name("a")));
}

#[tokio::test]
async fn after_a_resize_the_stored_capacity_wins() {
    let backend = MemoryBackend::new();
    let three = BoundedConfig::new(3);
    let queue = backend.open_or_resize(&name("a"), &three).await.unwrap();
    for body in ["a", "b", "c"] {
        queue.offer_one(body, Overflow::Reject).await.unwrap();
    }
    let two = BoundedConfig::new(2);
    let error = backend.open_bounded(&name("a"), &two).await.unwrap_err();
    is_mismatch(&error, &["capacity", "3", "2"]);
    backend.open_or_resize(&name("a"), &two).await.unwrap();
    assert_eq!(queue.capacity().await.unwrap().get(), 2);
    assert_eq!(queue.counters().await.unwrap().evicted, 1);
    // From now on any capacity opens it.
    let other = backend.open_bounded(&name("a"), &three).await.unwrap();
    assert_eq!(other.capacity().await.unwrap().get(), 2);
    let attempts = two.with_max_attempts(9);
    let error = backend
        .open_or_resize(&name("a"), &attempts)
        .await
        .unwrap_err();
    is_mismatch(&error, &["max_attempts"]);
}

#[tokio::test]
async fn queues_are_listed_by_name_a_page_at_a_time() {
    let backend = MemoryBackend::new();
    for (queue, kind) in [
        ("c", QueueKind::Rotating),
        ("a", QueueKind::Reliable),
        ("b", QueueKind::Bounded),
    ] {
        let config = QueueConfig::of(kind, 1);
        backend.open(&name(queue), &config).await.unwrap();
    }
    let two = NonZeroUsize::new(2).unwrap();
    let first = backend.queues(None, two).await.unwrap();
    let kinds: Vec<_> = first
        .iter()
        .map(|info| (info.name.as_str(), info.kind))
        .collect();
    assert_eq!(
        kinds,
        [("a", QueueKind::Reliable), ("b", QueueKind::Bounded)]
    );
    let rest = backend.queues(Some(&name("b")), two).await.unwrap();
    assert_eq!(rest[0].kind, QueueKind::Rotating);
    assert_eq!(rest.len(), 1);
    let error = backend.queues(None, NonZeroUsize::MAX).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn a_bad_configuration_is_invalid_and_creates_nothing() {
    let backend = MemoryBackend::new();
    let error = backend
        .open_bounded(&name("a"), &BoundedConfig::new(0))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let all = backend.queues(None, NonZeroUsize::MIN).await.unwrap();
    assert!(all.is_empty());
}
