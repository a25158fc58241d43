//! The place of a message after its lease has ended.

use std::time::Duration;

use queue_core::*;
use queue_recipes::{RecipeBackend, ZsetJson};

use crate::{
    ground::{Ground, START, counts, end, end_live, leasing, push, take},
    recipes,
};

const SECOND: Duration = Duration::from_secs(1);

/// The data on the server, and the counts: ready, delayed, leased, dead.
struct Expected {
    dump: Vec<String>,
    counts: [u64; 4],
}

fn expect<const N: usize>(dump: [&str; N], counts: [u64; 4]) -> Expected {
    let dump = dump.into_iter().map(str::to_owned).collect();
    Expected { dump, counts }
}

/// The message `m` was taken and then retried in a second; `n` came after it.
fn retried(strategy: &str) -> Expected {
    let later = START + 1_000;
    match strategy {
        "zset-string" => {
            let second = (later - 3_000) / 1_000;
            let zset = format!("zset q: {second} queue_data_…");
            expect([&zset, "string queue_data_…: m"], [0, 1, 0, 0])
        }
        "wait-active" => {
            let m = format!("zset delay:wait:q: {later} {}", topic("m", later));
            let mut expected = topics(&[&topic("n", START)], [1, 1, 0, 0]);
            expected.dump.push(m);
            expected
        }
        "zset-json with processing" => {
            let zset = format!("zset delay_queue:q: {START} n | {later} m");
            expect([&zset, "hash {delay_queue:q}:retries: m=1"], [1, 1, 0, 0])
        }
        name if name.starts_with("zset-json") => {
            let zset = format!("zset delay_queue:q: {START} n | {later} m");
            expect([&zset], [1, 1, 0, 0])
        }
        "stream" => stream_of(1),
        "priority-lists" => expect(["list {q}:normal: m | n"], [2, 0, 0, 0]),
        _ => expect(["list q: m | n"], [2, 0, 0, 0]),
    }
}

/// A stream with `m` put back after this number of counted attempts.
fn stream_of(attempts: u32) -> Expected {
    let stream = format!("stream q: body=n | body=m=first=…=attempts={attempts}");
    expect([&stream], [2, 0, 0, 0])
}

/// As retried, but the attempt is not counted.
fn deferred(strategy: &str) -> Expected {
    if strategy == "stream" {
        return stream_of(0);
    }
    let mut expected = retried(strategy);
    expected.dump.retain(|line| !line.starts_with("hash "));
    expected
}

fn released(strategy: &str) -> Expected {
    match strategy {
        "zset-string" => {
            let second = (START - 3_000) / 1_000;
            let zset = format!("zset q: {second} queue_data_…");
            expect([&zset, "string queue_data_…: m"], [1, 0, 0, 0])
        }
        "wait-active" => topics(&[&topic("m", START), &topic("n", START)], [2, 0, 0, 0]),
        name if name.starts_with("zset-json") => {
            let zset = format!("zset delay_queue:q: {START} m | {START} n");
            expect([&zset], [2, 0, 0, 0])
        }
        "stream" => stream_of(0),
        "priority-lists" => expect(["list {q}:normal: n | m"], [2, 0, 0, 0]),
        _ => expect(["list q: n | m"], [2, 0, 0, 0]),
    }
}

fn buried(strategy: &str) -> Expected {
    let counts = [1, 0, 0, 1];
    match strategy {
        "zset-string" => expect(["list {q}:dead: m"], [0, 0, 0, 1]),
        "wait-active" => {
            let mut expected = topics(&[&topic("n", START)], counts);
            let dead = topic("m", START);
            expected
                .dump
                .push(format!("list {{delay:active:q}}:dead: {dead}"));
            expected
        }
        name if name.starts_with("zset-json") => {
            let dead = format!("zset {{delay_queue:q}}:dead: {START} m");
            let left = format!("zset delay_queue:q: {START} n");
            expect([&left, &dead], counts)
        }
        "stream" => expect(["stream q: body=n", "list {q}:dead: m"], counts),
        "priority-lists" => expect(["list {q}:dead: m", "list {q}:normal: n"], counts),
        _ => expect(["list q: n", "list {q}:dead: m"], counts),
    }
}

fn topic(body: &str, due: u64) -> String {
    format!(
        r#"{{"body":"{body}","createTime":"2023-11-14T22:13:20","delayTime":{due},"id":"…","topic":"q"}}"#
    )
}

fn topics(active: &[&str], counts: [u64; 4]) -> Expected {
    let active = format!("list delay:active:q: {}", active.join(" | "));
    let registries = [
        "set delay:meta:topic:active: delay:active:q",
        "set delay:meta:topic:wait: delay:wait:q",
    ];
    expect([&active, registries[0], registries[1]], counts)
}

/// The same without the name of a stream's entry, which is a time.
fn without_entry(line: &str) -> String {
    let Some((before, rest)) = line.split_once("first=") else {
        return line.to_owned();
    };
    let (_, after) = rest.split_once('=').expect("another field");
    format!("{before}first=…={after}")
}

