//! The nights on a real server, through the program `qk`.

use std::{
    process::{Command, Output},
    time::Duration,
};

use queue_core::*;
use queue_ops::diagnose;
use queue_redis::RedisBackend;
use queue_schedule::{Periodic, Scheduler, Schedules};
use real_redis::{Cluster, Server};

use crate::setups::{HOUR, NIGHTS, fits, make};

fn qk(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qk"));
    command.env("QUEUE_URL", url).args(arguments);
    command.output().expect("qk runs")
}

/// The output of a `qk` command, and its status.
pub(crate) fn said(url: &str, arguments: &[&str]) -> (String, i32) {
    let output = qk(url, arguments);
    let text = [&*output.stdout, &*output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    (text, output.status.code().expect("it exits"))
}

async fn queues(server: &Server) -> Queues {
    Queues::new(RedisBackend::connect(&server.url()).await.unwrap())
}

/// The first line of `qk why orders`, once it fits; or its last answer.
async fn first_line(url: &str, expected: &str) -> (String, i32) {
    let begun = tokio::time::Instant::now();
    loop {
        let url = url.to_owned();
        let asked = tokio::task::spawn_blocking(move || said(&url, &["why", "orders"]));
        let (text, status) = asked.await.unwrap();
        let line = text.lines().next().unwrap_or_default().to_owned();
        // A message has to be ready for a second before that means anything.
        if fits(&line, expected) || begun.elapsed() > Duration::from_secs(60) {
            return (line, status);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_night_is_named_in_the_first_line() {
    let server = Server::start().unwrap();
    let queues = queues(&server).await;
    let name = QueueName::new("orders").unwrap();
    for night in &NIGHTS {
        let kept = make(&queues, night.name).await;
        let (line, status) = first_line(&server.url(), night.line).await;
        assert!(fits(&line, night.line), "{}: {line}", night.name);
        assert_eq!(status, i32::from(night.name != "well"), "{}", night.name);
        kept.iter().for_each(tokio::task::JoinHandle::abort);
        queues
            .backend()
            .remove(&name, Removal::EvenIfLeased)
            .await
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_night_is_named_on_a_cluster() {
    let cluster = Cluster::start(3, 0, Server::builder()).unwrap();
    let backend = RedisBackend::connect(&cluster.url()).await.unwrap();
    let queues = Queues::new(backend);
    let name = QueueName::new("orders").unwrap();
    for night in &NIGHTS {
        let kept = make(&queues, night.name).await;
        let begun = tokio::time::Instant::now();
        loop {
            let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
            if fits(&diagnosis.headline(), night.line) {
                break;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{}: {}",
                night.name,
                diagnosis.headline()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        kept.iter().for_each(tokio::task::JoinHandle::abort);
        queues
            .backend()
            .remove(&name, Removal::EvenIfLeased)
            .await
            .unwrap();
    }
}

/// A worker that keeps up, in real time: no diagnosis finds anything but notes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_under_load_has_no_findings() {
    let server = Server::start().unwrap();
    let orders = queues(&server)
        .await
        .reliable("orders")
        .open::<u64>()
        .await
        .unwrap();
    let worker = queue_worker::Worker::new(orders.clone())
        .concurrency(8)
        .holder("web 1");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async { stopped.await.unwrap_or_default() };
    let worker = tokio::spawn(worker.run_until(shutdown, |order: u64, _| async move {
        tokio::time::sleep(Duration::from_millis(order % 5)).await;
    }));
    let producer = tokio::spawn(async move {
        for order in 0.. {
            orders.push_all(&[order; 8]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let looked_at = queues(&server).await;
    for _ in 0..100 {
        let diagnosis = diagnose(&**looked_at.backend(), "orders").await.unwrap();
        assert!(diagnosis.is_healthy(), "{}", diagnosis.headline());
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
    producer.abort();
    // The worker waits for more, and says so under its name, which has a blank.
    let begun = tokio::time::Instant::now();
    loop {
        let (consumers, _) = said(&server.url(), &["consumers", "orders"]);
        if consumers.lines().any(|row| fits(row, "web 1 …waits  0")) {
            break;
        }
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(60), "{consumers}");
    }
    stop.send(()).unwrap();
    worker.await.unwrap().unwrap();
}

/// A lease was made by a clock that was three minutes ahead of what it is now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_went_back_is_named() {
    let server = Server::start().unwrap();
    let now = || {
        let now = Timestamp::from(std::time::SystemTime::now());
        now.plus_millis(180_000)
    };
    let ahead = RedisBackend::builder(&server.url())
        .unwrap()
        .clock(now)
        .connect()
        .await
        .unwrap();
    let orders = Queues::new(ahead)
        .reliable("orders")
        .open::<u64>()
        .await
        .unwrap();
    orders.push(&1).await.unwrap();
    orders
        .receive(Duration::from_secs(30), Duration::ZERO)
        .await
        .unwrap();
    let pattern =
        "the server's clock went back by … at least: leases and delays last longer by that";
    let (line, status) = first_line(&server.url(), pattern).await;
    assert!(fits(&line, pattern), "{line}");
    assert_eq!(status, 1);
    let (text, status) = said(&server.url(), &["check"]);
    assert!(
        text.contains("!  the server's clock went back by ") && status == 1,
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_differs_is_named() {
    let server = Server::start().unwrap();
    queues(&server)
        .await
        .reliable("orders")
        .open::<u64>()
        .await
        .unwrap();
    let why = ["why", "orders", "--expect", "max_attempts=7"];
    let (text, status) = said(&server.url(), &why);
    let line = text.lines().next().unwrap_or_default();
    assert!(
        line.contains("max_attempts") && line.contains('5') && line.contains('7'),
        "{text}"
    );
    assert!(
        line.ends_with(": `qk reconfigure orders max_attempts=7`"),
        "{text}"
    );
    assert_eq!(status, 1);
    assert_eq!(
        said(&server.url(), &["reconfigure", "orders", "max_attempts=7"]).1,
        0
    );
    assert_eq!(said(&server.url(), &why).1, 0);
    let (text, status) = said(&server.url(), &["why", "orders", "--expect", "capacity=7"]);
    assert!(
        text.contains("a reliable queue has no setting `capacity`"),
        "{text}"
    );
    assert_eq!(status, 2);
    // A program that is refused is seen without that.
    let refused = queues(&server).await;
    let refused = refused.reliable("orders").max_attempts(9).open::<u64>();
    refused.await.unwrap_err();
    let line = "stored max_attempts=7: `nights-…` (…) asks for max_attempts=9, and is refused, 1 ×, last … ago: \
                `qk reconfigure orders max_attempts=9`";
    let (text, status) = said(&server.url(), &["why", "orders"]);
    assert!(fits(&text, line) && status == 1, "{text}");
    let (text, status) = said(&server.url(), &["why"]);
    assert!(
        fits(&text, &format!("!  orders: {line}")) && status == 1,
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disabled_schedule_is_named() {
    let server = Server::start().unwrap();
    let queues = queues(&server).await;
    queues.reliable("orders").open::<u64>().await.unwrap();
    let schedules = Schedules::open(&queues, "schedules").await.unwrap();
    let mut scheduler = Scheduler::new(&schedules);
    let nightly = Periodic::cron("nightly", "0 3 * * *", "Europe/Berlin").unwrap();
    scheduler
        .add_push(nightly, "orders", |_| Ok(Push::new("1")))
        .await
        .unwrap();
    assert_eq!(
        said(&server.url(), &["schedules", "disable", "nightly"]).1,
        0
    );
    let (text, status) = said(&server.url(), &["why", "orders"]);
    let line = "the schedule `nightly` (0 3 * * * (Europe/Berlin)) is disabled: `qk schedules enable nightly`";
    assert_eq!(text.lines().next(), Some(line), "{text}");
    assert_eq!(status, 1);
    assert!(
        said(&server.url(), &["schedules", "ls"])
            .0
            .contains("disabled")
    );
    assert_eq!(
        said(&server.url(), &["schedules", "enable", "nightly"]).1,
        0
    );
    assert_eq!(said(&server.url(), &["why", "orders"]).1, 0);
    assert_eq!(said(&server.url(), &["schedules", "run", "weekly"]).1, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_is_named() {
    let cluster = Cluster::start(3, 0, Server::builder()).unwrap();
    let backend = RedisBackend::connect(&cluster.url()).await.unwrap();
    let queues = Queues::new(backend);
    queues.reliable("orders").open::<u64>().await.unwrap();
    let slot: u16 = cluster.servers()[0]
        .ask(&["CLUSTER", "KEYSLOT", "qk:{orders}:meta"])
        .unwrap();
    let from = cluster.owner(slot).unwrap();
    cluster
        .begin_to_migrate(slot, from, (from + 1) % 3, 0)
        .unwrap();
    let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
    let line = diagnosis.headline();
    assert!(
        fits(
            &line,
            "its slot is moving to …: calls wait while its keys move"
        ),
        "{line}"
    );
    let port = cluster.servers()[(from + 1) % 3].port().unwrap();
    assert!(line.contains(&port.to_string()), "{line}: not to {port}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_is_named() {
    let server = Server::start().unwrap();
    let queues = queues(&server).await;
    let orders = queues.reliable("orders").open::<String>().await.unwrap();
    let mails = queues.reliable("mails").open::<u64>().await.unwrap();
    mails.push(&1).await.unwrap();
    let mut admin = server.connect().unwrap();
    let used: u64 = server
        .info("memory", "used_memory")
        .unwrap()
        .unwrap()
        .parse()
        .unwrap();
    redis::cmd("CONFIG")
        .arg("SET")
        .arg("maxmemory")
        .arg(used + 1_000_000)
        .exec(&mut admin)
        .unwrap();
    while orders.push(&"x".repeat(10_000)).await.is_ok() {}
    let pattern = "the server refuses pushes: its memory is full: … of … bytes; consumers can drain it: `qk check`";
    let (line, status) = first_line(&server.url(), pattern).await;
    assert!(fits(&line, pattern), "{line}");
    assert_eq!(status, 1);
    // Of all queues the first one says so, and the others their own, once their messages have been ready for a second.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let (text, status) = said(&server.url(), &["why"]);
    let lines: Vec<&str> = text.lines().collect();
    let first = format!("!! mails: {pattern}");
    assert!(fits(lines[0], &first), "{text}");
    let other = "!! orders: … ready, no live consumer; …";
    assert!(lines.len() == 2 && fits(lines[1], other), "{text}");
    assert_eq!(status, 1);
    let (text, status) = said(&server.url(), &["check"]);
    assert!(
        text.contains("!  it refuses writes: its memory is full"),
        "{text}"
    );
    assert_eq!(status, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_right_is_named() {
    let server = Server::start().unwrap();
    let orders = queues(&server)
        .await
        .reliable("orders")
        .open::<u64>()
        .await
        .unwrap();
    orders.push(&1).await.unwrap();
    let rules = format!("{} -zrem", queue_redis::access_rules("qk"));
    make_user(&server, &rules);
    let refused = RedisBackend::connect(&server.url_as("shop", "secret")).await;
    let refused = match refused {
        Err(error) => error,
        Ok(backend) => {
            let orders = Queues::new(backend)
                .reliable("orders")
                .open::<u64>()
                .await
                .unwrap();
            orders.receive(HOUR, Duration::ZERO).await.unwrap_err()
        }
    };
    assert_eq!(refused.kind(), ErrorKind::Configuration, "{refused}");
    // The server logs a call that it refused; asking whether it would refuse one leaves no trace.
    redis::cmd("ZREM")
        .arg("qk:{orders}:leases")
        .arg("1")
        .exec(&mut server_as(&server, "shop", "secret"))
        .unwrap_err();
    let pattern = "user `shop` lacks the right to ZREM (refused 1 ×, last … ago): `qk acl`";
    let (line, status) = first_line(&server.url(), pattern).await;
    assert!(fits(&line, pattern), "{line}");
    assert_eq!(status, 1);
    // And a `qk` that has this user says so itself.
    let (text, status) = said(&server.url_as("shop", "secret"), &["why", "orders"]);
    assert!(
        text.to_lowercase().contains("zrem") && !text.contains("secret"),
        "{text}"
    );
    assert_ne!(status, 0);
}

/// The least rights are enough for `qk why`, and what it may not ask about is no finding of the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_least_rights_are_enough() {
    let server = Server::start().unwrap();
    queues(&server)
        .await
        .reliable("orders")
        .open::<u64>()
        .await
        .unwrap();
    let rules = queue_redis::access_rules("qk");
    make_user(&server, &rules);
    for url in [server.url_as("shop", "secret"), server.url()] {
        let (text, status) = said(&url, &["why", "orders"]);
        assert!(text.starts_with("nothing is wrong"), "{text}");
        assert_eq!(status, 0);
    }
}

/// Makes the user `shop`, with the password `secret`.
fn make_user(server: &Server, rules: &str) {
    let mut admin = server.connect().unwrap();
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER").arg("shop").arg("on").arg(">secret");
    user.arg(rules.split(' ').collect::<Vec<_>>());
    user.exec(&mut admin).unwrap();
}

fn server_as(server: &Server, user: &str, password: &str) -> redis::Connection {
    let client = redis::Client::open(server.url_as(user, password)).unwrap();
    client.get_connection().unwrap()
}

#[test]
fn rights_and_completions_need_no_server() {
    let nowhere = "redis://127.0.0.1:1";
    let (rules, status) = said(nowhere, &["acl"]);
    assert_eq!(
        (rules.trim(), status),
        (&*queue_redis::access_rules("qk"), 0)
    );
    let (script, status) = said(nowhere, &["completions", "bash"]);
    assert!(script.contains("complete -F _qk"), "{script}");
    assert_eq!(status, 0);
}

#[test]
fn a_server_that_is_not_there_is_named_and_no_secret_shown() {
    let (text, status) = said("redis://shop:secret@127.0.0.1:1", &["check"]);
    assert!(
        text.contains("127.0.0.1:1") && !text.contains("secret"),
        "{text}"
    );
    assert_eq!(status, 1);
    let (text, status) = said("redis://shop:secret@127.0.0.1:1", &["ls"]);
    assert!(
        text.contains("127.0.0.1:1") && !text.contains("secret"),
        "{text}"
    );
    assert_eq!(status, 2);
}

/// Another server may be meant, so the answer names this one.
#[test]
fn a_server_without_queues_is_named() {
    let server = Server::start().unwrap();
    for command in ["ls", "why"] {
        let (text, status) = said(&server.url(), &[command]);
        let address = server.url();
        let address = address.rsplit("//").next().unwrap();
        assert!(
            text.contains("no queues at") && text.contains(address),
            "{text}"
        );
        assert_eq!(status, 0, "{text}");
    }
    // It is full before the first queue.
    let mut admin = redis::Client::open(server.url()).unwrap();
    let mut full = redis::cmd("CONFIG");
    full.arg("SET").arg("maxmemory").arg(1);
    full.exec(&mut admin).unwrap();
    for command in ["ls", "why"] {
        let (text, status) = said(&server.url(), &[command]);
        let first = "!! the server refuses pushes: its memory is full: …";
        assert!(
            fits(&text, first) && text.contains("no queues at"),
            "{text}"
        );
        assert_eq!(status, 1, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_is_named() {
    let primary = Server::start().unwrap();
    let server = Server::start().unwrap();
    queues(&server)
        .await
        .reliable("orders")
        .open::<u64>()
        .await
        .unwrap();
    let mut admin = server.connect().unwrap();
    let primary = primary.socket();
    // It finds no primary at a socket, which is all the same here.
    let _ = primary;
    redis::cmd("REPLICAOF")
        .arg("127.0.0.1")
        .arg(1)
        .exec(&mut admin)
        .unwrap();
    let (text, status) = said(&server.url(), &["check"]);
    assert!(text.contains("replica"), "{text}");
    assert_eq!(status, 1);
}

/// A queue of a published strategy: what the strategy has, and a refusal of what it lacks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_of_published_strategies_are_diagnosed_by_what_they_have() {
    let server = Server::start().unwrap();
    let qk = |arguments: &[&str]| {
        let recipe = ["--recipe", "blocking-list"];
        said(&server.url(), &[&recipe, arguments].concat())
    };
    for order in ["order 1", "order 2"] {
        assert_eq!(qk(&["push", "jobs", order]).1, 0);
    }
    let length: u64 = server.ask(&["llen", "jobs"]).unwrap();
    assert_eq!(length, 2, "under its published key");
    let (text, status) = qk(&["why", "jobs"]);
    assert!(
        text.starts_with("nothing is wrong: 2 ready") && status == 0,
        "{text}"
    );
    let (text, status) = qk(&["stats", "jobs"]);
    assert!(
        text.contains("ready") && text.contains('2') && status == 0,
        "{text}"
    );
    let (text, status) = qk(&["peek", "jobs", "ready"]);
    assert!(text.contains("peek") && status == 2, "{text}");
    let _: u64 = server.ask(&["rpush", "{jobs}:dead", "order 0"]).unwrap();
    let (text, status) = qk(&["why", "jobs"]);
    assert!(
        text.contains("1 dead letter") && status == 0,
        "nobody knows when it died: {text}"
    );
    let (text, _) = qk(&["dead", "ls", "jobs"]);
    assert!(text.contains("order 0"), "{text}");
}

/// Texts of others reach the terminal without control characters. A server that hangs costs the time of a call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_messages_and_a_hanging_server_do_no_harm() {
    let server = Server::start().unwrap();
    let mut config = ReliableConfig::default();
    config.leasing.max_body = limits::MAX_BATCH_BYTES;
    let queues = queues(&server).await;
    let orders = queues
        .reliable("orders")
        .config(config)
        .open::<String>()
        .await
        .unwrap();
    let queue = orders.queue();
    let hostile = "\u{1b}[2J\u{7}<script>\n\u{7f}\u{9b}\u{202e}\u{2066}\u{200b}\u{2028}";
    let headers = Headers::new().with_job(hostile);
    queue
        .push_one(Push::new(hostile).with_headers(headers))
        .await
        .unwrap()
        .id()
        .unwrap();
    queue
        .push_one(Push::new(&b"\xff\x00\x1b"[..]))
        .await
        .unwrap()
        .id()
        .unwrap();
    let large = vec![b'x'; limits::MAX_BATCH_BYTES - 200];
    queue
        .push_one(Push::new(large))
        .await
        .unwrap()
        .id()
        .unwrap();
    let held = queue
        .receive_one(HOUR, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    let settled = queue
        .settle_one(Settlement::bury(held.receipt, hostile))
        .await
        .unwrap();
    assert_eq!(settled, Settled::Dead);
    for command in [
        &["peek", "orders", "ready"][..],
        &["why", "orders"],
        &["dead", "ls", "orders"],
        &["dead", "groups", "orders"],
        &["show", "orders", "1"],
    ] {
        let (text, _) = said(&server.url(), command);
        let is_clean = text.chars().all(|c| c == '\n' || !is_unprintable(c));
        assert!(is_clean && text.len() < 4_000, "{command:?}: {text:?}");
    }
    let (text, status) = said(&server.url(), &["export", "orders"]);
    assert!(text.len() > limits::MAX_BATCH_BYTES && status == 0);
    assert!(
        text.lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );

    server.freeze().unwrap();
    let (text, status) = said(&server.url(), &["why", "orders"]);
    server.thaw().unwrap();
    assert!(text.contains("redis.sock") && status == 2, "{text}");
}
