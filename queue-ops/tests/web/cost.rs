//! The cost of a page for the server: a bounded number of commands and bytes for any number of queues and messages.

use std::time::Duration;

use queue_core::{LeasingExt, Push};
use real_redis::{CommandCounts, command_counts};
use redis::Connection;

use crate::site::Site;

/// No sample is taken while requests are counted.
const UNSAMPLED: [&str; 2] = ["--every-ms", "86400000"];

const PATHS: [&str; 8] = [
    "/queues/orders",
    "/queues/orders/in/ready",
    "/queues/orders/messages/77",
    "/api/queues/orders",
    "/scale/orders",
    "/dead",
    "/workers",
    "/queues/orders/dead?reason=x",
];

/// The work of the server so far.
struct Spent {
    commands: CommandCounts,
    sent: u64,
    cpu: f64,
}

fn info<T: std::str::FromStr>(admin: &mut Connection, section: &str, field: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    let info: String = redis::cmd("INFO").arg(section).query(admin).unwrap();
    let mut lines = info.lines();
    let value = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    value.expect(field).trim().parse().expect(field)
}

impl Spent {
    fn now(admin: &mut Connection) -> Self {
        Self {
            sent: info(admin, "stats", "total_net_output_bytes"),
            cpu: info::<f64>(admin, "cpu", "used_cpu_user_main_thread")
                + info::<f64>(admin, "cpu", "used_cpu_sys_main_thread"),
            commands: command_counts(admin).unwrap(),
        }
    }
}

/// The commands that a page costs, also within scripts, and the bytes that the server sends.
fn cost(site: &Site, admin: &mut Connection, path: &str) -> (u64, u64) {
    // Once before, so that scripts are loaded.
    site.get(path);
    let before = Spent::now(admin);
    assert_eq!(site.get(path).0, 200, "{path}");
    let after = Spent::now(admin);
    (
        after.commands.since(&before.commands).all(),
        after.sent - before.sent,
    )
}

async fn fill(site: &Site, batches: usize) {
    let orders = site
        .queues
        .reliable("orders")
        .open::<String>()
        .await
        .unwrap();
    let batch: Vec<Push> = (0..128)
        .map(|order| Push::new(format!("order {order}")))
        .collect();
    for _ in 0..batches {
        orders.queue().push(&batch).await.unwrap();
    }
}

async fn make_queues(site: &Site, from: usize, to: usize) {
    for number in from..to {
        let name = format!("queue-{number:05}");
        let queue = site.queues.reliable(&name).open::<u64>().await.unwrap();
        queue
            .queue()
            .push_one(Push::new("1"))
            .await
            .unwrap()
            .id()
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_costs_the_same_with_ten_thousand_queues_and_many_messages() {
    let site = Site::start(&UNSAMPLED).await;
    let mut admin = site.server.connect().unwrap();
    fill(&site, 1).await;
    let few = PATHS.map(|path| cost(&site, &mut admin, path));
    fill(&site, 800).await;
    let many = PATHS.map(|path| cost(&site, &mut admin, path));
    // Finding a message among packs takes some steps more: their number grows as the logarithm.
    for ((path, few), many) in PATHS.iter().zip(few).zip(many) {
        let grown = many.0 > few.0 + 100 || many.1 > few.1 + 2_000;
        assert!(
            !grown,
            "{path}: {few:?}, and with 100,000 messages {many:?}"
        );
        assert!(many.1 < 100_000, "{path}: {many:?}");
    }

    // The last sample is too old to be shown, so the list is read: a page of it, or a thousand for a search.
    tokio::time::sleep(Duration::from_secs(61)).await;
    make_queues(&site, 0, 1_200).await;
    let lists = ["/", "/?search=1&sort=ready"];
    let few = lists.map(|path| cost(&site, &mut admin, path));
    make_queues(&site, 1_200, 10_000).await;
    let many = lists.map(|path| cost(&site, &mut admin, path));
    for ((few, many), queues) in few.iter().zip(many).zip([100, 1_000]) {
        let grown = many.0 > few.0 + 5 || many.1 > few.1 + queues * 20;
        assert!(!grown, "the list: {few:?}, and with 10,000 queues {many:?}");
        assert!(few.0 < queues * 60, "{few:?} for {queues} queues");
    }
    // A list of samples costs the server nothing.
    let sampled = site.another(&["--every-ms", "20000"]);
    let list = format!("{}/?search=1&sort=ready", sampled.url);
    let read = || {
        let mut answer = site.agent.get(&list).call().expect("an answer");
        answer.body_mut().read_to_string().expect("text")
    };
    let begun = std::time::Instant::now();
    while !read().contains("As sampled") {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "not all are sampled"
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let before = Spent::now(&mut admin);
    assert!(
        read().contains("Page 1 of 35"),
        "of 10,000 names, 3,439 have a 1"
    );
    let after = Spent::now(&mut admin);
    let spent = after.commands.since(&before.commands).all();
    assert!(spent <= 2, "{spent} commands");
}

/// Prints what each page costs the server: `cargo test -p queue-ops --all-features --test web -- --ignored pages_take`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures, on a machine that is idle otherwise"]
async fn how_long_pages_take() {
    const TIMES: u32 = 50;
    let site = Site::start(&UNSAMPLED).await;
    let mut admin = site.server.connect().unwrap();
    fill(&site, 7_900).await;
    make_queues(&site, 0, 10_000).await;
    println!("10,000 queues, a million messages: milliseconds of the server, commands, bytes");
    for path in PATHS.iter().chain(&["/", "/api/queues"]) {
        let (commands, bytes) = cost(&site, &mut admin, path);
        let before = Spent::now(&mut admin).cpu;
        for _ in 0..TIMES {
            site.get(path);
        }
        let millis = (Spent::now(&mut admin).cpu - before) * 1_000.0 / f64::from(TIMES);
        println!("{path:30} {millis:6.2} {commands:6} {bytes:8}");
    }
}
