//! Confirmed calls: the confirmation beside the answer, and the backends that refuse.

use std::{future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use queue_kit::{
    call::{Answer, Call, Service},
    *,
};

use crate::fault_injector::*;

/// A queue with a confirmer of these copies.
#[derive(Debug)]
struct Copied(Arc<dyn Service>, Copies);

#[async_trait]
impl Service for Copied {
    async fn call(&self, call: Call) -> Result<Answer> {
        self.0.call(call).await
    }

    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        Some(Arc::new(Told(self.1.clone())))
    }
}

#[derive(Debug)]
struct Told(Copies);

#[async_trait]
impl Confirmer for Told {
    async fn confirm<'a>(
        &'a self,
        call: Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>,
    ) -> Result<Copies> {
        call.await?;
        Ok(self.0.clone())
    }
}

async fn copied(kind: QueueKind, copies: Copies) -> AnyQueue {
    let name = QueueName::new("q").unwrap();
    let config = QueueConfig::of(kind, 10);
    let queue = MemoryBackend::new().open(&name, &config).await.unwrap();
    let service = Copied(Arc::new(queue), copies);
    AnyQueue::behind(Arc::new(service), kind)
}

const FEWER: Copies = Copies::Fewer {
    replicas: 1,
    flushed: false,
};

#[tokio::test(start_paused = true)]
async fn the_answer_comes_confirmed_or_not() {
    for (copies, text) in [
        (Copies::Enough, "confirmed"),
        (FEWER, "stored, unconfirmed: in time it was at 1 replica"),
        (
            Copies::Unknown("the connection ended".to_owned()),
            "stored, unconfirmed: the connection ended",
        ),
    ] {
        let is_confirmed = copies == Copies::Enough;
        let AnyQueue::Reliable(queue) = copied(QueueKind::Reliable, copies).await else {
            panic!("another kind");
        };
        let jobs: Reliable<u64> = Reliable::new(queue);
        let pushed = jobs.confirmed(|jobs| jobs.push(&7)).await.unwrap();
        assert_eq!(pushed.answer, MessageId::new(1));
        assert_eq!(pushed.is_confirmed(), is_confirmed);
        assert_eq!(pushed.copies.to_string(), text);
        let delivery = jobs.receive(SECOND, SECOND).await.unwrap().unwrap();
        assert_eq!(*delivery.body().unwrap(), 7);
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_can_be_confirmed_behind_any_pointer() {
    for kind in QueueKind::ALL {
        let queue = copied(kind, Copies::Enough).await;
        assert!(queue.confirmer().is_some(), "{kind}");
        match queue {
            AnyQueue::Rotating(ring) => {
                assert!(Box::new(Arc::clone(&ring)).confirmer().is_some());
                let inserted = ring.confirmed(|ring| ring.insert_one("item")).await;
                assert!(inserted.unwrap().is_confirmed());
                let sensors: Rotating<u64> = Rotating::new(ring);
                let pushed = sensors.confirmed(|sensors| sensors.push(&1)).await;
                assert!(pushed.unwrap().is_confirmed());
            }
            queue => {
                let queue = queue.leasing().unwrap();
                assert!(Box::new(Arc::clone(&queue)).confirmer().is_some());
                let paused = queue.confirmed(|queue| queue.pause()).await;
                assert!(paused.unwrap().is_confirmed());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_call_is_the_error_that_it_was() {
    let AnyQueue::Reliable(queue) = copied(QueueKind::Reliable, Copies::Enough).await else {
        panic!("another kind");
    };
    let pushed = queue.confirmed(|queue| queue.push(&[])).await;
    assert_eq!(pushed.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_backend_without_copies_refuses_before_anything_is_done() {
    let queues = Queues::new(MemoryBackend::new());
    let one = Confirmation::replicas(1);
    let error = queues.confirmed(one).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    let named = "nothing is ever at 1 replica within 1000 ms";
    assert!(error.to_string().contains(named), "{error}");
    let error = queues
        .confirmed(Confirmation::replicas(0))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);

    let jobs = queues.reliable("jobs").open::<u64>().await.unwrap();
    let error = jobs.confirmed(|jobs| jobs.push(&1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(jobs.queue().depth().await.unwrap().ready, 0);
    let sensors = queues.rotating("sensors").open::<u64>().await.unwrap();
    let error = sensors
        .confirmed(|sensors| sensors.push(&1))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(sensors.queue().len().await.unwrap(), 0);
}

#[test]
fn a_confirmation_says_what_it_asks_for() {
    for (confirmation, text) in [
        (Confirmation::replicas(2), "at 2 replicas within 1000 ms"),
        (
            Confirmation::flushed().within(SECOND / 2),
            "on disk within 500 ms",
        ),
        (
            Confirmation::replicas(1).and_flushed(),
            "on disk, also at 1 replica, within 1000 ms",
        ),
    ] {
        assert_eq!(confirmation.to_string(), text);
        confirmation.check().unwrap();
    }
}
