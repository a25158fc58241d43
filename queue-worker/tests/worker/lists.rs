//! What a worker writes for operators, and what it does when they ask: the calls that it makes for that.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    call::{Answer, Call, Layer, Service},
    *,
};
use queue_memory::MemoryBackend;
use queue_worker::*;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::environment::{Environment, HOUR, MILLI, SECOND};

#[derive(Serialize, Deserialize)]
struct Fast;
impl Job for Fast {
    const NAME: &'static str = "fast";
}

#[derive(Serialize, Deserialize)]
struct Slow;
impl Job for Slow {
    const NAME: &'static str = "slow";
}

/// Counts the calls to each list.
#[derive(Debug, Default, Clone)]
struct Counting(Arc<Mutex<BTreeMap<String, u64>>>);

#[async_trait]
impl Layer for Counting {
    async fn call(&self, queue: &QueueName, to: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        *self.0.lock().unwrap().entry(queue.to_string()).or_default() += 1;
        to.call(call).await
    }
}

/// A backend for the lists, with the counts of its calls.
fn counted() -> (Queues, Counting) {
    let counting = Counting::default();
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let layered = Layered::new(counting.clone(), backend);
    (
        Queues::from(Arc::new(layered) as Arc<dyn Backend>),
        counting,
    )
}

impl Counting {
    fn take(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut *self.0.lock().unwrap())
            .into_iter()
            .collect()
    }
}

