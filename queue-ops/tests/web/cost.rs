//! The cost of a page for the server: a bounded number of commands for any number of queues and messages.

use queue_core::{Push, ReliableQueueExt};
use redis::Connection;

use crate::site::Site;

/// The commands that the server has executed, also within scripts.
fn commands(admin: &mut Connection) -> u64 {
    let info: String = redis::cmd("INFO").arg("commandstats").query(admin).unwrap();
    let calls = info.lines().filter_map(|line| {
        line.split_once(":calls=")?
            .1
            .split(',')
            .next()?
            .parse::<u64>()
            .ok()
    });
    calls.sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_costs_the_same_with_ten_thousand_queues_and_many_messages() {
    let site = Site::start(&[]).await;
    let mut admin = site.server.connect().unwrap();
    let mut cost = |path: &str| {
        // Once before, so that scripts are loaded.
        site.get(path);
        let before = commands(&mut admin);
        assert_eq!(site.get(path).0, 200, "{path}");
        // Without the INFO of the second count.
        commands(&mut admin) - before - 1
    };
    let orders = site.queues.reliable::<String>("orders").await.unwrap();
    let batch: Vec<Push> = (0..128)
        .map(|order| Push::new(format!("order {order}")))
        .collect();
    let fill = async |times: usize| {
        for _ in 0..times {
            orders.queue().push(&batch).await.unwrap();
        }
    };
    let paths = [
        "/queues/orders",
        "/queues/orders/in/ready",
        "/queues/orders/messages/77",
        "/api/queues/orders",
        "/scale/orders",
    ];
    fill(1).await;
    let few: Vec<u64> = paths.iter().map(|path| cost(path)).collect();
    fill(800).await;
    let many: Vec<u64> = paths.iter().map(|path| cost(path)).collect();
    // Finding a message among packs takes some steps more: their number grows as the logarithm.
    for ((path, few), many) in paths.iter().zip(&few).zip(&many) {
        assert!(
            *many <= few + 100,
            "{path}: {few} commands, and with 100,000 messages {many}"
        );
    }

    let make = async |from: usize, to: usize| {
        for number in from..to {
            site.queues
                .reliable::<u64>(&format!("queue-{number:05}"))
                .await
                .unwrap();
        }
    };
    make(0, 200).await;
    let few = cost("/");
    make(200, 10_000).await;
    let many = cost("/");
    assert!(
        many <= few + 5,
        "the list: {few} commands, and with 10,000 queues {many}"
    );
    assert!(few < 100 * 60, "{few} commands for a page of 100 queues");
    assert!(orders.queue().push_one("one more").await.is_ok());
}
