//! Backends, queues and exports.

use std::{sync::Arc, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{ExportedMessage, export};
use queue_redis::RedisBackend;
use real_redis::Server;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// A backend in memory, and one on a server, which ends with the returned value.
pub(crate) async fn backends() -> Vec<(Arc<dyn Backend>, Option<Server>)> {
    let server = Server::start().unwrap();
    let redis = RedisBackend::connect(&server.url()).await.unwrap();
    vec![
        (Arc::new(MemoryBackend::new()), None),
        (Arc::new(redis), Some(server)),
    ]
}

/// The messages of an export, as a file has them.
pub(crate) async fn exported(backend: &dyn Backend, queue: &str) -> Vec<ExportedMessage> {
    let mut messages = Vec::new();
    let mut write = |message: ExportedMessage| {
        messages.push(as_in_a_file(&message));
        Ok(())
    };
    let done = export(backend, queue, &mut write).await.unwrap();
    assert_eq!(
        (done.exported, done.missing),
        (messages.len() as u64, 0),
        "{done:?}"
    );
    messages
}

pub(crate) fn as_in_a_file(message: &ExportedMessage) -> ExportedMessage {
    let line = serde_json::to_string(message).unwrap();
    let read: ExportedMessage = serde_json::from_str(&line).unwrap();
    assert_eq!(read, *message, "{line}");
    read
}

pub(crate) async fn open(backend: &dyn Backend, name: &str, config: &QueueConfig) -> AnyQueue {
    let name = QueueName::new(name).unwrap();
    backend.open(&name, config).await.unwrap()
}

/// All messages of one place.
pub(crate) async fn peeked(queue: &AnyQueue, place: Place) -> Vec<Peeked> {
    let leasing = queue.leasing().unwrap();
    let page = leasing
        .peek(place, Page::first(limits::MAX_PAGE))
        .await
        .unwrap();
    assert_eq!(page.next, None);
    page.entries
}

/// The ids or bodies that consumers get, one after another.
pub(crate) async fn drained(queue: &AnyQueue) -> Vec<String> {
    let leasing = queue.leasing().unwrap();
    let mut bodies = Vec::new();
    while let Some(delivery) = leasing.receive_one(HOUR, Duration::ZERO).await.unwrap() {
        leasing
            .settle(&[Settlement::ack(delivery.receipt)])
            .await
            .unwrap();
        bodies.push(String::from_utf8(delivery.body.to_vec()).unwrap());
    }
    bodies
}
