//! Several runtimes in a process: the backend's tasks run on the runtime that connected.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use queue_core::{LeasingExt, Result, TokioSpawn};
use queue_redis::{ConnectionHealth, RedisBackend};
use real_redis::Server;
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{Queue, Test, errors::assert_lasts, open::open, patient::patient, until::PATIENCE};

const LEASE: Duration = Duration::from_secs(600);

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

/// Runs `work` on a new runtime. The returned value keeps that runtime, undriven, until the caller drops
/// it.
async fn elsewhere<F: Future<Output = ()>>(
    work: impl FnOnce() -> F + Send + 'static,
) -> std::sync::mpsc::Sender<()> {
    let (done, is_done) = oneshot::channel();
    let (keep, kept) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        let runtime = runtime();
        runtime.block_on(work());
        let _ = done.send(());
        let _ = kept.recv();
    });
    is_done.await.expect("it does not panic");
    keep
}

async fn push(queue: &Queue, count: usize) {
    let mut set = JoinSet::new();
    for _ in 0..count {
        let queue = Arc::clone(queue);
        set.spawn(async move { queue.push_one("hello").await.map(drop) });
    }
    for pushed in set.join_all().await {
        pushed.expect("pushed");
    }
}

#[tokio::test]
async fn a_stalled_first_runtime_blocks_no_other() -> Test {
    let server = Server::start()?;
    // With a long fall-back interval only a hint can wake a waiting consumer.
    let builder = patient(&server.url()).fall_back(10 * PATIENCE);
    let queue = open(&builder.connect().await?, "a").await?;
    let kept = elsewhere({
        let queue = Arc::clone(&queue);
        move || async move {
            // The first pushes that share a call, and the first wait.
            push(&queue, 64).await;
            for _ in 0..64 {
                queue.receive_one(LEASE, PATIENCE).await.expect("received");
            }
            let waited = queue.wait_for_arrival(Duration::from_millis(10)).await;
            waited.expect("waited");
        }
    })
    .await;
    timeout(PATIENCE, push(&queue, 64)).await?;
    for _ in 0..64 {
        queue.receive_one(LEASE, PATIENCE).await?;
    }
    let consumer = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.receive_one(LEASE, 5 * PATIENCE).await }
    });
    tokio::task::yield_now().await;
    push(&queue, 1).await;
    let received = timeout(PATIENCE, consumer).await???;
    assert!(received.is_some());
    drop(kept);
    Ok(())
}

#[test]
fn a_backend_whose_runtime_has_ended_says_so_at_once_and_for_good() -> Test {
    let server = Server::start()?;
    let first = runtime();
    let url = server.url();
    let (backend, queue) = first.block_on(async {
        let backend = patient(&url).connect().await?;
        let queue = open(&backend, "a").await?;
        push(&queue, 64).await;
        // The waiter has ended, too.
        queue.receive_one(LEASE, PATIENCE).await?;
        Result::<_>::Ok((backend, queue))
    })?;
    drop(first);
    runtime().block_on(async {
        let before = Instant::now();
        for _ in 0..3 {
            let mut set = JoinSet::new();
            for _ in 0..8 {
                let queue = Arc::clone(&queue);
                set.spawn(async move { queue.push_one("hello").await.map(drop) });
            }
            let mut ended = set.join_all().await;
            ended.push(backend.ping().await);
            ended.push(queue.receive_one(LEASE, PATIENCE).await.map(drop));
            for ended in ended {
                let error = ended.expect_err("its runtime has ended");
                assert_lasts(&error, &["runtime"]);
            }
        }
        assert!(before.elapsed() < PATIENCE, "{:?}", before.elapsed());
        let health = backend.health().commands;
        assert!(matches!(health, ConnectionHealth::Down(Some(_))));
    });
    Ok(())
}

/// Makes `call` outside of any runtime. The call must fail at once with a permanent error that says why.
fn refused_outside<T>(call: impl Future<Output = Result<T>>) {
    let mut call = pin!(call);
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Err(error)) = call.as_mut().poll(&mut context) else {
        panic!("it goes on without a runtime");
    };
    assert_lasts(&error, &["tokio runtime"]);
}

#[test]
fn connecting_outside_of_a_runtime_is_refused_with_the_way_out() {
    let builder = || RedisBackend::builder("unix:///nowhere/redis.sock").expect("a URL");
    refused_outside(builder().connect());
    let elsewhere = runtime();
    let spawn = TokioSpawn::on(elsewhere.handle().clone());
    refused_outside(builder().spawn(spawn).connect());
}

#[test]
fn calls_outside_of_a_runtime_are_refused_with_the_way_out() -> Test {
    let server = Server::start()?;
    let first = runtime();
    let (backend, queue) = first.block_on(async {
        let backend = patient(&server.url()).connect().await?;
        let queue = open(&backend, "a").await?;
        Result::<_>::Ok((backend, queue))
    })?;
    refused_outside(backend.ping());
    refused_outside(queue.push_one("hello"));
    refused_outside(queue.depth());
    refused_outside(queue.receive_one(LEASE, Duration::ZERO));
    refused_outside(queue.receive_one(LEASE, PATIENCE));
    refused_outside(queue.wait_for_arrival(PATIENCE));
    first.block_on(async {
        assert_eq!(queue.depth().await?.ready, 0, "nothing was pushed");
        Result::<_>::Ok(())
    })?;
    Ok(())
}

#[tokio::test]
async fn connecting_with_tasks_on_a_runtime_that_has_ended_is_refused_for_good() -> Test {
    let server = Server::start()?;
    let ended = thread::spawn(|| runtime().handle().clone());
    let ended = ended.join().expect("it does not panic");
    let builder = patient(&server.url());
    let refused = builder.spawn(TokioSpawn::on(ended)).connect().await;
    let error = refused.expect_err("nothing drives its connections");
    assert_lasts(&error, &["runtime", "has ended", "Builder::spawn"]);
    Ok(())
}
