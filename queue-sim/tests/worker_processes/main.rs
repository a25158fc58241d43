//! Workers as processes on a real server: killed in mid-job, stopped under load, and with the
//! server restarted under them.

#![cfg(unix)]

mod child;
#[path = "../support/ledger.rs"]
#[allow(dead_code, reason = "each program uses a part")]
mod ledger;
mod process;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use queue_redis::RedisBackend;
use queue_testing::until::within;
use real_redis::{Aof, Server};
use tokio::time::{Instant, sleep};

use self::{
    child::{HOLD, NAME},
    ledger::Ledger,
    process::{Said, WorkerProcess},
};

/// Longer than a busy machine takes for an answer: no timeout has to pass here.
const PATIENCE: Duration = Duration::from_secs(60);

/// How late another worker may take a message over on a busy machine; the test prints the actual time.
const SLACK: Duration = Duration::from_secs(30);

async fn connect(url: &str) -> Arc<dyn Backend> {
    let builder = RedisBackend::builder(url).expect("a good URL");
    let builder = builder.connect_timeout(PATIENCE).response_timeout(PATIENCE);
    Arc::new(builder.connect().await.expect("the server takes us"))
}

/// A server with a queue of jobs, and the account of it.
struct Shop {
    server: Server,
    jobs: Reliable<String>,
    ledger: Arc<Ledger>,
    /// The number of the next worker.
    workers: AtomicUsize,
}

impl Shop {
    async fn on(server: Server) -> Self {
        let backend = connect(&server.url()).await;
        let (name, kind) = (NAME.parse().expect("a name"), QueueKind::Reliable);
        let config = ReliableConfig::default().into();
        let ledger = Ledger::new(name, config, backend.guarantees(kind), Counters::default());
        let queues = Queues::new(Layered::new(ledger.recorder(0), backend));
        Self {
            server,
            jobs: queues.reliable(NAME).open().await.expect("opens"),
            ledger: Arc::new(ledger),
            workers: AtomicUsize::new(1),
        }
    }

    async fn start() -> Self {
        Self::on(Server::start().expect("a server")).await
    }

    async fn counters(&self) -> Counters {
        let counters = self.jobs.queue().counters().await;
        counters.expect("counters")
    }

