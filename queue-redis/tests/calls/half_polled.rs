//! Futures that are polled and then set aside block no other caller.

use std::{future::Future, num::NonZeroUsize, pin::Pin, sync::Arc, task::Poll, time::Duration};

use queue_core::{
    call::{Call, Service},
    *,
};
use queue_redis::RedisBackend;
use real_redis::Server;
use tokio::time::timeout;

use super::{Test, fresh, patient::patient, until::PATIENCE};

/// A future that makes one call.
type Calling = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Makes each call that can share a round trip with others: a push to a queue of each kind, and a lease
/// from it.
async fn ways(
    backend: &RedisBackend,
) -> Result<Vec<(&'static str, Box<dyn Fn() -> Calling + Send>)>> {
    let later = Push::new("hello").with_due(Duration::from_secs(60));
    let urgent = Push::new("hello").with_priority(1);
    let dropping = Push::new("hello").with_overflow(Overflow::DropOldest);
    let mut ways: Vec<(_, Box<dyn Fn() -> Calling + Send>)> = Vec::new();
    let one = NonZeroUsize::MIN;
    for (kind, way, call) in [
        (
            QueueKind::Delay,
            "lease",
            Call::Lease(one, Duration::from_secs(60)),
        ),
        (
            QueueKind::Reliable,
            "push",
            Call::Push(vec!["hello".into()]),
        ),
        (QueueKind::Delay, "push", Call::Push(vec![later])),
        (QueueKind::Priority, "push", Call::Push(vec![urgent])),
        (QueueKind::Bounded, "push", Call::Push(vec!["hello".into()])),
        (
            QueueKind::Bounded,
            "push, dropping the oldest",
            Call::Push(vec![dropping]),
        ),
    ] {
        let name = QueueName::new(kind.as_str())?;
        let queue = backend.open(&name, &QueueConfig::of(kind, 10_000)).await?;
        let put = move || -> Calling {
            let (queue, call) = (queue.clone(), call.clone());
            Box::pin(async move { queue.call(call).await.map(drop) })
        };
        ways.push((way, Box::new(put)));
    }
    Ok(ways)
}

/// Polls a future once; it must not be ready.
async fn poll_once(future: &mut Calling) {
    std::future::poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn an_unpolled_call_blocks_no_other_of_its_task() -> Test {
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    for (way, put) in ways(&backend).await? {
        let mut aside = put();
        for _ in 0..3 {
            // A `select!` polls its future once in this way if its other arm is ready.
            poll_once(&mut aside).await;
            timeout(PATIENCE, put()).await.expect(way)?;
            if timeout(Duration::ZERO, &mut aside).await.is_ok() {
                aside = put();
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn any_number_of_calls_that_are_set_aside_holds_up_no_other() -> Test {
    let (_server, queue) = fresh().await?;
    let asked = |_| -> Calling {
        let queue = Arc::clone(&queue);
        Box::pin(async move { queue.depth().await.map(drop) })
    };
    let mut many: Vec<_> = (0..500).map(asked).collect();
    for aside in &mut many {
        poll_once(aside).await;
    }
    for _ in 0..3 {
        queue.depth().await?;
    }
    for aside in many {
        aside.await?;
    }
    Ok(())
}
