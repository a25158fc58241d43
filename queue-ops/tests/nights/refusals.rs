//! The night of a program whose configuration the queue refuses: seen without `--expect`, and gone once it fits.

use std::time::Duration;

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{Diagnosis, Problem, Severity, diagnose};
use queue_redis::RedisBackend;
use real_redis::{Cluster, Server};
use tokio::time::sleep;

use crate::{
    in_memory::START,
    setups::{HOUR, fits},
};

async fn why(queues: &Queues) -> Diagnosis {
    diagnose(&**queues.backend(), "orders").await.unwrap()
}

/// The line of `qk why` about the refusal, if there is one.
async fn refused(queues: &Queues) -> Option<(Severity, String)> {
    let diagnosis = why(queues).await;
    let mut found = diagnosis.findings.into_iter();
    let finding = found.find(|one| one.problem == Problem::ConfigDiffers)?;
    Some((finding.severity, finding.to_string()))
}

/// Another process of this program asks for other attempts.
async fn ask(queues: &Queues) -> Queues {
    let other = Queues::from(queues.backend().clone());
    let opened = other.reliable("orders").max_attempts(7).open::<u64>().await;
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfigMismatch, "{error}");
    other
}

const LINE: &str = "stored max_attempts=5: `nights-…` (…process …) asks for max_attempts=7, and is refused, 2 ×, last … \
                    ago: `qk reconfigure orders max_attempts=7`";

/// The night itself, and each way in which it ends.
async fn play(queues: &Queues) {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    assert_eq!(refused(queues).await, None);
    let (other, same) = (ask(queues).await, ask(queues).await);
    let (severity, line) = refused(queues).await.expect("it is seen");
    assert!(fits(&line, LINE), "{line}");
    assert_eq!(
        severity,
        Severity::Trouble,
        "nobody is known to wait for it"
    );
    assert!(fits(&why(queues).await.headline(), LINE));

    // Messages wait, and the program may be their consumer.
    orders.push_all(&[1, 2]).await.unwrap();
    sleep(Duration::from_millis(1_500)).await;
    let diagnosis = why(queues).await;
    let stops = diagnosis
        .findings
        .iter()
        .filter(|one| one.severity == Severity::Standstill);
    let stops: Vec<Problem> = stops.map(|one| one.problem).collect();
    assert_eq!(stops, [Problem::ConfigDiffers, Problem::NoConsumer]);
    // A present cause is above it.
    orders.queue().pause().await.unwrap();
    let line = why(queues).await.headline();
    assert_eq!(line, "paused; 2 ready wait: `qk resume orders`");
    orders.queue().resume().await.unwrap();

    // The program asks for the stored configuration.
    other.reliable("orders").open::<u64>().await.unwrap();
    same.reliable("orders").open::<u64>().await.unwrap();
    assert_eq!(refused(queues).await, None);

    // Or what it asks for is stored.
    ask(queues).await;
    assert!(refused(queues).await.is_some());
    let wanted = ReliableConfig::default().with_max_attempts(7);
    assert!(queues.reconfigure("orders", wanted).await.unwrap());
    assert_eq!(refused(queues).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_refused_configuration_is_named_in_memory() {
    play(&Queues::new(MemoryBackend::starting_at(START))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_configuration_is_named_on_a_server() {
    let server = Server::start().unwrap();
    play(&Queues::new(
        RedisBackend::connect(&server.url()).await.unwrap(),
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_configuration_is_named_on_a_cluster() {
    let cluster = Cluster::start(3, 0, Server::builder()).unwrap();
    play(&Queues::new(
        RedisBackend::connect(&cluster.url()).await.unwrap(),
    ))
    .await;
}

/// A program that starts again on the same host, and registers, has been corrected. Others are forgotten.
#[tokio::test(start_paused = true)]
async fn an_old_refusal_is_a_note_and_ends() {
    let queues = Queues::new(MemoryBackend::starting_at(START));
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    ask(&queues).await;
    sleep(Duration::from_secs(601)).await;
    assert!(why(&queues).await.is_healthy());
    assert_eq!(refused(&queues).await.unwrap().0, Severity::Note);
    // The message came after it: the program has had time to start again.
    orders.push(&1).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(refused(&queues).await.unwrap().0, Severity::Note);
    // The message waits since before it.
    ask(&queues).await;
    sleep(HOUR).await;
    assert_eq!(refused(&queues).await.unwrap().0, Severity::Standstill);

    let worker = queue_worker::Worker::new(orders).register(&queues, "shop 1.4.3");
    let look = async {
        sleep(Duration::from_secs(15)).await;
        assert_eq!(refused(&queues).await, None);
    };
    worker.run_until(look, |_: u64, _| async {}).await.unwrap();
    assert!(refused(&queues).await.is_some());
    sleep(23 * HOUR).await;
    assert_eq!(refused(&queues).await, None);
}

/// A kind cannot be changed, and a program of another kind is named all the same.
#[tokio::test(start_paused = true)]
async fn a_program_that_asks_for_another_kind_is_named() {
    let queues = Queues::new(MemoryBackend::starting_at(START));
    queues.reliable("orders").open::<u64>().await.unwrap();
    let other = queues.delay("orders").open::<u64>().await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::ConfigMismatch);
    let (_, line) = refused(&queues).await.unwrap();
    let pattern =
        "stored kind=reliable: `nights-…` (…) asks for kind=delay, and is refused, 1 ×, last … ago";
    assert!(
        fits(&line, pattern) && !line.contains("qk reconfigure"),
        "{line}"
    );
}

/// A user who may write to the list may write anything, or take its name.
#[tokio::test(start_paused = true)]
async fn a_hostile_list_of_refusals_does_no_harm() {
    let queues = Queues::new(MemoryBackend::starting_at(START));
    queues.reliable("orders").open::<u64>().await.unwrap();
    let list = queues.bounded("qk-refusals", RefusalRecord::CAPACITY);
    let list = list.open::<serde_json::Value>().await.unwrap();
    let long = "x\u{1b}[2J\u{202e}`rm -r .`".repeat(10_000);
    for number in 0..250 {
        let record = serde_json::json!({
            "queue": "orders", "program": long, "holder": long, "kind": "reliable", "times": u64::MAX,
            "settings": { "max_attempts": "7; rm -r .", "rate": long, "at_once": "9", &*long: "1" },
            "number": number,
        });
        let pushed = list.push(&record, Overflow::DropOldest).await.unwrap();
        assert!(pushed.id().is_some());
    }
    assert_eq!(list.queue().depth().await.unwrap().ready, 200);
    let (_, line) = refused(&queues).await.unwrap();
    let is_clean = line.len() < 1_500 && !line.contains(is_unprintable);
    assert!(
        is_clean && line.ends_with(": `qk reconfigure orders at_once=9`"),
        "{line}"
    );
    // A refusal of this program comes beside them.
    sleep(Duration::from_secs(1)).await;
    ask(&queues).await;
    let (_, line) = refused(&queues).await.unwrap();
    assert!(
        fits(
            &line,
            "stored max_attempts=5: `nights-…1 ×…; so are 199 others…"
        ),
        "{line}"
    );

    assert!(
        queues
            .remove("qk-refusals", Removal::UnlessLeased)
            .await
            .unwrap()
    );
    queues.reliable("qk-refusals").open::<u64>().await.unwrap();
    ask(&queues).await;
    assert_eq!(refused(&queues).await, None, "it could not be written");
}