    /// Waits until no message is ready, delayed or leased.
    async fn empty(&self) {
        within("an empty queue", async {
            while self.jobs.queue().depth().await.expect("a depth").occupied() > 0 {
                sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

/// The worker's process has made the queue. This one knows only its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_of_another_process_is_reconfigured_while_that_works() {
    let shop = Shop::start().await;
    let mut worker = WorkerProcess::start_bold(&shop, 1, Duration::from_secs(30));
    assert_eq!(worker.said().await, Said::Ready);
    let queues = Queues::from(connect(&shop.server.url()).await);
    let ten = 10.try_into().expect("not zero");
    let listed = queues.backend().queues(None, ten).await.expect("lists");
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].name.as_str(), NAME);
    assert_eq!(listed[0].counters, Some(Counters::default()));

    let stored = queues.stored(NAME).await.expect("an answer");
    let stored = stored.expect("it is there");
    assert_eq!(stored.config, ReliableConfig::default().into());
    let config = ReliableConfig::default().with_max_attempts(1);
    let changed = queues.reconfigure(NAME, config).await;
    assert!(changed.expect("it may change"));

    // A body that the worker cannot decode fails once, and its message dies.
    let pushes = [Push::new("no JSON"), Push::new("\"a job\"")];
    stored.queue.put(&pushes).await.expect("pushes");
    let leasing = stored.queue.leasing().expect("it leases");
    let letter = within("a death", async {
        loop {
            let page = leasing.dead_letters(Page::first(10)).await;
            if let Some(letter) = page.expect("lists").entries.pop() {
                return letter;
            }
            sleep(Duration::from_millis(5)).await;
        }
    });
    let letter = letter.await;
    assert_eq!((letter.id.get(), letter.attempts), (1, 1));
    assert_eq!(letter.reason, DeathReason::Retried);
    assert!(letter.why().contains("cannot decode"), "{}", letter.why());
    while !matches!(worker.said().await, Said::Acked { .. }) {}
    let report = worker.stop().await;
    assert_eq!((report["acked"], report["errors"]), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_a_killed_worker_are_taken_over_when_their_leases_end() {
    const LEASE: Duration = Duration::from_secs(2);
    let shop = Shop::start().await;
    let held = vec![HOLD.to_owned(); 4];
    shop.jobs.push_all(&held).await.expect("pushes");

    let mut first = WorkerProcess::start(&shop, 4, LEASE);
    assert_eq!(first.said().await, Said::Ready);
    let mut at_work = BTreeSet::new();
    while at_work.len() < held.len() {
        match first.said().await {
            Said::Leased { id, attempt: 1 } => at_work.insert(id),
            other => panic!("{other:?}"),
        };
    }
    let mut second = WorkerProcess::start_bold(&shop, 4, LEASE);
    assert_eq!(second.said().await, Said::Ready);
    assert_eq!(shop.counters().await.depth.leased, 4);
    first.kill().await;
    let died = Instant::now();

    let mut done = BTreeSet::new();
    let mut worst = Duration::ZERO;
    while done.len() < held.len() {
        match second.said().await {
            Said::Leased { id, attempt } => {
                assert!(at_work.contains(&id));
                assert_eq!(attempt, 2, "the killed worker's attempt counts");
                worst = worst.max(died.elapsed());
            }
            Said::Acked { id } => assert!(done.insert(id)),
            other => panic!("{other:?}"),
        }
    }
    println!("a lease of {LEASE:?}, taken over after {worst:?}");
    assert!(worst <= LEASE + SLACK, "taken over after {worst:?}");
    shop.empty().await;
    let report = second.stop().await;
    assert_eq!((report["acked"], report["lost"]), (4, 0));
    let end = shop.counters().await;
    assert_eq!((end.expired, end.acked, end.died), (4, 4, 0));
    shop.ledger.judge();
}

/// Each worker is killed in mid-job, with more jobs on their way to it and from it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_message_is_in_one_place_after_any_number_of_kills() {
    const KILLS: usize = 40;
    const LEASE: Duration = Duration::from_millis(300);
    let shop = Shop::start().await;
    let batch = vec!["job".to_owned(); 100];
    for kill in 0..KILLS {
        // A worker goes on until it is killed, so it may have done all that was there.
        shop.jobs.push_all(&batch).await.expect("pushes");
        let mut worker = WorkerProcess::start_bold(&shop, 8, LEASE);
        let mut left = 1 + kill % 20;
        while left > 0 {
            left -= usize::from(matches!(worker.said().await, Said::Acked { .. }));
        }
        worker.kill().await;
        shop.counters().await;
    }
    let mut last = WorkerProcess::start_bold(&shop, 8, LEASE);
    shop.empty().await;
    last.stop().await;
    let end = shop.counters().await;
    let dead = shop.jobs.queue().dead_letters(Page::first(1_000)).await;
    assert_eq!(end.died, dead.expect("lists").entries.len() as u64);
    assert!(end.expired > 0, "the kills left leases behind: {end:?}");
    shop.ledger.judge();
    let leaks: Option<Vec<String>> = shop
        .server
        .ask(&["EVAL", queue_redis::leak_finder(), "0", "qk"])
        .expect("it answers");
    assert_eq!(leaks, Some(Vec::new()));
}

/// Pushes until `stop` is set, and a little longer. Repeats a push of an unknown outcome under the same key.
async fn produce(jobs: Reliable<String>, stop: Arc<AtomicBool>) {
    let mut number = 0;
    let mut last = false;
    while !last {
        last = stop.load(Ordering::SeqCst);
        let job = number.to_string();
        let message = jobs.message(&job).dedup(job, Duration::from_secs(600));
        match message.send().await {
            Ok(_) => number += 1,
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sigterm_under_load_spends_no_attempt_and_loses_nothing() {
    const LEASE: Duration = Duration::from_secs(600);
    let shop = Shop::start().await;
    let held = shop.jobs.push_all(&vec![HOLD.to_owned(); 4]).await;
    held.expect("pushes");
    let stop = Arc::new(AtomicBool::new(false));
    let producer = tokio::spawn(produce(shop.jobs.clone(), Arc::clone(&stop)));

    let mut first = WorkerProcess::start(&shop, 16, LEASE);
    let mut handled: BTreeMap<MessageId, u32> = BTreeMap::new();
    let mut note = |said: Said| match said {
        Said::Acked { id } => *handled.entry(id).or_default() += 1,
        Said::Leased { attempt, .. } => assert_eq!(attempt, 1),
        Said::Ready | Said::Released => {}
        other @ Said::Over => panic!("{other:?}"),
    };
    let mut done = 0;
    while done < 200 {
        let said = first.said().await;
        done += u32::from(matches!(said, Said::Acked { .. }));
        note(said);
    }
    first.ask_to_stop();
    loop {
        match first.said().await {
            Said::Over => break,
            said => note(said),
        }
    }
    let report = first.report().await;
    stop.store(true, Ordering::SeqCst);
    within("the producer", producer).await.expect("no panic");

    let middle = shop.counters().await;
    assert_eq!(middle.depth.leased, 0, "it left nothing leased");
    assert_eq!(middle.acked, report["acked"]);
    assert_eq!(middle.released, report["released"]);
    assert!(middle.released >= 4, "those that did not end: {middle:?}");
    assert_eq!((middle.retried, middle.expired, middle.died), (0, 0, 0));
    assert_eq!(report["drained"], 0, "some had to be stopped");

    let mut second = WorkerProcess::start_bold(&shop, 16, LEASE);
    within("the rest", async {
        let mut left = middle.accepted - middle.acked;
        while left > 0 {
            let said = second.said().await;
            left -= u64::from(matches!(said, Said::Acked { .. }));
            note(said);
        }
    })
    .await;
    shop.empty().await;
    let report = second.stop().await;
    assert_eq!(report["drained"], 1);
    let end = shop.counters().await;
    assert_eq!(handled.len() as u64, end.accepted);
    assert!(handled.values().all(|times| *times == 1), "each ended once");
    assert_eq!((end.retried, end.expired, end.died), (0, 0, 0));
    shop.ledger.judge();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_continues_when_its_server_is_back() {
    const LEASE: Duration = Duration::from_secs(2);
    let builder = Server::builder().with_aof(Aof::BySystem);
    let shop = Shop::on(builder.start().expect("a server")).await;
    let server = &shop.server;
    let stop = Arc::new(AtomicBool::new(false));
    let producer = tokio::spawn(produce(shop.jobs.clone(), Arc::clone(&stop)));
    let mut worker = WorkerProcess::start(&shop, 8, LEASE);
    for crash in [true, false, true] {
        flows(&mut worker).await;
        if crash {
            server.kill().expect("it ran");
            server.start_again().expect("it starts from its file");
        } else {
            server.restart().expect("it restarts");
        }
        let back = Instant::now();
        // Lines from before the server's end are still in the pipe.
        worker.forget();
        flows(&mut worker).await;
        println!(
            "work goes on, 50 are done {:?} after the server is back",
            back.elapsed()
        );
    }
    stop.store(true, Ordering::SeqCst);
    within("the producer", producer).await.expect("no panic");
    shop.empty().await;
    let report = worker.stop().await;
    assert_eq!(report["drained"], 1, "it stopped in order: {report:?}");
    assert_eq!(shop.counters().await.died, 0);
    shop.ledger.judge();
}

/// Waits until 50 more messages are done.
async fn flows(worker: &mut WorkerProcess) {
    let mut done = 0;
    while done < 50 {
        done += u32::from(matches!(worker.said().await, Said::Acked { .. }));
    }
}

#[test]
#[ignore = "run by the tests, in processes of their own"]
fn a_worker_process() {
    child::run();
}
