//! Durable jobs that died of a child, or wait for one that is dead: the ways out, as they are printed.

use std::time::Duration;

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{Finding, Problem, diagnose};
use queue_redis::RedisBackend;
use queue_worker::{Batch, Context, Failure, OnFailure, Worker, batches};
use real_redis::Server;
use tokio::time::{Instant, sleep};

use crate::{
    on_redis::said,
    setups::{HOUR, make, waiting_job},
};

/// Works on the batches and on their mails until `over`. `has_address`: mails do not die.
async fn work(queues: &Queues, has_address: bool, over: fn(&Counters) -> bool) {
    let orders = queues.reliable("orders").open::<Batch>().await.unwrap();
    let mails = queues.reliable("mails").open::<u64>().await.unwrap();
    let counters = orders.queue().clone();
    let until = async move {
        let begun = Instant::now();
        while !over(&counters.counters().await.unwrap()) {
            assert!(begun.elapsed() < Duration::from_secs(120), "it ends");
            sleep(Duration::from_millis(20)).await;
        }
    };
    let worker = Worker::new(orders).run_until(until, batches(queues.clone()));
    let mailing = Worker::new(mails).run(move |_: u64, _: Context| async move {
        match has_address {
            true => Ok(()),
            false => Err(Failure::bury("no address")),
        }
    });
    tokio::select! {
        ended = worker => drop(ended.unwrap()),
        _ = mailing => panic!("it works as long as the other"),
    }
}

async fn found(queues: &Queues) -> Option<Finding> {
    let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
    let mut findings = diagnosis.findings.into_iter();
    findings.find(|one| one.problem == Problem::ChildDead)
}

/// Runs a batch that dies of its child. Then revives the child and the batch by these commands; the batch ends well.
async fn a_batch_dies_of_its_child(queues: &Queues, revive: impl AsyncFn(&str)) {
    let mails = queues.reliable("mails").open::<u64>().await.unwrap();
    let orders = queues.reliable("orders").open::<Batch>().await.unwrap();
    let batch = Batch::new("import").jobs(&mails, [7]).unwrap();
    let batch = batch.on_failure(OnFailure::Bury);
    orders.push(&batch).await.unwrap();
    work(queues, false, |counters| counters.depth.dead == 1).await;
    let finding = found(queues).await.expect("the child is named");
    assert_eq!(
        finding.to_string(),
        "#1 is dead, because the child #1 in `mails` is: 'buried: no address': `qk dead revive mails 1`"
    );
    revive(&finding.remedy.unwrap().command.unwrap()).await;
    revive("qk dead revive orders 1").await;
    work(queues, true, |counters| counters.acked == 1).await;
    assert_eq!(found(queues).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_died_of_its_child_goes_on_by_the_way_out() {
    let queues = Queues::new(MemoryBackend::new());
    let revive = async |command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        let [_, "dead", "revive", queue, id] = words[..] else {
            panic!("{command}");
        };
        let queue = queues.reliable(queue).open::<u64>().await.unwrap();
        let id = MessageId::new(id.parse().unwrap());
        assert_eq!(
            queue
                .queue()
                .revive(&[id], Revival::WithState)
                .await
                .unwrap(),
            [Revived::Revived]
        );
    };
    a_batch_dies_of_its_child(&queues, revive).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_died_of_its_child_goes_on_by_the_command() {
    let server = Server::start().unwrap();
    let queues = Queues::new(RedisBackend::connect(&server.url()).await.unwrap());
    let revive = async |command: &str| {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let (text, status) = said(&server.url(), &words);
        assert_eq!((text.trim_end(), status), ("1 of 1 revived", 0));
    };
    a_batch_dies_of_its_child(&queues, revive).await;
}

/// Either way out of a dead child ends the finding, and so does a consumer of the other children.
#[tokio::test(start_paused = true)]
async fn a_dead_child_that_is_revived_or_discarded_is_no_finding() {
    for revives in [true, false] {
        let queues = Queues::new(MemoryBackend::new());
        drop(make(&queues, "a child is dead").await);
        assert!(found(&queues).await.is_some());
        let mails = queues.reliable("mails").open::<u64>().await.unwrap();
        let dead = [MessageId::new(1)];
        match revives {
            true => assert_eq!(
                mails
                    .queue()
                    .revive(&dead, Revival::WithState)
                    .await
                    .unwrap(),
                [Revived::Revived]
            ),
            false => assert_eq!(mails.queue().discard(&dead).await.unwrap(), 1),
        }
        assert_eq!(found(&queues).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn children_that_somebody_serves_are_no_finding() {
    let queues = Queues::new(MemoryBackend::new());
    let (_, mails) = waiting_job(&queues).await;
    let problems = async || {
        let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
        let found = diagnosis.findings.iter();
        let of_children = found.filter(|one| one.problem == Problem::ChildrenWait);
        let lines: Vec<String> = of_children.map(Finding::to_string).collect();
        lines
    };
    sleep(Duration::from_millis(900)).await;
    assert_eq!(problems().await, [""; 0], "they are ready for a moment");
    sleep(Duration::from_secs(9)).await;
    assert_eq!(
        problems().await,
        [
            "#1 waits for children in `mails`: 3 ready, no live consumer; the oldest waits for 9.9 s: `qk why mails`"
        ]
    );
    mails.queue().pause().await.unwrap();
    assert_eq!(
        problems().await,
        ["#1 waits for children in `mails`: 3 ready, the queue is paused: `qk resume mails`"]
    );
    mails.queue().resume().await.unwrap();
    let held = mails
        .queue()
        .receive_one(HOUR, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(problems().await, [""; 0]);
    drop(held);
}