async fn key(queues: &Queues) -> String {
    let listed = workers(&**queues.backend()).await.unwrap();
    listed[0].record.key.clone()
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_times_and_wishes_makes_one_call_a_beat() {
    let environment = Environment::holding(500).await;
    let (queues, counting) = counted();
    let worker = environment.worker().register(&queues, "shop 1");
    let minute = sleep(59 * SECOND);
    let report = worker
        .run_until(minute, |_: u64, _| sleep(100 * MILLI))
        .await
        .unwrap();
    assert_eq!(report.counts.acked, 500);
    // Six beats, and the last one takes it off the list.
    assert_eq!(counting.take(), [("qk-workers".to_owned(), 7)]);
}

#[tokio::test(start_paused = true)]
async fn times_cost_a_call_more_at_each_beat_after_which_something_ended() {
    let environment = Environment::new().await;
    let (queues, counting) = counted();
    let worker = environment.worker().named("jobs").concurrency(20);
    let worker = worker.register(&queues, "shop 1").keep_times();
    let steps = async {
        // Nothing ended yet: no call.
        sleep(15 * SECOND).await;
        assert_eq!(counting.take(), [("qk-workers".to_owned(), 2)]);
        environment.push(100).await;
        sleep(60 * SECOND).await;
        // One beat has seen them all.
        let calls = [("qk-times".to_owned(), 1), ("qk-workers".to_owned(), 6)];
        assert_eq!(counting.take(), calls);
        environment.push(10).await;
        environment.empty().await;
    };
    let handler = async |number: u64, _: Context| {
        sleep(200 * MILLI).await;
        match number % 10 {
            9 => Err(Failure::bury("no article")),
            _ => Ok(()),
        }
    };
    worker.run_until(steps, handler).await.unwrap();
    // What ended after the last beat is written at the end.
    let jobs = job_times(&**queues.backend()).await.unwrap();
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((&*job.queue, &job.job), ("jobs", &None));
    let sum = |of: fn(&TimesMinute) -> u64| job.minutes.iter().map(of).sum::<u64>();
    assert_eq!(
        (sum(|minute| minute.handled), sum(|minute| minute.failed)),
        (110, 11)
    );
    // A worker's minute counts as the one that has its middle, so the first has the last one as well.
    let minute = &job.minutes[0];
    assert_eq!((job.minutes.len(), minute.handled), (60, 110));
    let p50 = minute.handler.quantile(0.5).unwrap();
    assert!((150 * MILLI..300 * MILLI).contains(&p50), "{p50:?}");
    // The fifth batch waited for four others.
    let p95 = minute.wait.quantile(0.95).unwrap();
    assert!((500 * MILLI..1_100 * MILLI).contains(&p95), "{p95:?}");
    let size = counting_bytes(&queues).await;
    assert!(size < 300, "{size} bytes of two minutes");
    // They stay for an hour after the last beat.
    sleep(HOUR - 60 * SECOND).await;
    assert_eq!(job_times(&**queues.backend()).await.unwrap().len(), 1);
    sleep(120 * SECOND).await;
    assert_eq!(job_times(&**queues.backend()).await.unwrap(), []);
}

/// An hour in which jobs end all the time is as large as a record gets for a program whose jobs take alike.
#[tokio::test(start_paused = true)]
async fn an_hour_of_times_is_a_few_kilobytes() {
    let environment = Environment::new().await;
    let (queues, _) = counted();
    let worker = environment.worker().named("jobs");
    let worker = worker.register(&queues, "shop 1").keep_times();
    let steps = async {
        for _ in 0..3_700 {
            environment.push(2).await;
            sleep(SECOND).await;
        }
    };
    let handler = |number: u64, _: Context| sleep(Duration::from_millis(5 + 40 * (number % 2)));
    worker.run_until(steps, handler).await.unwrap();
    let size = counting_bytes(&queues).await;
    println!("{size} bytes");
    assert!((1_000..4_000).contains(&size), "{size}");
}

/// The bytes of the only record of times.
async fn counting_bytes(queues: &Queues) -> usize {
    let name = "qk-times".parse().unwrap();
    let stored = queues.backend().open_stored(&name).await.unwrap().unwrap();
    let listed = stored
        .queue
        .leasing()
        .unwrap()
        .peek(Place::Ready, Page::first(9))
        .await
        .unwrap();
    assert_eq!(listed.entries.len(), 1, "in place of the last one");
    listed.entries[0].message.body.len()
}

/// Two workers whose minutes do not begin together, on jobs of two types.
#[tokio::test(start_paused = true)]
async fn the_times_of_several_workers_are_added_by_queue_and_type() {
    let (queues, _) = counted();
    let mail = queues.reliable("mail").open::<Jobs>().await.unwrap();
    let run = async |offset: Duration| {
        sleep(offset).await;
        let router = Router::new()
            .on(|_: Fast, _| sleep(10 * MILLI))
            .on(|_: Slow, _| sleep(SECOND));
        let worker = Worker::new(mail.clone()).router(router).concurrency(4);
        let worker = worker.register(&queues, "shop 1").keep_times();
        worker
            .run_until(sleep(300 * SECOND - offset))
            .await
            .unwrap();
    };
    let pushes = async {
        for _ in 0..20 {
            mail.push(&Fast).await.unwrap();
            mail.push_all(&[Slow, Slow]).await.unwrap();
            mail.queue().push_one("{}").await.unwrap().id().unwrap();
            sleep(10 * SECOND).await;
        }
    };
    tokio::join!(run(Duration::ZERO), run(25 * SECOND), pushes);
    let jobs = job_times(&**queues.backend()).await.unwrap();
    let shown = |job: &JobTimes| {
        let minutes = job.minutes.iter();
        let (name, handled) = (
            job.job.clone().unwrap(),
            minutes.map(|minute| minute.handled).sum(),
        );
        (name, handled)
    };
    let shown: Vec<(String, u64)> = jobs.iter().map(shown).collect();
    assert_eq!(
        shown[..2],
        [("fast".to_owned(), 20), ("slow".to_owned(), 40)]
    );
    assert_eq!(shown[2].0, "unknown", "{shown:?}");
}

#[tokio::test(start_paused = true)]
async fn times_without_a_place_in_the_list_are_refused() {
    let environment = Environment::holding(1).await;
    let run = environment.worker().keep_times().run(|_: u64, _| async {});
    let error = run.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.to_string().contains("keep_times without register"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_operator_makes_a_worker_quiet_and_lets_it_work_again() {
    let environment = Environment::holding(1).await;
    let (queues, counting) = counted();
    let worker = environment.worker().register(&queues, "shop 1");
    let backend = &**queues.backend();
    let state = async || workers(backend).await.unwrap()[0].record.state;
    let steps = async {
        environment.empty().await;
        let key = key(&queues).await;
        let asked = ask_worker(backend, &key, WorkerWish::Quiet).await.unwrap();
        assert_eq!(asked.asked, Some(WorkerWish::Quiet));
        let listed = workers(backend).await.unwrap();
        assert_eq!(
            (listed.len(), listed[0].record.asked),
            (1, Some(WorkerWish::Quiet)),
            "{listed:?}"
        );
        sleep(11 * SECOND).await;
        assert_eq!(state().await, WorkerState::Quiet);
        assert_eq!(workers(backend).await.unwrap()[0].record.asked, None);
        environment.push(3).await;
        sleep(60 * SECOND).await;
        assert_eq!(
            environment.counters().await.depth.ready,
            3,
            "it receives nothing"
        );
        counting.take();
        sleep(30 * SECOND).await;
        assert_eq!(
            counting.take(),
            [("qk-workers".to_owned(), 3)],
            "it does not look again"
        );
        ask_worker(backend, &key, WorkerWish::Work).await.unwrap();
        sleep(11 * SECOND).await;
        assert_eq!(environment.counters().await.depth.occupied(), 0);
        assert_eq!(state().await, WorkerState::Works);
    };
    let report = worker.run_until(steps, |_: u64, _| async {}).await.unwrap();
    assert_eq!(report.counts.acked, 4);
}

#[tokio::test(start_paused = true)]
async fn an_operator_drains_a_worker_and_no_other_run() {
    let environment = Environment::holding(3).await;
    let (queues, _) = counted();
    let backend = &**queues.backend();
    let worker = || {
        environment
            .worker()
            .concurrency(2)
            .register(&queues, "shop 1")
    };
    let first = worker()
        .drain(60 * SECOND)
        .run(|_: u64, _| sleep(30 * SECOND));
    let steps = async {
        sleep(SECOND).await;
        let key = key(&queues).await;
        ask_worker(backend, &key, WorkerWish::Drain).await.unwrap();
        key
    };
    let (report, key) = tokio::join!(first, steps);
    let report = report.unwrap();
    assert!(
        report.drained && report.counts.acked == 2,
        "after its handlers: {report:?}"
    );
    let gone = ask_worker(backend, &key, WorkerWish::Work)
        .await
        .unwrap_err();
    assert!(
        gone.to_string().contains("no running worker has the key"),
        "{gone}"
    );
    assert!(ask_worker(backend, "", WorkerWish::Drain).await.is_err());
    // The next run has another key, and works.
    let next = worker().run_until(environment.empty(), |_: u64, _| async {});
    assert_eq!(next.await.unwrap().counts.acked, 1);
}

/// What the program has paused is the program's.
#[tokio::test(start_paused = true)]
async fn a_pause_of_the_program_is_not_ended_by_an_operator() {
    let environment = Environment::holding(1).await;
    let (queues, _) = counted();
    let backend = &**queues.backend();
    let worker = environment.worker().register(&queues, "shop 1");
    let control = worker.control();
    control.pause();
    let steps = async {
        sleep(SECOND).await;
        ask_worker(backend, &key(&queues).await, WorkerWish::Work)
            .await
            .unwrap();
        sleep(25 * SECOND).await;
        assert!(control.is_paused());
    };
    let report = worker.run_until(steps, |_: u64, _| async {}).await.unwrap();
    assert_eq!(report.counts.acked, 0);
}
