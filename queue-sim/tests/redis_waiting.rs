//! Waiting on Redis: who is woken, what is passed on, and what an idle consumer costs.

#![cfg(unix)]

#[path = "on_a_server/command.rs"]
mod command;
#[path = "on_a_server/until.rs"]
mod until;

use std::{error::Error as StdError, sync::Arc, time::Duration};

use queue_core::{
    Backend, DelayConfig, DelayQueueExt, LeasingExt, QueueName, ReliableConfig, ReliableQueue,
    ReliableQueueExt,
};
use queue_redis::{ConnectionHealth, RedisBackend};
use queue_sim::redis::Server;
use tokio::{task::JoinSet, time::timeout};

use self::{
    command::command,
    until::{PATIENCE, until},
};

type Test = Result<(), Box<dyn StdError>>;
type Queue = Arc<dyn ReliableQueue>;

const LEASE: Duration = Duration::from_secs(60);

/// A backend whose consumers never look by themselves, so that only an arrival can wake them.
async fn backend(server: &Server) -> Result<RedisBackend, queue_core::Error> {
    RedisBackend::builder(&server.url())?
        .fall_back(Duration::from_secs(3600))
        .connect()
        .await
}

async fn queue(backend: &RedisBackend, name: &str) -> Result<Queue, queue_core::Error> {
    let config = ReliableConfig::default();
    backend.open_reliable(&QueueName::new(name)?, &config).await
}

/// How many connections are blocked.
fn blocked(server: &Server) -> usize {
    let mut connection = server.connect().expect("the server runs");
    let mut info = redis::cmd("INFO");
    let info: String = info.arg("clients").query(&mut connection).expect("it does");
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("blocked_clients:"));
    line.and_then(|count| count.trim().parse().ok())
        .expect("it says so")
}

/// Starts to wait for a message.
fn receiving(set: &mut JoinSet<usize>, queue: &Queue) {
    let queue = Arc::clone(queue);
    set.spawn(async move {
        let received = queue
            .receive(1, LEASE, PATIENCE)
            .await
            .expect("it is served");
        received.len()
    });
}

async fn received(set: &mut JoinSet<usize>) -> usize {
    let received = timeout(PATIENCE, set.join_next())
        .await
        .expect("it was woken");
    received.expect("somebody waited").expect("without a panic")
}

#[tokio::test]
async fn a_push_wakes_one_who_waits() -> Test {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (consumer, producer) = (queue(&here, "a").await?, queue(&there, "a").await?);
    for _ in 0..20 {
        let mut set = JoinSet::new();
        receiving(&mut set, &consumer);
        until("it blocks", || blocked(&server) == 1).await;
        producer.push_one("hello").await?;
        assert_eq!(received(&mut set).await, 1);
    }
    Ok(())
}

#[tokio::test]
async fn many_who_wait_share_one_connection() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let mut set = JoinSet::new();
    let mut queues = Vec::new();
    for n in 0..10 {
        let queue = queue(&here, &format!("q{n}")).await?;
        for _ in 0..5 {
            receiving(&mut set, &queue);
        }
        queues.push(queue);
    }
    until("they block", || blocked(&server) == 1).await;
    for _ in 0..5 {
        for queue in &queues {
            queue.push_one("hello").await?;
        }
    }
    for _ in 0..50 {
        assert_eq!(received(&mut set).await, 1);
    }
    assert!(blocked(&server) <= 1);
    Ok(())
}

#[tokio::test]
async fn a_burst_wakes_as_many_as_it_takes() -> Test {
    let server = Server::start()?;
    let producer = queue(&backend(&server).await?, "a").await?;
    let mut set = JoinSet::new();
    // Four processes, four consumers in each.
    for _ in 0..4 {
        let here = backend(&server).await?;
        let consumer = queue(&here, "a").await?;
        for _ in 0..4 {
            receiving(&mut set, &consumer);
        }
    }
    until("they block", || blocked(&server) == 4).await;
    producer
        .push_all(&vec![queue_core::Push::new("hello"); 16])
        .await?;
    for _ in 0..16 {
        assert_eq!(received(&mut set).await, 1);
    }
    Ok(())
}

#[tokio::test]
async fn who_starts_to_wait_for_another_queue_is_woken_too() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let (first, second) = (queue(&here, "a").await?, queue(&here, "b").await?);
    let mut set = JoinSet::new();
    receiving(&mut set, &first);
    until("it blocks", || blocked(&server) == 1).await;
    receiving(&mut set, &second);
    // Its connection is blocked already, on the other queue's marker.
    second.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    first.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

