//! Workers that keep times, and that operators ask, on real servers and in the browser.

use std::time::Duration;

use queue_core::{
    OperatorsList, Queues, TimesMinute, TimesRecord, WorkerState, WorkerWish, ask_worker,
    job_times, workers,
};
use queue_redis::RedisBackend;
use queue_worker::{Context, Report, Worker};
use real_redis::{Cluster, Server};
use tokio::time::{Instant, sleep};

use crate::{
    browser::{FAULTS, open_with_style, press, sign_in, until},
    driver::Driver,
    site::{Site, TOKEN, token_file},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A worker that keeps times, on twenty jobs of the queue `mails`, until it is drained.
async fn work(queues: Queues) -> Report {
    let mails = queues.reliable("mails").open::<u64>().await.unwrap();
    mails.push_all(&[7; 20]).await.unwrap();
    let worker = Worker::new(mails).concurrency(4).holder("web-1");
    let worker = worker.register(&queues, "shop 1.4").keep_times();
    let handler = |_: u64, _: Context| sleep(Duration::from_millis(20));
    worker.run(handler).await.unwrap()
}

/// Waits until the only worker is in this state. Returns its key.
async fn in_state(queues: &Queues, state: WorkerState) -> String {
    let begun = Instant::now();
    loop {
        let listed = workers(&**queues.backend()).await.unwrap();
        if let [one] = &listed[..]
            && one.record.state == state
            && one.record.asked.is_none()
        {
            return one.record.key.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "{state:?}: {listed:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

async fn play(queues: &Queues) {
    let backend = &**queues.backend();
    let working = tokio::spawn(work(queues.clone()));
    let key = in_state(queues, WorkerState::Works).await;
    ask_worker(backend, &key, WorkerWish::Quiet).await.unwrap();
    in_state(queues, WorkerState::Quiet).await;
    ask_worker(backend, &key, WorkerWish::Drain).await.unwrap();
    let report = tokio::time::timeout(PATIENCE, working).await;
    let report = report.expect("it drains").unwrap();
    assert!(report.drained && report.counts.acked == 20, "{report:?}");
    assert_eq!(
        workers(backend).await.unwrap(),
        [],
        "it took itself off the list"
    );
    let times = job_times(backend).await.unwrap();
    let handled = times[0].minutes.iter().map(|minute| minute.handled);
    assert_eq!((times.len(), handled.sum::<u64>()), (1, 20), "{times:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_keeps_times_and_obeys_on_a_server() {
    let server = Server::start().unwrap();
    play(&Queues::new(
        RedisBackend::connect(&server.url()).await.unwrap(),
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_keeps_times_and_obeys_on_a_cluster() {
    let cluster = Cluster::start(3, 0, Server::builder()).unwrap();
    play(&Queues::new(
        RedisBackend::connect(&cluster.url()).await.unwrap(),
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_sees_the_times_of_jobs_and_drains_their_worker() {
    let token = token_file(TOKEN).display().to_string();
    let site = Site::start(&["--token-file", &token, "--every-ms", "500"]).await;
    let driver = Driver::start();
    let working = tokio::spawn(work(site.queues.clone()));
    let browser = driver.browser(360, true);
    open_with_style(&browser, &site, "/queues/mails");
    // An open page gets the charts when the times are there.
    until(&browser, "Jobs of the last hour").await;
    until(&browser, "20 handled").await;
    let faults = browser.ask(FAULTS);
    assert_eq!(faults.as_array().map(Vec::len), Some(0), "{faults:#}");
    sign_in(&browser, &site).await;
    open_with_style(&browser, &site, "/workers");
    press(&browser, "Make it quiet").await;
    until(&browser, "Let it work").await;
    let faults = browser.ask(FAULTS);
    assert_eq!(faults.as_array().map(Vec::len), Some(0), "{faults:#}");
    press(&browser, "Drain it").await;
    until(&browser, "No worker registers").await;
    assert!(working.await.unwrap().drained);
}

/// The times of two types of jobs in an hour, as a worker would have written them.
pub(crate) async fn write_an_hour(queues: &Queues, queue: &str) {
    let mut records = Vec::new();
    for (job, share, millis) in [("send-receipt", 60, 40), ("render-invoice", 9, 700)] {
        let mut record = TimesRecord::new(queue.to_owned(), Some(job.to_owned()));
        record.last_ms = 60_000;
        for ago in 0..60_u64 {
            let wave = (f64::from(ago as u32) / 7.0).sin();
            let mut minute = TimesMinute::default();
            minute.handled = (f64::from(share) * wave.mul_add(0.4, 1.0)) as u64 * 10;
            minute.failed = minute.handled / 50 + u64::from(ago == 22) * minute.handled / 3;
            for nth in 0..minute.handled {
                let slow = if nth % 17 == 0 { 5 } else { 1 };
                let time = Duration::from_millis(millis * slow).mul_f64(wave.mul_add(0.3, 1.0));
                minute.handler.note(time);
                minute.wait.note(time * 2 + Duration::from_millis(nth % 90));
            }
            record.minutes.push((ago, minute));
        }
        records.push((job.to_owned(), record));
    }
    let list = OperatorsList::open(&**queues.backend()).await.unwrap();
    let _ = list.write(&records).await.unwrap();
}
