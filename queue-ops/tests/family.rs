//! Ending families of durable jobs, on memory and on Redis.

use std::{sync::Arc, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{CancelledFamily, CancelledIn, cancel_family};
use queue_redis::RedisBackend;
use queue_worker::{Context, Failure, Output, Worker};
use real_redis::Server;

const HOUR: Duration = Duration::from_secs(3_600);

async fn queue(queues: &Queues, name: &str) -> Arc<dyn ReliableQueue> {
    let opened = queues.reliable(name).open::<u64>().await.unwrap();
    Arc::clone(opened.queue())
}

/// A message of the queue that waits for these children.
async fn parent(queues: &Queues, name: &str, children: &[(&str, &[MessageId])]) -> MessageId {
    let mut steps = Steps::default();
    for (nth, (queue, ids)) in children.iter().enumerate() {
        let mut record = ChildrenRecord::new(*queue, 1);
        record.waits = 1;
        record.ids = Some(Vec::new());
        ids.iter().for_each(|id| record.add(*id));
        steps.set(&format!("step {nth}"), 1, StepRecord::Children(record));
    }
    wait_with(queues, name, Json::write(&steps).unwrap()).await
}

async fn wait_with(queues: &Queues, name: &str, state: Bytes) -> MessageId {
    let queue = queue(queues, name).await;
    let held = held(&*queue).await;
    let defer = Settlement::defer(held, HOUR).with_state(state);
    assert_eq!(queue.settle_one(defer).await.unwrap(), Settled::Done);
    held.id
}

/// A message that is leased: nothing else may be ready.
async fn held(queue: &dyn ReliableQueue) -> Receipt {
    let id = queue.push_one("1").await.unwrap().id().unwrap();
    let held = queue.receive_one(HOUR, Duration::ZERO).await.unwrap();
    let receipt = held.unwrap().receipt;
    assert_eq!(receipt.id, id);
    receipt
}

fn of<'a>(cancelled: &'a CancelledFamily, queue: &str) -> &'a CancelledIn {
    let mut queues = cancelled.queues.iter();
    queues.find(|one| one.queue == queue).expect(queue)
}

/// Parents before children, three generations, more children than one call takes.
async fn three_generations(queues: &Queues) {
    let leaves = queue(queues, "leaves").await;
    let pushed = leaves.push_all(&vec![Push::new("1"); 300]).await.unwrap();
    let ids: Vec<MessageId> = pushed.into_iter().map(|one| one.id().unwrap()).collect();
    let first = parent(queues, "branches", &[("leaves", &ids[..200])]).await;
    let second = parent(queues, "branches", &[("leaves", &ids[150..])]).await;
    let root = parent(queues, "roots", &[("branches", &[first, second])]).await;
    let stranger = leaves.push_one("2").await.unwrap().id().unwrap();
    let cancelled = cancel_family(&**queues.backend(), "roots", root)
        .await
        .unwrap();
    assert!(cancelled.is_whole(), "{cancelled}");
    let counts: Vec<(&str, u64)> = cancelled
        .queues
        .iter()
        .map(|one| (&*one.queue, one.cancelled))
        .collect();
    assert_eq!(counts, [("roots", 1), ("branches", 2), ("leaves", 300)]);
    assert_eq!(
        leaves.depth().await.unwrap().ready,
        1,
        "{stranger} is of nobody"
    );
    let again = cancel_family(&**queues.backend(), "roots", root)
        .await
        .unwrap();
    assert_eq!((again.cancelled(), of(&again, "roots").over), (0, 1));
    assert!(!again.is_whole());
}

/// A job that is leased keeps its children, and so does one whose steps cannot be read. The children of a dead one go.
async fn what_cannot_be_cancelled(queues: &Queues) {
    let leaves = queue(queues, "leaves").await;
    let leaf = async || leaves.push_one("1").await.unwrap().id().unwrap();
    let (of_leased, of_dead) = (leaf().await, leaf().await);
    let branches = queue(queues, "branches").await;
    let leased = parent(queues, "branches", &[("leaves", &[of_leased])]).await;
    let dead = parent(queues, "branches", &[("leaves", &[of_dead])]).await;
    let ids = [leased, dead];
    let due = branches.reschedule(&ids, Due::After(Duration::ZERO));
    assert_eq!(due.await.unwrap(), [Rescheduled::Moved; 2]);
    let mut receipts = branches.receive(2, HOUR, Duration::ZERO).await.unwrap();
    receipts.sort_by_key(Delivery::id);
    let bury = Settlement::bury(receipts[1].receipt, "no paper");
    assert_eq!(branches.settle_one(bury).await.unwrap(), Settled::Dead);
    let unread = wait_with(queues, "branches", Bytes::from("{\"qk-steps\":[7]}")).await;
    let mut spawning = Steps::default();
    let record = ChildrenRecord::new("leaves", 1);
    spawning.set("leaves", 1, StepRecord::Children(record));
    let spawning = wait_with(queues, "branches", Json::write(&spawning).unwrap()).await;
    let plain = wait_with(queues, "branches", Bytes::from("[7]")).await;
    let ids = [leased, dead, unread, spawning, plain];
    let root = parent(
        queues,
        "roots",
        &[("branches", &ids), ("nowhere", &[leased])],
    )
    .await;
    let cancelled = cancel_family(&**queues.backend(), "roots", root)
        .await
        .unwrap();
    let branches = of(&cancelled, "branches");
    assert_eq!(
        (branches.cancelled, &branches.leased[..]),
        (1, &[leased][..])
    );
    assert_eq!(
        (&branches.dead[..], &branches.unread[..]),
        (&[dead][..], &[unread, spawning][..])
    );
    let leaves = of(&cancelled, "leaves");
    assert_eq!((leaves.cancelled, leaves.over), (1, 0), "{of_leased} stays");
    let nowhere = of(&cancelled, "nowhere");
    assert_eq!(nowhere.left, [leased]);
    let error = nowhere.error.as_deref().unwrap();
    assert!(error.contains("there is no queue `nowhere`"), "{error}");
    assert!(!cancelled.is_whole());
}

