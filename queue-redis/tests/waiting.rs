//! Waiting on Redis: which clients a hint wakes, which hints clients pass on, and the cost of an
//! idle consumer.

#![cfg(unix)]

#[path = "support/command.rs"]
mod command;
#[path = "support/until.rs"]
mod until;

use std::{error::Error as StdError, sync::Arc, time::Duration};

use queue_core::{
    Backend, DelayConfig, DelayQueueExt, LeasingExt, QueueName, ReliableConfig, ReliableQueue,
    ReliableQueueExt,
};
use queue_redis::{ConnectionHealth, RedisBackend};
use real_redis::Server;
use tokio::{task::JoinSet, time::timeout};

use self::{
    command::command,
    until::{PATIENCE, until},
};

type Test = Result<(), Box<dyn StdError>>;
type Queue = Arc<dyn ReliableQueue>;

const LEASE: Duration = Duration::from_secs(60);

/// A backend whose consumers never look by themselves, so that only an arrival wakes them.
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

/// The number of processes registered at a queue's marker: these wait.
fn waiting(server: &Server, name: &str) -> usize {
    let mut connection = server.connect().expect("the server runs");
    let marker = format!("qk:{{{name}}}:arrivals");
    let mut count = redis::cmd("ZCOUNT");
    count.arg(marker).arg(0).arg("+inf");
    count.query(&mut connection).expect("it counts")
}

/// The number of connections that listen to a channel.
fn listening(server: &Server) -> usize {
    let mut connection = server.connect().expect("the server runs");
    let mut list = redis::cmd("CLIENT");
    let list: String = list
        .arg("LIST")
        .arg("TYPE")
        .arg("PUBSUB")
        .query(&mut connection)
        .expect("it lists them");
    list.lines().count()
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
        until("it waits", || waiting(&server, "a") == 1).await;
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
    until("they wait", || {
        (0..10).all(|n| waiting(&server, &format!("q{n}")) == 1)
    })
    .await;
    for _ in 0..5 {
        for queue in &queues {
            queue.push_one("hello").await?;
        }
    }
    for _ in 0..50 {
        assert_eq!(received(&mut set).await, 1);
    }
    assert_eq!(listening(&server), 1);
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
    until("they wait", || waiting(&server, "a") == 4).await;
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
    until("it waits", || waiting(&server, "a") == 1).await;
    receiving(&mut set, &second);
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
        // Started and never polled again, so it cannot notice the hint.
        assert!(timeout(Duration::from_millis(1), &mut wait).await.is_err());
        until("it waits", || waiting(&server, "a") == 1).await;
        other.push_one("hello").await?;
        until("it was told", || waiting(&server, "a") == 0).await;
        receiving(&mut set, &other);
        assert_eq!(received(&mut set).await, 1);
        receiving(&mut set, &other);
        until("the other waits", || waiting(&server, "a") == 1).await;
    }
    // The hint passed on has the other process look, and wait again.
    until("it was passed on and used up", || {
        let calls = server.command_counts().expect("it counts");
        calls.of("publish") >= 2 && waiting(&server, "a") == 1
    })
    .await;
    other.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

/// A failed call does not use up the arrival that led to it.
#[tokio::test]
async fn a_call_that_failed_passes_its_arrival_on() -> Test {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (failing, other) = (queue(&here, "a").await?, queue(&there, "a").await?);
    let mut set = JoinSet::new();
    receiving(&mut set, &failing);
    until("it waits", || waiting(&server, "a") == 1).await;
    // From here on it is only registered.
    set.shutdown().await;
    receiving(&mut set, &other);
    until("both wait", || waiting(&server, "a") == 2).await;
    // A lease on this queue fails as long as this key is in the way.
    command(&server, &["SET", "qk:{a}:leases", "mine"]);
    failing
        .lease(1.try_into()?, LEASE)
        .await
        .expect_err("it is in the way");
    command(&server, &["DEL", "qk:{a}:leases"]);
    until("it was passed on", || {
        let calls = server.command_counts().expect("it counts");
        calls.of("publish") >= 1
    })
    .await;
    drop(set);
    Ok(())
}

/// A process that was killed while it waited leaves a registration behind; it costs nobody a
/// wake-up.
#[tokio::test]
async fn who_died_waiting_is_passed_over() -> Test {
    let server = Server::start()?;
    let producer = queue(&backend(&server).await?, "a").await?;
    for _ in 0..3 {
        let here = backend(&server).await?;
        let consumer = queue(&here, "a").await?;
        let before = waiting(&server, "a");
        let mut set = JoinSet::new();
        receiving(&mut set, &consumer);
        until("it waits", || waiting(&server, "a") == before + 1).await;
        set.shutdown().await;
        drop((here, consumer));
        until("its connection is closed", || listening(&server) == 0).await;
    }
    let here = backend(&server).await?;
    let consumer = queue(&here, "a").await?;
    let mut set = JoinSet::new();
    receiving(&mut set, &consumer);
    until("one more waits", || waiting(&server, "a") == 4).await;
    producer.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    assert_eq!(waiting(&server, "a"), 0);
    Ok(())
}

/// A flush takes registrations along; a call that makes the queue anew registers again.
#[tokio::test]
async fn a_flush_is_survived_by_who_looks() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let consumer = queue(&here, "a").await?;
    let mut set = JoinSet::new();
    receiving(&mut set, &consumer);
    until("it waits", || waiting(&server, "a") == 1).await;
    set.shutdown().await;
    command(&server, &["FLUSHALL"]);
    receiving(&mut set, &consumer);
    until("it waits again", || waiting(&server, "a") == 1).await;
    let there = backend(&server).await?;
    queue(&there, "a").await?.push_one("hello").await?;
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
        until("it waits", || waiting(&server, "a") == 1).await;
        assert!(matches!(here.health().waiter, ConnectionHealth::Up));
        command(&server, &["CLIENT", "KILL", "TYPE", "pubsub"]);
        command(&server, &["DEL", "qk:{a}:arrivals"]);
        until("it waits again", || waiting(&server, "a") == 1).await;
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
    until("it waits", || waiting(&server, "a") == 1).await;
    server.restart()?;
    command(&server, &["DEL", "qk:{a}:arrivals"]);
    until("it waits again", || waiting(&server, "a") == 1).await;
    let there = backend(&server).await?;
    queue(&there, "a").await?.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