/// The same without uuids, which are random.
fn without_uuids(line: &str) -> String {
    let is_uuid = |text: &str| {
        let groups = text.split('-').map(str::len);
        let digits = text.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
        digits && groups.eq([8, 4, 4, 4, 12])
    };
    let mut shown = String::new();
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        match rest.get(..36) {
            Some(uuid) if is_uuid(uuid) => {
                shown.push('…');
                rest = &rest[36..];
            }
            _ => {
                shown.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    shown
}

/// Takes `m` on every leasing recipe and settles it in this way.
async fn ended(
    settle: impl Fn(Receipt) -> Settlement,
    expected: impl Fn(&str) -> Expected,
    answer: Settled,
) {
    for (ground, made) in recipes::leasing().await {
        let name = made.guarantees.name;
        let queue = made.open().await;
        push(&queue, &["m"]).await;
        // On `zset-string` the order of two messages is random.
        if name != "zset-string" {
            push(&queue, &["n"]).await;
        }
        ground.distribute();
        let taken = take(&queue, 1).await.remove(0);
        assert_eq!((&taken.body[..], taken.attempt), (&b"m"[..], 1), "{name}");
        let held = counts(&queue).await[2];
        let keeps = made.guarantees.keeps("L5") || name.contains("processing");
        assert_eq!(
            held,
            u64::from(keeps),
            "{name}: held messages are counted if the recipe keeps them"
        );
        assert_eq!(end(&queue, settle(taken.receipt)).await, answer, "{name}");
        let expected = expected(name);
        let dump: Vec<String> = ground
            .dump()
            .iter()
            .map(|line| without_entry(&without_uuids(line)))
            .collect();
        assert_eq!(dump, expected.dump, "{name}");
        assert_eq!(counts(&queue).await, expected.counts, "{name}");
        letters(&queue, name, &taken, answer == Settled::Dead).await;
        comes_again(&ground, &queue, &taken, answer == Settled::Dead).await;
    }
}

async fn letters(queue: &AnyQueue, name: &str, taken: &Delivery, dead: bool) {
    let letters = leasing(queue)
        .dead_letters(Page::first(9))
        .await
        .expect("it lists");
    assert_eq!(
        (letters.entries.len(), letters.next),
        (usize::from(dead), None),
        "{name}"
    );
    if let Some(letter) = letters.entries.first() {
        assert_eq!(letter.body, taken.body, "{name}");
        // The other recipes find a message by a key that is removed with it.
        let named = !["zset-string", "stream"].contains(&name);
        assert_eq!(letter.id == taken.id(), named, "{name}");
    }
}

/// A message that was put back is delivered again within a second; a dead one never is.
async fn comes_again(ground: &Ground, queue: &AnyQueue, taken: &Delivery, dead: bool) {
    ground.pass(SECOND);
    ground.distribute();
    let mut came = Vec::new();
    loop {
        let next = leasing(queue)
            .receive(1, crate::ground::LONG, Duration::ZERO)
            .await;
        let Some(delivery) = next.expect("it polls").pop() else {
            break;
        };
        if delivery.body == taken.body {
            came.push(delivery.attempt);
        }
        end_live(queue, Settlement::ack(delivery.receipt)).await;
    }
    assert_eq!(came.len(), usize::from(!dead));
}

#[tokio::test]
async fn a_retry_goes_back_with_its_delay_where_there_is_one() {
    let retry = |receipt| Settlement::retry(receipt, SECOND);
    ended(retry, retried, Settled::Done).await;
}

#[tokio::test]
async fn a_defer_goes_back_as_a_retry_that_is_not_counted() {
    let defer = |receipt| Settlement::defer(receipt, SECOND);
    ended(defer, deferred, Settled::Done).await;
}

#[tokio::test]
async fn a_release_goes_back_to_the_head_at_once() {
    ended(Settlement::release, released, Settled::Done).await;
}

#[tokio::test]
async fn a_bury_goes_to_the_dead_letters() {
    ended(
        |receipt| Settlement::bury(receipt, "why"),
        buried,
        Settled::Dead,
    )
    .await;
}

#[tokio::test]
async fn with_processing_a_retry_beyond_the_attempts_dies() {
    let ground = Ground::start().await;
    let recipe = ZsetJson::default().with_processing();
    let config = DelayConfig::default().with_max_attempts(3);
    let backend = RecipeBackend::new(&ground.redis, recipe);
    let queue = backend
        .open(&crate::ground::name("q"), &config.into())
        .await
        .expect("it opens");
    push(&queue, &["m"]).await;
    for attempt in 1..=3 {
        let taken = take(&queue, 1).await.remove(0);
        assert_eq!(taken.attempt, attempt);
        let ended = end(&queue, Settlement::retry(taken.receipt, Duration::ZERO)).await;
        assert_eq!(
            ended,
            if attempt < 3 {
                Settled::Done
            } else {
                Settled::Dead
            }
        );
    }
    assert_eq!(
        ground.dump(),
        [format!("zset {{delay_queue:q}}:dead: {START} m")]
    );
    let letters = leasing(&queue)
        .dead_letters(Page::first(1))
        .await
        .expect("it lists");
    assert_eq!(letters.entries[0].died_at, Timestamp::from_millis(START));
    let next = letters.next.expect("a full page may go on");
    let rest = leasing(&queue)
        .dead_letters(Page::after(next, 1))
        .await
        .expect("it lists");
    assert_eq!((rest.entries.len(), rest.next), (0, None));
}