/// States that a worker did not write: a job that is its own child and grandchild, children without end, other names.
async fn hostile_states(queues: &Queues) {
    let next = wait_with(queues, "roots", Bytes::new()).await.get() + 1;
    let own = MessageId::new(next);
    let id = parent(
        queues,
        "roots",
        &[("roots", &[own, own]), ("two\nlines", &[own])],
    )
    .await;
    assert_eq!(id, own);
    let cancelled = cancel_family(&**queues.backend(), "roots", own)
        .await
        .unwrap();
    assert_eq!(of(&cancelled, "roots").cancelled, 1);
    assert!(of(&cancelled, "two\nlines").error.is_some());
    assert_eq!(cancelled.to_string().lines().count(), 2, "{cancelled}");
    for ids in ["[[1,1,18446744073709551615]]", "[[1,0,1000001]]"] {
        let children = format!(
            r#"{{"queue":"roots","key":1,"ids":{ids},"ended":[],"done":0,"dead":0,"waits":1}}"#
        );
        let steps = format!(
            r#"{{"qk-steps":[{{"name":"a","after_ms":1,"children":{children}}}],"own":null}}"#
        );
        let id = wait_with(queues, "roots", Bytes::from(steps)).await;
        let cancelled = cancel_family(&**queues.backend(), "roots", id)
            .await
            .unwrap();
        assert_eq!(of(&cancelled, "roots").unread, [id]);
    }
    let missing = cancel_family(&**queues.backend(), "nowhere", own)
        .await
        .unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn families_are_cancelled_in_memory() {
    three_generations(&Queues::new(MemoryBackend::new())).await;
    what_cannot_be_cancelled(&Queues::new(MemoryBackend::new())).await;
    hostile_states(&Queues::new(MemoryBackend::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn families_are_cancelled_on_redis() {
    let server = Server::start().unwrap();
    for prefix in ["a", "b", "c"] {
        let url = format!("{}?prefix={prefix}", server.url());
        let queues = Queues::new(RedisBackend::connect(&url).await.unwrap());
        match prefix {
            "a" => three_generations(&queues).await,
            "b" => what_cannot_be_cancelled(&queues).await,
            _ => hostile_states(&queues).await,
        }
    }
}

/// A job of a real worker, which waits for children that nobody handles: nothing of it runs afterwards.
#[tokio::test(start_paused = true)]
async fn a_job_of_a_worker_is_cancelled_while_it_waits() {
    let queues = Queues::new(MemoryBackend::new());
    let mails = queues.reliable("mails").open::<u64>().await.unwrap();
    let jobs = queues.reliable("jobs").open::<u64>().await.unwrap();
    let id = jobs.push(&7).await.unwrap();
    let children = mails.clone();
    let worker = Worker::new(jobs.clone()).run(move |_: u64, cx: Context| {
        let mails = children.clone();
        async move {
            let spawned = cx.spawn("mails", &mails, 0..5_u64).await?;
            let joined = cx.join(&spawned).await?;
            Ok::<_, Failure>(Output(joined.gone()))
        }
    });
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let cancelled = cancel_family(&**queues.backend(), "jobs", id)
            .await
            .unwrap();
        tokio::time::sleep(HOUR).await;
        cancelled
    };
    tokio::select! {
        _ = worker => panic!("it works on"),
        cancelled = cancel => {
            assert_eq!(cancelled.to_string(), "jobs: 1 cancelled\nmails: 5 cancelled");
            assert!(cancelled.is_whole());
        }
    }
    assert_eq!(jobs.queue().counters().await.unwrap().acked, 0);
    assert_eq!(mails.queue().counters().await.unwrap().cancelled, 5);
}