/// The server tells only one of a due time. If that one goes, another must learn until when to
/// sleep (D5).
#[tokio::test]
async fn a_dropped_wait_towards_a_due_time_is_taken_over() -> Test {
    const HOUR: Duration = Duration::from_secs(3600);
    let server = Server::start()?;
    let backends = [backend(&server).await?, backend(&server).await?];
    let name = QueueName::new("a")?;
    let config = DelayConfig::default();
    let mut consumers = Vec::new();
    for (nth, backend) in backends.iter().enumerate() {
        let consumer = backend.open_delay(&name, &config).await?;
        consumers.push(tokio::spawn(async move {
            let received = consumer.receive(1, LEASE, 2 * HOUR).await;
            received.map(|received| received.len())
        }));
        until("it waits", || waiting(&server, "a") == nth + 1).await;
    }
    let calls = |command| {
        let counts = server.command_counts().expect("it counts");
        counts.of(command)
    };
    let producer = backend(&server).await?.open_delay(&name, &config).await?;
    producer.schedule_one("later", HOUR / 2).await?;
    until("the first was told, and sleeps towards it", || {
        calls("publish") == 1 && waiting(&server, "a") == 2
    })
    .await;
    for consumer in &consumers {
        consumer.abort();
    }
    let told = calls("publish");
    until("the other is told", || calls("publish") > told).await;
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
        // Each wait ends with the fall-back interval, also one that says that nobody could be told.
        async move {
            loop {
                let _ = consumer.wait_for_arrival(PATIENCE).await;
            }
        }
    });
    until("it is shown", || {
        matches!(here.health().waiter, ConnectionHealth::Down(Some(_)))
    })
    .await;
    let ConnectionHealth::Down(Some(error)) = here.health().waiter else {
        panic!("it was just down");
    };
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
    let error = consumer.wait_for_arrival(PATIENCE).await.unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("WRONGTYPE"),
        "{error}"
    );
    command(&server, &["DEL", "qk:{a}:arrivals"]);
    until("it is mended", || here.health().is_up()).await;
    waiting.abort();
    consumer.push_one("hello").await?;
    assert_eq!(consumer.receive(1, LEASE, PATIENCE).await?.len(), 1);
    Ok(())
}

/// The cost of a wake-up to the server, by the number of queues that this process waits for:
/// commands, and bytes to and from the server.
async fn cost_of_a_wake_up(queues: usize) -> Result<(u64, u64), Box<dyn StdError>> {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let mut set = JoinSet::new();
    let names: Vec<String> = (0..queues).map(|n| format!("q{n:04}")).collect();
    for name in &names {
        receiving(&mut set, &queue(&here, name).await?);
    }
    until("they wait", || {
        names.iter().all(|name| waiting(&server, name) == 1)
    })
    .await;
    let producer = queue(&there, &names[queues / 2]).await?;
    let cost = |server: &Server| -> Result<(u64, u64), Box<dyn StdError>> {
        // Commands of other kinds are not counted.
        let counts = server.command_counts()?;
        let commands = counts.sum(["evalsha", "eval", "publish", "zrange", "zadd", "zrem"]);
        let mut connection = server.connect()?;
        let info: String = redis::cmd("INFO").arg("stats").query(&mut connection)?;
        let bytes = info.lines().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            let name = name.strip_prefix("total_net_")?;
            (name == "input_bytes" || name == "output_bytes")
                .then(|| value.trim().parse::<u64>().ok())?
        });
        Ok((commands, bytes.sum::<u64>()))
    };
    let before = cost(&server)?;
    producer.push_one("hello").await?;
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

/// One message of the server tells a process of all the work for it.
#[tokio::test]
async fn a_batch_wakes_as_many_of_a_process_at_once() -> Test {
    const CONSUMERS: usize = 100;
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (consumer, producer) = (queue(&here, "a").await?, queue(&there, "a").await?);
    let mut set = JoinSet::new();
    for _ in 0..CONSUMERS {
        let consumer = Arc::clone(&consumer);
        set.spawn(async move { consumer.wait_for_arrival(PATIENCE).await });
    }
    // They are all in line before the connection that registers them opens.
    until("they wait", || waiting(&server, "a") == 1).await;
    let before = server.command_counts()?;
    producer
        .push_all(&vec![queue_core::Push::new("hello"); CONSUMERS])
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
    let here = RedisBackend::builder(&server.url())?
        .fall_back(interval)
        .connect()
        .await?;
    let consumer = queue(&here, "a").await?;
    let sent = |server: &Server| {
        let counts = server.command_counts().expect("it counts");
        counts.sum(["evalsha", "eval", "publish", "subscribe", "ping"])
    };
    let rounds = 10;
    let before = sent(&server);
    consumer.receive(1, LEASE, interval * rounds).await?;
    let during = sent(&server) - before;
    // One look for each fall-back interval, the first and the last; one registration for each four
    // intervals. With the default interval of 5 s that is 0.25 commands a second.
    assert!(
        during <= u64::from(rounds + rounds.div_ceil(4)) + 3,
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
    assert_eq!(counts.of("evalsha"), 1);
    Ok(())
}
