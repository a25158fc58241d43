//! Many queues: what a look at all of them costs, and when its first line comes.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use queue_core::*;

use crate::site::{HOUR, Site};

/// Makes queues with ready messages that nobody takes; each has a leased one, one that failed, and a dead letter, too.
/// The messages of `worst` have waited for longest.
async fn stuck(site: &Site, count: usize) {
    let make = async |name: String| {
        let queue = site.queues.reliable(&name).open::<u64>().await.unwrap();
        queue.push_all(&[1, 2, 3, 4, 5]).await.unwrap();
        let leased = queue
            .queue()
            .receive(3, HOUR, Duration::ZERO)
            .await
            .unwrap();
        let settled = [
            Settlement::retry_because(leased[0].receipt, HOUR, "402: card declined"),
            Settlement::bury(leased[1].receipt, "no such customer"),
        ];
        queue.queue().settle(&settled).await.unwrap();
    };
    make("worst".to_owned()).await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let names = (1..count).map(|number| make(format!("queue-{number:05}")));
    stream::iter(names)
        .buffer_unordered(64)
        .collect::<()>()
        .await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
}

/// The time of a command, that of its first line, and its lines.
fn timed(site: &Site, arguments: &[&str]) -> (Duration, Duration, Vec<String>) {
    let begun = Instant::now();
    let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"))
        .args(arguments)
        .env("QUEUE_URL", site.server.url())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(qk.stdout.take().unwrap()).lines();
    let mut said = vec![lines.next().unwrap().unwrap()];
    let first = begun.elapsed();
    said.extend(lines.map(Result::unwrap));
    let mut error = String::new();
    qk.stderr
        .take()
        .unwrap()
        .read_to_string(&mut error)
        .unwrap();
    assert_eq!(error, "", "no progress, since this is no terminal");
    qk.wait().unwrap();
    (begun.elapsed(), first, said)
}

/// The calls of scripts for each queue, and the microseconds that they took the server.
fn cost(site: &Site, count: usize, run: impl FnOnce()) -> (f64, f64) {
    let before = site.server.command_counts().unwrap();
    run();
    let spent = site.server.command_counts().unwrap().since(&before);
    let each = |number: u64| number as f64 / count as f64;
    (each(spent.of("evalsha")), each(spent.micros("evalsha")))
}

/// Looks at so many queues, and returns the seconds of `why`, of its first line, and of `ls`.
async fn play(count: usize) -> [Duration; 3] {
    let site = Site::start().await;
    stuck(&site, count).await;
    let mut times = [Duration::ZERO; 3];
    let (scripts, micros) = cost(&site, count, || {
        let (all, first, lines) = timed(&site, &["why"]);
        (times[0], times[1]) = (all, first);
        assert_eq!(lines.len(), count);
        assert!(lines[0].starts_with("!  worst: "), "{}", lines[0]);
    });
    assert!(scripts <= 5.1, "{scripts} scripts a queue");
    eprintln!(
        "{count} queues: why {:?}, first line {:?}, {scripts} scripts of {micros:.0} µs a queue",
        times[0], times[1]
    );
    let (scripts, micros) = cost(&site, count, || {
        let (all, _, lines) = timed(&site, &["ls"]);
        times[2] = all;
        assert_eq!(lines.len(), count + 1);
    });
    assert!(scripts <= 1.1, "{scripts} scripts a queue");
    eprintln!(
        "{count} queues: ls {:?}, {scripts} scripts of {micros:.0} µs a queue",
        times[2]
    );
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_at_many_queues_costs_a_few_scripts_each() {
    play(300).await;
}

/// Measures: `cargo test --release … -- --ignored --nocapture a_thousand`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures times, which a loaded machine does not keep"]
async fn a_thousand_and_ten_thousand_queues() {
    let [_, first, _] = play(1_000).await;
    assert!(first < Duration::from_secs(1), "{first:?}");
    let [all, ..] = play(10_000).await;
    assert!(all < Duration::from_secs(10), "{all:?}");
}
