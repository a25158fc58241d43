//! The server's clock decides; a client's never does.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use real_redis::Server;
use tokio::runtime::{Builder, Runtime};

use crate::{
    ground::{connect, within},
    subject::Subject,
};

const HOUR: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(60);

/// A runtime whose clock is so much ahead, and runs on from there.
fn runtime(ahead: Duration) -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        tokio::time::pause();
        tokio::time::advance(ahead).await;
        tokio::time::resume();
    });
    runtime
}

#[test]
fn clients_whose_clocks_differ_by_an_hour_agree() {
    let server = Server::start().expect("a server");
    let (early, late) = (runtime(Duration::ZERO), runtime(HOUR));
    for kind in QueueKind::LEASING {
        let ours = early.block_on(async {
            let backend = connect(&server).await;
            Subject::open(&*backend, kind).await.expect("opens")
        });
        let theirs = late.block_on(async {
            let backend = connect(&server).await;
            Subject::open(&*backend, kind).await.expect("opens")
        });
        for (holder, ours, other, theirs) in [
            (&early, &ours, &late, &theirs),
            (&late, &theirs, &early, &ours),
        ] {
            other.block_on(theirs.put_one("message")).expect("put");
            let max = NonZeroUsize::MIN;
            let leased = holder.block_on(ours.leasing().lease(max, LEASE));
            let leased = leased.expect("lease").deliveries;
            assert_eq!((leased.len(), leased[0].time_left), (1, LEASE));
            // For the other client the lease lives as long.
            let nothing = other.block_on(theirs.leasing().lease(max, LEASE));
            let nothing = nothing.expect("lease");
            assert!(nothing.is_empty(), "L1: {nothing:?}");
            let next = nothing.next.expect("the deadline");
            assert!(next <= LEASE && next > LEASE / 2, "{next:?}");
            // A receipt is worth as much in the other client's hands.
            let extended = other.block_on(theirs.leasing().extend_one(leased[0].receipt, LEASE));
            extended.expect("extend");
            other
                .block_on(theirs.leasing().ack(leased[0].receipt))
                .expect("ack");
        }
    }
}

#[test]
fn a_delay_is_the_same_on_any_clock() {
    let server = Server::start().expect("a server");
    let (early, late) = (runtime(Duration::ZERO), runtime(HOUR));
    let name = QueueName::new("delay").expect("a name");
    let open = || async {
        let backend = connect(&server).await;
        let config = DelayConfig::default();
        let queue = backend.open_delay(&name, &config);
        queue.await.expect("opens")
    };
    let (ours, theirs) = (early.block_on(open()), late.block_on(open()));
    for (pusher, pushing, taker, taking) in [
        (&early, &ours, &late, &theirs),
        (&late, &theirs, &early, &ours),
    ] {
        pusher
            .block_on(pushing.schedule_one("far", HOUR))
            .expect("schedule");
        let next = taker.block_on(taking.next_due()).expect("next due");
        let next = next.expect("one is scheduled");
        assert!(next <= HOUR && next > HOUR / 2, "{next:?}");
        let soon = Duration::from_millis(30);
        pusher
            .block_on(pushing.schedule_one("soon", soon))
            .expect("schedule");
        let receive = taking.receive_one(LEASE, HOUR);
        let delivery = taker.block_on(within("a due message", receive));
        let delivery = delivery.expect("receive").expect("it waits for an hour");
        assert_eq!(&delivery.body[..], b"soon");
        taker.block_on(taking.ack(delivery.receipt)).expect("ack");
        assert_eq!(taker.block_on(taking.purge_all()).expect("purge"), 1);
    }
}

/// A time that no client sends cannot decide: no argument of any command is near the present.
#[test]
fn no_client_sends_its_time() {
    let server = Server::start().expect("a server");
    let runtime = runtime(Duration::ZERO);
    let mut monitor = server.connect().expect("the server runs");
    let monitoring = redis::cmd("MONITOR").exec(&mut monitor);
    monitoring.expect("anybody may");
    runtime.block_on(async {
        let backend = connect(&server).await;
        for kind in QueueKind::LEASING {
            let queue = Subject::open(&*backend, kind).await.expect("opens");
            let push = Push::new("message").with_dedup("key", HOUR);
            queue.put_one(push).await.expect("put");
            let leasing = queue.leasing();
            let delivery = leasing.receive_one(LEASE, HOUR).await.expect("receive");
            let receipt = delivery.expect("it is there").receipt;
            leasing.extend_one(receipt, LEASE).await.expect("extend");
            let retry = Settlement::retry(receipt, Duration::from_millis(1));
            leasing.settle_one(retry).await.expect("retry");
            let delivery = leasing.receive_one(LEASE, HOUR).await.expect("receive");
            let delivery = delivery.expect("it comes back");
            leasing.ack(delivery.receipt).await.expect("ack");
        }
    });
    let sent = sent(&server, &mut monitor);
    assert!(sent.len() > 20, "{} commands", sent.len());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("after 1970").as_secs();
    for command in &sent {
        for word in command.split('"') {
            let Ok(number) = word.parse::<u64>() else {
                continue;
            };
            for unit in [1, 1_000, 1_000_000] {
                let sent = number / unit;
                assert!(
                    sent.abs_diff(now) > 7200,
                    "{number} looks like a time: {command}"
                );
            }
        }
    }
}

/// The commands that clients sent since the monitoring began, with their arguments in quotes,
/// without the commands of scripts.
fn sent(server: &Server, monitor: &mut redis::Connection) -> Vec<String> {
    const END: &str = "that-is-all";
    let mut admin = server.connect().expect("the server runs");
    let echo = redis::cmd("ECHO").arg(END).exec(&mut admin);
    echo.expect("the server answers");
    let mut sent = Vec::new();
    loop {
        let line = monitor.recv_response().expect("a line");
        let line: String = redis::from_redis_value(line).expect("text");
        // The sender follows the time: `1700000000.000000 [0 lua] "ZADD" …`.
        let (_, command) = line.split_once(" [").expect("a command");
        if command.contains(END) {
            return sent;
        }
        if !command.starts_with("0 lua]") {
            sent.push(command.to_owned());
        }
    }
}
