//! The users of a queue, and the operator who removes and reconfigures it.

use std::{
    num::NonZeroUsize,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use queue_core::*;
use queue_sim::sim::{BoxError, Run, Sim, check, sim};

use crate::check::{no_complaints, survives};

const LEASE: Duration = Duration::from_secs(2);
/// The queue that is removed.
pub(crate) const NAME: &str = "target";
/// The number of jobs of a run; they are in a second queue.
const JOBS: u32 = 12;
/// The bound of the polls after which a call is dropped, above its number of steps.
const POLLS: u32 = 14;

fn target() -> QueueName {
    QueueName::new(NAME).expect("a name")
}

fn config(attempts: u32) -> QueueConfig {
    ReliableConfig::default().with_max_attempts(attempts).into()
}

/// Awaits the call, or drops it after a drawn number of polls.
async fn perhaps_dropped<T>(run: &Run, call: impl Future<Output = T> + Send) -> Option<T> {
    let mut left = match run.choose(3) {
        0 => run.choose(POLLS),
        _ => return Some(call.await),
    };
    let mut call = pin!(call);
    std::future::poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        Pin::as_mut(&mut call).poll(context).map(Some)
    })
    .await
}

/// Sleeps for a part of the lease time. Returns whether the run is over.
async fn is_over(run: &Run) -> bool {
    let pause = LEASE / 20 * (1 + run.choose(20));
    tokio::time::timeout(pause, run.shutdown()).await.is_ok()
}

/// Records a failure.
async fn complain(run: &Run, what: String) {
    run.ledger("broken").apply(what).await;
}

async fn open(run: &Run) -> Result<AnyQueue> {
    let backend = run.queues().backend();
    match backend.open(&target(), &config(5)).await {
        // The operator has changed it.
        Err(error) if error.kind() == ErrorKind::ConfigMismatch => {
            let stored = backend.open_stored(&target()).await?;
            match stored {
                Some(StoredQueue { queue, .. }) => Ok(queue),
                None => backend.open(&target(), &config(5)).await,
            }
        }
        opened => opened,
    }
}

/// Pushes, leases and settles, also with old receipts.
async fn user(run: Run) -> Result<(), BoxError> {
    let mut receipts: Vec<Receipt> = Vec::new();
    let queue = loop {
        if let Some(Ok(queue)) = perhaps_dropped(&run, open(&run)).await {
            break queue;
        }
        if is_over(&run).await {
            return Ok(());
        }
    };
    let leasing: Arc<dyn Leasing> = queue.leasing().expect("it leases");
    let mut number = 0;
    while !is_over(&run).await {
        match run.choose(5) {
            0 | 1 => {
                number += 1;
                let body = format!(
                    "{number} of process {} at {}",
                    run.process(),
                    run.now().as_millis()
                );
                let key = format!("key {}", run.choose(3));
                let push = Push::new(body).with_header(Partitioned::KEY, key);
                let _ = perhaps_dropped(&run, queue.put(&[push])).await;
            }
            2 | 3 => {
                let max = NonZeroUsize::new(2).expect("not zero");
                let leased = perhaps_dropped(&run, leasing.lease(max, LEASE * 3)).await;
                if let Some(Ok(leased)) = leased {
                    receipts.extend(leased.deliveries.iter().map(|delivery| delivery.receipt));
                }
            }
            _ if receipts.is_empty() => {}
            _ => {
                let held = run.choose(receipts.len() as u32) as usize;
                let ack = [Settlement::ack(receipts[held])];
                let _ = perhaps_dropped(&run, leasing.settle(&ack)).await;
            }
        }
    }
    Ok(())
}

/// Removes and reconfigures the queue while others use it; in the end it removes the queue for good.
async fn operator(run: Run) -> Result<(), BoxError> {
    let removals = run.ledger("removals");
    let (target, backend) = (target(), run.queues().backend());
    while !is_over(&run).await {
        if run.choose(3) == 0 {
            let other = config(3 + run.choose(4));
            if let Some(Err(error)) =
                perhaps_dropped(&run, backend.reconfigure(&target, &other)).await
                && !error.is_transient()
            {
                complain(&run, format!("a reconfiguration fails: {error}")).await;
            }
            continue;
        }
        removals.apply("begins").await;
        let removed = backend.remove(&target, Removal::EvenIfLeased);
        match perhaps_dropped(&run, removed).await {
            Some(Ok(_)) => removals.apply("ends").await,
            Some(Err(error)) if !error.is_transient() => {
                complain(&run, format!("a removal fails: {error}")).await;
            }
            _ => {}
        }
    }
    // The other processes have seen the end, too, and make no more calls.
    run.sleep(LEASE * 4).await;
    let ten = NonZeroUsize::new(10).expect("not zero");
    let listed = async || -> Result<Vec<QueueName>> {
        let listed = backend.queues(None, ten).await?;
        Ok(listed
            .into_iter()
            .map(|info: QueueInfo| info.name)
            .collect())
    };
    let is_listed = listed().await?.contains(&target);
    let is_there = match backend.open_stored(&target).await {
        Ok(stored) => stored.is_some(),
        // Some of its partitions are there.
        Err(error) if error.kind() == ErrorKind::Configuration => true,
        Err(error) => return Err(error.into()),
    };
    if is_listed != is_there {
        complain(&run, format!("listed: {is_listed}, there: {is_there}")).await;
    }
    backend.remove(&target, Removal::EvenIfLeased).await?;
    if listed().await?.contains(&target) || backend.open_stored(&target).await?.is_some() {
        complain(&run, "a removed queue is there".to_owned()).await;
    }
    Ok(())
}

/// Takes the jobs of the second queue.
async fn consumer(run: Run) -> Result<(), BoxError> {
    let jobs = loop {
        if let Ok(jobs) = run
            .queues()
            .reliable("beside")
            .config(beside())
            .open::<u32>()
            .await
        {
            break jobs;
        }
        if is_over(&run).await {
            return Ok(());
        }
    };
    while !is_over(&run).await {
        if let Ok(Some(job)) = jobs.receive(LEASE, LEASE / 2).await {
            let _ = job.ack().await;
        }
    }
    Ok(())
}

fn beside() -> ReliableConfig {
    ReliableConfig::default().with_max_attempts(1_000)
}

/// The jobs of the second queue, during which faults strike, and the users of the removed one.
pub(crate) fn scene(name: &str) -> Sim {
    sim(name)
        .reliable::<u32>("beside", beside())
        .producer(|jobs| async move {
            for job in 0..JOBS {
                jobs.push(&job).await?;
                tokio::time::sleep(LEASE / 2).await;
            }
            Ok(())
        })
        .and()
        .process("consumer", consumer)
        .process("user 1", user)
        .process("user 2", user)
        .process("operator", operator)
        .lease(LEASE)
        .patience(LEASE * 300)
        .check(check::that("R1", survives))
        .check(check::that("operators", no_complaints))
}
