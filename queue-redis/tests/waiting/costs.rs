//! The cost of waiting: connections and commands.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use queue_core::{LeasingExt, Push};
use real_redis::Server;
use tokio::{task::JoinSet, time::timeout};

use super::{
    LEASE, Test, backend, listening,
    open::open,
    patient::patient,
    received, receiving, two_clients,
    until::{PATIENCE, until},
    waiting,
};

#[tokio::test]
async fn many_waiters_share_one_connection() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let mut set = JoinSet::new();
    let mut queues = Vec::new();
    for n in 0..10 {
        let queue = open(&here, &format!("q{n}")).await?;
        for _ in 0..5 {
            receiving(&mut set, &queue);
        }
        queues.push(queue);
    }
    until("they wait", || {
        (0..10).all(|n| waiting(&server, &format!("q{n}")) == 1)
    })
    .await;
    for _ in 0..5 {
        for queue in &queues {
            let _ = queue.push_one("hello").await?;
        }
    }
    for _ in 0..50 {
        assert_eq!(received(&mut set).await, 1);
    }
    assert_eq!(listening(&server), 1);
    Ok(())
}

/// The cost of a wake-up to the server by the number of queues that a process waits for: commands, and
/// bytes to and from the server.
async fn cost_of_a_wake_up(queues: usize) -> Result<(u64, u64), Box<dyn StdError>> {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let mut set = JoinSet::new();
    let names: Vec<String> = (0..queues).map(|n| format!("q{n:04}")).collect();
    for name in &names {
        receiving(&mut set, &open(&here, name).await?);
    }
    until("they wait", || {
        names.iter().all(|name| waiting(&server, name) == 1)
    })
    .await;
    let producer = open(&there, &names[queues / 2]).await?;
    let cost = |server: &Server| -> Result<(u64, u64), Box<dyn StdError>> {
        // Commands of other kinds are not counted.
        let counts = server.command_counts()?;
        let commands = counts.sum(["evalsha", "eval", "publish", "zrange", "zadd", "zrem"]);
        let info: String = server.ask(&["INFO", "stats"])?;
        let bytes = info.lines().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            let name = name.strip_prefix("total_net_")?;
            (name == "input_bytes" || name == "output_bytes")
                .then(|| value.trim().parse::<u64>().ok())?
        });
        Ok((commands, bytes.sum::<u64>()))
    };
    let before = cost(&server)?;
    let _ = producer.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    let after = cost(&server)?;
    Ok((after.0 - before.0, after.1 - before.1))
}

#[tokio::test]
async fn a_wake_up_costs_the_same_however_many_queues_are_waited_for() -> Test {
    let (few, many) = (cost_of_a_wake_up(2).await?, cost_of_a_wake_up(1_000).await?);
    assert_eq!(few.0, many.0, "commands");
    // The bytes include the answer of INFO, whose numbers have different lengths.
    assert!(few.1.abs_diff(many.1) < 512, "{few:?} {many:?} bytes");
    Ok(())
}

/// One publication notifies a process of all messages for it.
#[tokio::test]
async fn a_batch_wakes_one_waiter_of_a_process_for_each_message() -> Test {
    const CONSUMERS: usize = 100;
    let (server, consumer, producer) = two_clients().await?;
    let mut set = JoinSet::new();
    for _ in 0..CONSUMERS {
        let consumer = Arc::clone(&consumer);
        set.spawn(async move { consumer.wait_for_arrival(PATIENCE).await });
    }
    // They are all in line before the connection that registers them opens.
    until("they wait", || waiting(&server, "a") == 1).await;
    let before = server.command_counts()?;
    producer
        .push_all(&vec![Push::new("hello"); CONSUMERS])
        .await?;
    for _ in 0..CONSUMERS {
        let woken = timeout(PATIENCE, set.join_next()).await?;
        woken.expect("somebody waited")??;
    }
    let counts = server.command_counts()?.since(&before);
    assert_eq!(
        (counts.of("evalsha"), counts.of("publish")),
        (1, 1),
        "{counts:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_idle_consumer_sends_next_to_nothing() -> Test {
    let server = Server::start()?;
    let interval = Duration::from_millis(200);
    let here = patient(&server.url()).fall_back(interval).connect().await?;
    let consumer = open(&here, "a").await?;
    let sent = |server: &Server| {
        let counts = server.command_counts().expect("it counts");
        counts.sum(["evalsha", "eval", "publish", "subscribe", "ping"])
    };
    let rounds = 10;
    let before = sent(&server);
    // The last poll was sent, but may fail, because it waits for a busy machine only a second.
    let _ = consumer.receive(1, LEASE, interval * rounds).await;
    let during = sent(&server) - before;
    // One poll for each fall-back interval, the first and the last; one registration for each four
    // intervals. With the default interval of 5 s that is 0.25 commands a second.
    assert!(
        during <= u64::from(rounds + rounds.div_ceil(4)) + 3,
        "{during} commands in {rounds} intervals"
    );
    Ok(())
}
