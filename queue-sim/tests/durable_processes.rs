//! Durable jobs in real processes on a real server: the processes are killed again and again, and a file accounts for
//! each effect. `QUEUE_TEST_KILLING=600` kills for ten minutes.

#![cfg(unix)]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File, OpenOptions},
    io::Write,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use queue_core::{Jobs, Json, Priority, Queues, Reliable, limits};
use queue_redis::RedisBackend;
use queue_testing::until::within;
use queue_worker::{Batch, BatchReport, Context, Failure, Output, Router, Worker, batches};
use real_redis::Server;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

/// How long the processes are killed, in seconds.
const KILLING: &str = "QUEUE_TEST_KILLING";
const URL: &str = "QUEUE_SIM_TEST_URL";
const FILE: &str = "QUEUE_SIM_TEST_LEDGER";

const LEASE: Duration = Duration::from_millis(500);
const HOUR: Duration = Duration::from_secs(3600);
const LINES: u64 = 20;
/// The line whose mail cannot be sent.
const BAD: u64 = 7;
/// Orders that are under way at a time.
const AT_ONCE: u64 = 40;

#[derive(Debug, Serialize, Deserialize)]
struct Order(u64);

#[derive(Debug, Serialize, Deserialize)]
struct Mail {
    order: u64,
    line: u64,
}

/// The queues of the shop.
#[derive(Clone)]
struct Shop {
    queues: Queues,
    orders: Reliable<Order>,
    mails: Priority<Mail>,
    batches: Reliable<Jobs>,
    reports: Reliable<Order>,
}

impl Shop {
    async fn open(url: &str) -> Self {
        let queues = Queues::new(RedisBackend::connect(url).await.expect("connects"));
        Self {
            // A process that is killed costs an attempt.
            orders: queues
                .reliable("orders")
                .max_attempts(10_000)
                .open()
                .await
                .expect("opens"),
            mails: queues
                .priority("mails")
                .max_attempts(10_000)
                .open()
                .await
                .expect("opens"),
            batches: queues
                .reliable("batches")
                .max_attempts(10_000)
                .open()
                .await
                .expect("opens"),
            reports: queues
                .reliable("reports")
                .max_attempts(10_000)
                .open()
                .await
                .expect("opens"),
            queues,
        }
    }

    /// Messages that are not done.
    async fn open_messages(&self) -> u64 {
        let orders = self.orders.queue().depth().await.expect("a depth");
        let mails = self.mails.queue().depth().await.expect("a depth");
        let batches = self.batches.queue().depth().await.expect("a depth");
        let reports = self.reports.queue().depth().await.expect("a depth");
        [orders, mails, batches, reports]
            .iter()
            .map(|depth| depth.occupied())
            .sum()
    }
}

/// Effects outside of the queues: each is one line of a file, which is written at once.
#[derive(Clone)]
struct Effects(std::sync::Arc<File>);

impl Effects {
    fn at(path: &str) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(path);
        Self(std::sync::Arc::new(file.expect("the ledger opens")))
    }

    fn note(&self, what: &str) {
        (&*self.0)
            .write_all(format!("{what}\n").as_bytes())
            .expect("a line");
    }
}

/// Charges an order, and hands its mails and its report over to a batch.
async fn fulfil(shop: Shop, effects: Effects, order: u64, cx: Context) -> Result<(), Failure> {
    let token = cx.token();
    let charge = cx.step("charge", || async {
        effects.note(&format!("charge {order} {token}"));
        Ok::<_, Failure>(order + 1)
    });
    assert_eq!(charge.await?, order + 1);
    effects.note(&format!("charged {order} {token}"));
    cx.sleep("nap", Duration::from_millis(100)).await?;
    let mails = (0..LINES).map(|line| Mail { order, line });
    let batch = Batch::new(order.to_string()).jobs(&shop.mails, mails)?;
    let batch = batch.then(&shop.reports, [Order(order)])?;
    let batch = cx.spawn("batch", &shop.batches, [batch]).await?;
    let joined = cx.join(&batch).await?;
    assert_eq!(joined.dead(), 0, "{joined:?}");
    let reports = cx.results::<BatchReport>(&batch).await?;
    let report = Json::write(&reports[0])?;
    effects.note(&format!(
        "fulfilled {order} {}",
        String::from_utf8_lossy(&report)
    ));
    Ok(())
}

/// The process that the test starts and kills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the test below starts it"]
async fn a_durable_worker() {
    let variable = |name| env::var(name).expect("run by the test, not by hand");
    let shop = Shop::open(&variable(URL)).await;
    let effects = Effects::at(&variable(FILE));
    let fulfil = {
        let (shop, effects) = (shop.clone(), effects.clone());
        move |Order(order), cx| fulfil(shop.clone(), effects.clone(), order, cx)
    };
    let send = {
        let effects = effects.clone();
        move |mail: Mail, cx: Context| {
            let effects = effects.clone();
            async move {
                sleep(Duration::from_millis(3)).await;
                if mail.line == BAD {
                    return Err(Failure::bury("no address"));
                }
                effects.note(&format!("mail {} {} {}", mail.order, mail.line, cx.id()));
                Ok(Output(mail.line))
            }
        }
    };
    let report = move |Order(order): Order, cx: Context| {
        let report = BatchReport::of(cx.headers()).expect("a report");
        effects.note(&format!(
            "report {order} {} {} {}",
            cx.id(),
            report.done,
            report.dead
        ));
        async {}
    };
    let keep = limits::DEFAULT_RESULTS;
    let router = Router::new().on(batches(shop.queues.clone()));
    let jobs = Worker::new(shop.batches)
        .lease(LEASE)
        .concurrency(8)
        .keep_results(HOUR, keep);
    let _ = tokio::join!(
        Worker::new(shop.orders)
            .lease(LEASE)
            .concurrency(8)
            .run(fulfil),
        Worker::new(shop.mails)
            .lease(LEASE)
            .concurrency(8)
            .keep_results(HOUR, keep)
            .run(send),
        jobs.router(router).run(),
        Worker::new(shop.reports).lease(LEASE).run(report),
    );
}

