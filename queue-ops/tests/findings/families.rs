//! Durable jobs and their children: a diagnosis costs a bounded number of calls, and hostile states do no harm.

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
use queue_ops::{Diagnosis, Problem, diagnose};

use crate::told::HOUR;

type Counts = Arc<Mutex<BTreeMap<(String, &'static str), usize>>>;

/// Counts the calls to each queue.
#[derive(Debug)]
struct Counting(Counts);

#[async_trait]
impl Layer for Counting {
    async fn call(&self, name: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let verb = match call {
            Call::Find(_) => "find",
            _ => "other",
        };
        let key = (name.to_string(), verb);
        *self.0.lock().unwrap().entry(key).or_default() += 1;
        queue.call(call).await
    }
}

/// A job of the queue `orders` that waits with this state.
async fn waiting(queues: &Queues, state: Bytes) {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push(&1).await.unwrap();
    let held = orders.queue().receive_one(HOUR, Duration::ZERO).await;
    let defer = Settlement::defer(held.unwrap().unwrap().receipt, HOUR).with_state(state);
    let settled = orders.queue().settle_one(defer).await.unwrap();
    assert_eq!(settled, Settled::Done);
}

/// The problems that have to do with children, and the calls that the diagnosis made.
async fn looked(queues: &Queues, counts: &Counts) -> (Diagnosis, BTreeMap<String, usize>, usize) {
    counts.lock().unwrap().clear();
    let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
    let counts = counts.lock().unwrap();
    let mut finds = BTreeMap::new();
    let mut others = 0;
    for ((queue, verb), count) in counts.iter() {
        match *verb {
            "find" => *finds.entry(queue.clone()).or_default() += count,
            _ if queue.starts_with("mails") => others += count,
            _ => {}
        }
    }
    (diagnosis, finds, others)
}

fn site() -> (Queues, Counts) {
    let counts = Counts::default();
    let layer = Counting(Arc::clone(&counts));
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let counting: Arc<dyn Backend> = Arc::new(Layered::new(layer, backend));
    (Queues::from(counting), counts)
}

#[tokio::test(start_paused = true)]
async fn ten_finds_in_four_queues_are_enough_for_any_number_of_jobs() {
    let (queues, counts) = site();
    let mut ids = BTreeMap::new();
    for number in 0..6 {
        let name = format!("mails-{number}");
        let mails = queues.reliable(&name).open::<u64>().await.unwrap();
        let batch = vec![Push::new("1"); 20];
        let pushed = mails.queue().push(&batch).await.unwrap();
        let pushed = pushed.into_iter().map(|one| one.id().unwrap());
        ids.insert(name, pushed.collect::<Vec<_>>());
    }
    let mut jobs = 0;
    let add = async |count: usize| {
        for (name, ids) in ids.iter().cycle().take(count) {
            let mut record = ChildrenRecord::new(name, 1);
            record.waits = 2;
            ids.iter().for_each(|id| record.add(*id));
            let mut steps = Steps::default();
            steps.set("mails", 1, StepRecord::Children(record));
            waiting(&queues, Json::write(&steps).unwrap()).await;
        }
    };
    let mut seen = Vec::new();
    for more in [1, 5, 144] {
        add(more).await;
        jobs += more;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (diagnosis, finds, others) = looked(&queues, &counts).await;
        let found = diagnosis.findings.iter();
        let found = found.filter(|one| one.problem == Problem::ChildrenWait);
        let queues = found.count();
        seen.push((jobs, queues, finds.values().sum::<usize>(), others));
    }
    // Of 150 jobs, 100 are looked at: 17 of each queue, with 340 children, which are three finds. The last queue has one.
    assert_eq!(seen, [(1, 1, 1, 1), (6, 4, 4, 4), (150, 4, 10, 4)]);
}

/// A job without children costs no call more.
#[tokio::test(start_paused = true)]
async fn states_without_children_cost_no_find() {
    let (queues, counts) = site();
    let mut steps = Steps::default();
    steps.set("charge", 1, StepRecord::Done("7".to_owned()));
    waiting(&queues, Json::write(&steps).unwrap()).await;
    waiting(&queues, Bytes::from("[1]")).await;
    let mut record = ChildrenRecord::new("mails", 1);
    record.add(MessageId::new(1));
    steps.set("mails", 1, StepRecord::Children(record));
    steps.set("cool off", 1, StepRecord::SleepsUntil(9_999_999));
    waiting(&queues, Json::write(&steps).unwrap()).await;
    let (_, finds, others) = looked(&queues, &counts).await;
    assert_eq!((finds.len(), others), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn states_that_no_worker_wrote_are_no_findings() {
    let (queues, counts) = site();
    for state in [
        r#"{"qk-steps":[{"name":"a","after_ms":1}],"own":null}"#.to_owned(),
        r#"{"qk-steps":"#.to_owned(),
        children("no such queue", "[[1,1,1]]"),
        children("two\\nlines", "[[1,1,1]]"),
        children("orders", "[[1,1,18446744073709551615]]"),
        children("orders", "[[18446744073709551615,18446744073709551615,9]]"),
    ] {
        waiting(&queues, Bytes::from(state)).await;
    }
    let (diagnosis, finds, _) = looked(&queues, &counts).await;
    assert!(diagnosis.is_healthy(), "{diagnosis:?}");
    assert_eq!(finds, [("orders".to_owned(), 2)].into());
}

/// A state that names children, as anybody may write it who holds a message.
fn children(queue: &str, ids: &str) -> String {
    format!(
        r#"{{"qk-steps":[{{"name":"a","after_ms":1,"children":{{"queue":"{queue}","key":1,"ids":{ids},"ended":[],"done":0,"dead":0,"waits":1}}}}],"own":null}}"#
    )
}
