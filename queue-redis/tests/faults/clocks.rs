//! The server's clock decides; a client's never does.

use std::time::Duration;

use queue_core::*;
use real_redis::Server;

use crate::{ground::connect, subject::Subject};

const HOUR: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(60);

/// A client's time cannot decide if no client sends it: no argument of any command is near the present.
#[tokio::test]
async fn no_client_sends_its_time() {
    let server = Server::start().expect("a server");
    let mut monitor = server.connect().expect("the server runs");
    let monitoring = redis::cmd("MONITOR").exec(&mut monitor);
    monitoring.expect("anybody may");
    let backend = connect(&server).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let push = Push::new("message").with_dedup("key", HOUR);
        let _ = queue.put_one(push).await.expect("put");
        let later = Push::new("later").with_due(HOUR);
        let _ = queue.put_one(later).await.expect("put");
        let leasing = queue.leasing();
        let delivery = leasing.receive_one(LEASE, HOUR).await.expect("receive");
        let receipt = delivery.expect("it is there").receipt;
        leasing.extend_one(receipt, LEASE).await.expect("extend");
        let retry = Settlement::retry(receipt, Duration::from_millis(1));
        let settled = leasing.settle_one(retry).await.expect("retry");
        assert_eq!(settled, Settled::Done);
        let delivery = leasing.receive_one(LEASE, HOUR).await.expect("receive");
        let delivery = delivery.expect("it comes back");
        leasing.ack(delivery.receipt).await.expect("ack");
    }
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

/// The commands that clients sent since the monitoring began, with quoted arguments. Commands of scripts
/// are left out.
fn sent(server: &Server, monitor: &mut redis::Connection) -> Vec<String> {
    const END: &str = "that-is-all";
    let echo = server.ask::<()>(&["ECHO", END]);
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