/// A process that is killed when this is dropped.
struct Process(Child);

impl Process {
    fn start(server: &Server, ledger: &str) -> Self {
        let child = Command::new(env::current_exe().expect("this program"))
            .args(["--exact", "a_durable_worker", "--ignored", "--nocapture"])
            .env(URL, server.url())
            .env(FILE, ledger)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("the worker starts"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().expect("it is a child of ours");
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_processes_lose_and_double_nothing() {
    let killing = env::var(KILLING).map_or(4, |seconds| seconds.parse().expect("seconds"));
    let server = Server::start().expect("a server");
    let shop = Shop::open(&server.url()).await;
    let ledger = env::temp_dir().join(format!("durable-{}", std::process::id()));
    let ledger = ledger.to_str().expect("a path").to_owned();
    let _file = Removed(PathBuf::from(&ledger));
    let mut processes = [
        Process::start(&server, &ledger),
        Process::start(&server, &ledger),
    ];

    let begin = Instant::now();
    let (mut pushed, mut kills) = (0, 0);
    while begin.elapsed() < Duration::from_secs(killing) {
        while shop
            .orders
            .queue()
            .depth()
            .await
            .expect("a depth")
            .occupied()
            < AT_ONCE
        {
            pushed += 1;
            shop.orders.push(&Order(pushed)).await.expect("pushes");
        }
        // Times that are not a multiple of anything that the workers wait for.
        sleep(Duration::from_millis(150 + kills * 37 % 700)).await;
        processes[(kills % 2) as usize] = Process::start(&server, &ledger);
        kills += 1;
    }
    within("the end of all orders", async {
        while shop.open_messages().await > 0 {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    drop(processes);
    let lines = fs::read_to_string(&ledger).expect("the ledger");
    let account = Account::of(&lines);
    account.check(pushed);
    println!(
        "{pushed} orders, {kills} kills, {} lines",
        lines.lines().count()
    );
    let mails = shop.mails.queue().counters().await.expect("counters");
    assert_eq!((mails.accepted, mails.died), (pushed * LINES, pushed));
    let reports = shop.reports.queue().counters().await.expect("counters");
    assert_eq!((reports.accepted, reports.acked), (pushed, pushed));
}

struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The effects in the file.
#[derive(Debug, Default)]
struct Account {
    /// The tokens of the deliveries that charged an order, and that knew it to be charged.
    charges: BTreeMap<u64, Vec<u64>>,
    charged: BTreeMap<u64, u64>,
    /// The messages with which a mail was sent.
    mails: BTreeMap<(u64, u64), BTreeSet<u64>>,
    /// The messages with which an order was reported.
    reports: BTreeMap<u64, BTreeSet<u64>>,
    fulfilled: BTreeSet<u64>,
    /// Mails that were sent when the order was reported first.
    sent_before: BTreeMap<u64, usize>,
}

impl Account {
    fn of(lines: &str) -> Self {
        let mut account = Self::default();
        for line in lines.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| -> u64 { words[at].parse().expect("a number") };
            let order = number(1);
            match words[0] {
                "charge" => account.charges.entry(order).or_default().push(number(2)),
                "charged" => {
                    let first = account.charged.entry(order).or_insert(u64::MAX);
                    *first = number(2).min(*first);
                }
                "mail" => {
                    account
                        .mails
                        .entry((order, number(2)))
                        .or_default()
                        .insert(number(3));
                }
                "report" => {
                    account.reports.entry(order).or_default().insert(number(2));
                    assert_eq!((number(3), number(4)), (LINES - 1, 1), "{line}");
                    let sent = account.mails.range((order, 0)..(order, LINES)).count();
                    account.sent_before.entry(order).or_insert(sent);
                }
                "fulfilled" => {
                    account.fulfilled.insert(order);
                }
                other => panic!("the ledger says {other:?}"),
            }
        }
        account
    }

    fn check(&self, orders: u64) {
        for order in 1..=orders {
            let stored = self.charged[&order];
            let late = self.charges[&order].iter().find(|token| **token > stored);
            assert_eq!(
                late, None,
                "W1: order {order} was charged again after {stored}"
            );
            for line in (0..LINES).filter(|line| *line != BAD) {
                let messages = &self.mails[&(order, line)];
                assert_eq!(
                    messages.len(),
                    1,
                    "W3: order {order}, mail {line}: {messages:?}"
                );
            }
            assert_eq!(
                self.reports[&order].len(),
                1,
                "W3: order {order} has one callback"
            );
            let sent = self.sent_before[&order];
            assert_eq!(
                sent as u64,
                LINES - 1,
                "W4: order {order} was reported after all mails"
            );
            assert!(
                self.fulfilled.contains(&order),
                "order {order} was fulfilled"
            );
        }
    }
}