#[tokio::test]
async fn a_dropped_wait_passes_its_arrival_on() -> Test {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (dropped, other) = (queue(&here, "a").await?, queue(&there, "a").await?);
    let mut set = JoinSet::new();
    {
        let wait = dropped.wait_for_arrival(PATIENCE);
        tokio::pin!(wait);
        // Started, and then never polled again: it cannot notice its arrival.
        assert!(timeout(Duration::from_millis(1), &mut wait).await.is_err());
        until("it blocks", || blocked(&server) == 1).await;
        other.push_one("hello").await?;
        until("the arrival is here", || blocked(&server) == 0).await;
        receiving(&mut set, &other);
        assert_eq!(received(&mut set).await, 1);
        // The message is leased; the arrival is still with the one who will be dropped.
        other.push_one("again").await?;
        assert_eq!(other.receive(1, LEASE, Duration::ZERO).await?.len(), 1);
        other.wait_for_arrival(PATIENCE).await?;
        receiving(&mut set, &other);
        until("the other blocks", || blocked(&server) == 1).await;
    }
    // Given back to the server, it wakes the other process: to look, and to wait again.
    until("it was passed on and used up", || {
        let calls = server.command_counts().expect("it counts");
        calls.of("bzpopmin") >= 4
    })
    .await;
    other.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

#[tokio::test]
async fn a_killed_waiter_waits_again() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let consumer = queue(&here, "a").await?;
    assert!(matches!(here.health().waiter, ConnectionHealth::Unused));
    for _ in 0..5 {
        let mut set = JoinSet::new();
        receiving(&mut set, &consumer);
        until("it blocks", || blocked(&server) == 1).await;
        assert!(matches!(here.health().waiter, ConnectionHealth::Up));
        command(&server, &["CLIENT", "KILL", "TYPE", "normal"]);
        until("it blocks again", || blocked(&server) == 1).await;
        let there = backend(&server).await?;
        queue(&there, "a").await?.push_one("hello").await?;
        assert_eq!(received(&mut set).await, 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_restart_wakes_who_waits() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let consumer = queue(&here, "a").await?;
    let mut set = JoinSet::new();
    receiving(&mut set, &consumer);
    until("it blocks", || blocked(&server) == 1).await;
    server.restart()?;
    until("it blocks again", || blocked(&server) == 1).await;
    let there = backend(&server).await?;
    queue(&there, "a").await?.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

/// Only one is told of a due time. If it goes, another has to know until when to sleep (D5).
#[tokio::test]
async fn a_dropped_wait_towards_a_due_time_is_taken_over() -> Test {
    const HOUR: Duration = Duration::from_secs(3600);
    let server = Server::start()?;
    let backends = [backend(&server).await?, backend(&server).await?];
    let name = QueueName::new("a")?;
    let config = DelayConfig::default();
    let mut waiting = Vec::new();
    for (nth, backend) in backends.iter().enumerate() {
        let consumer = backend.open_delay(&name, &config).await?;
        waiting.push(tokio::spawn(async move {
            let received = consumer.receive(1, LEASE, 2 * HOUR).await;
            received.map(|received| received.len())
        }));
        until("it blocks", || blocked(&server) == nth + 1).await;
    }
    let calls = |command| {
        let counts = server.command_counts().expect("it counts");
        counts.of(command)
    };
    let producer = backend(&server).await?.open_delay(&name, &config).await?;
    producer.schedule_one("later", HOUR / 2).await?;
    until("the first was told, and sleeps towards it", || {
        calls("bzpopmin") >= 3
    })
    .await;
    let looks = calls("evalsha");
    waiting[0].abort();
    until("the second looks", || calls("evalsha") > looks).await;
    Ok(())
}

#[tokio::test]
async fn a_marker_of_the_wrong_type_is_shown_and_bridged() -> Test {
    let server = Server::start()?;
    let here = RedisBackend::builder(&server.url())?
        .fall_back(Duration::from_millis(20))
        .connect()
        .await?;
    let consumer = queue(&here, "a").await?;
    command(&server, &["SET", "qk:{a}:arrivals", "mine"]);
    let waiting = tokio::spawn({
        let consumer = Arc::clone(&consumer);
        // Each ends with the fall-back interval.
        async move { while consumer.wait_for_arrival(PATIENCE).await.is_ok() {} }
    });
    until("it is shown", || {
        matches!(here.health().waiter, ConnectionHealth::Down(Some(_)))
    })
    .await;
    let ConnectionHealth::Down(Some(error)) = here.health().waiter else {
        panic!("it was just down");
    };
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
    command(&server, &["DEL", "qk:{a}:arrivals"]);
    until("it is mended", || here.health().is_up()).await;
    waiting.abort();
    consumer.push_one("hello").await?;
    assert_eq!(consumer.receive(1, LEASE, PATIENCE).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn an_idle_consumer_sends_next_to_nothing() -> Test {
    let server = Server::start()?;
    let interval = Duration::from_millis(200);
    let here = RedisBackend::builder(&server.url())?
        .fall_back(interval)
        .connect()
        .await?;
    let consumer = queue(&here, "a").await?;
    let sent = |server: &Server| {
        let counts = server.command_counts().expect("it counts");
        counts.sum(["evalsha", "bzpopmin", "client|unblock", "zadd", "ping"])
    };
    let rounds = 10;
    let before = sent(&server);
    consumer.receive(1, LEASE, interval * rounds).await?;
    let during = sent(&server) - before;
    // One look for each fall-back interval, the first and the last; one block for all of it. By
    // the default interval of 5 s that is 0.2 commands a second, and one block each 30 s.
    assert!(
        during <= u64::from(rounds) + 3,
        "{during} commands in {rounds} intervals"
    );
    Ok(())
}

#[tokio::test]
async fn waiting_for_a_message_costs_nothing_per_message_waiting() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let consumer = queue(&here, "a").await?;
    let bodies = vec![queue_core::Push::new("x"); 1_000];
    consumer.push_all(&bodies).await?;
    let before = server.command_counts()?;
    assert_eq!(consumer.receive(100, LEASE, PATIENCE).await?.len(), 100);
    let counts = server.command_counts()?.since(&before);
    assert_eq!((counts.of("evalsha"), counts.of("bzpopmin")), (1, 0));
    Ok(())
}
