//! Commands about dead letters.

use std::time::Duration;

use queue_core::*;
use serde_json::Value;

use crate::site::{HOUR, Site};

/// The name of the group with this example.
fn cause(site: &Site, queue: &str, example: &str) -> String {
    let groups = site.qk(&["--json", "dead", "groups", queue]).json();
    let groups = groups.as_array().unwrap().iter();
    let mut found = groups.filter(|group| group["example"] == example);
    found.next().expect(example)["cause"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A command, its status, its words (nothing here if they do not count), and the dead and the ready messages after it.
type Case<'a> = (&'a str, i32, &'a str, &'a [u64], &'a [u64]);

/// The dead and the ready messages of `Site::ten`.
const DEAD: &[u64] = &[2, 3, 4];
const READY: &[u64] = &[8, 9, 10];

/// Runs each command on a queue of its own, `Q`.
async fn play(cases: &[Case<'_>]) {
    let site = Site::start().await;
    site.ten("any").await;
    let customer = cause(&site, "any", "buried: no customer 7");
    let bank = cause(&site, "any", "buried: the bank is closed");
    for (number, (command, status, words, dead, ready)) in cases.iter().enumerate() {
        let queue = format!("queue-{number}");
        site.ten(&queue).await;
        let command = command.replace('Q', &queue).replace("CUSTOMER", &customer);
        let said = site.run(&command.replace("BANK", &bank));
        assert_eq!(said.status, *status, "{command}: {said:?}");
        if !words.is_empty() {
            assert_eq!(said.all(), words.replace('Q', &queue), "{command}");
        }
        let state = site.state(&queue).await.unwrap();
        assert_eq!((&*state.dead, &*state.ready), (*dead, *ready), "{command}");
        assert_eq!(
            (&*state.delayed, &*state.leased),
            (&[1][..], &[5, 6, 7][..])
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[rustfmt::skip]
async fn dead_letters_are_chosen_by_their_ids() {
    play(&[
        ("dead revive Q 2", 0, "1 of 1 revived", &[3, 4], &[8, 9, 10, 2]),
        ("dead revive Q 2 --fresh", 0, "1 of 1 revived", &[3, 4], &[8, 9, 10, 2]),
        ("dead revive Q 3 2", 0, "2 of 2 revived", &[4], &[8, 9, 10, 3, 2]),
        ("dead revive Q 2 8", 1, "8: no dead letter has this id\n1 of 2 revived", &[3, 4], &[8, 9, 10, 2]),
        ("dead discard Q 2", 1, "would discard 1 dead letter (#2): say --yes", DEAD, READY),
        ("dead discard Q 2 --yes", 0, "1 of 1 discarded", &[3, 4], READY),
        ("dead discard Q 2 8 --yes", 1, "1 of 2 discarded", &[3, 4], READY),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[rustfmt::skip]
async fn all_dead_letters_are_chosen_with_a_yes() {
    let all = &[8, 9, 10, 2, 3, 4];
    play(&[
        ("dead revive Q --all", 1, "would revive 3 dead letters (#2, #3, #4): say --yes", DEAD, READY),
        ("dead revive Q --all --yes", 0, "3 of 3 revived", &[], all),
        ("dead revive Q --all --yes --per-second 1000", 0, "3 of 3 revived", &[], all),
        ("dead discard Q --all", 1, "would discard 3 dead letters (#2, #3, #4): say --yes", DEAD, READY),
        ("dead discard Q --all --yes", 0, "3 of 3 discarded", &[], READY),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[rustfmt::skip]
async fn dead_letters_are_chosen_by_a_part_of_their_reason() {
    let none = "no dead letter has 'nobody' in its reason: `qk dead groups Q`";
    play(&[
        ("dead revive Q --reason customer", 1, "would revive 2 dead letters (#2, #3): say --yes", DEAD, READY),
        ("dead revive Q --reason customer --yes", 0, "2 of 2 revived", &[4], &[8, 9, 10, 2, 3]),
        ("dead revive Q --reason nobody --yes", 1, none, DEAD, READY),
        ("dead discard Q --reason bank --yes", 0, "1 of 1 discarded", &[2, 3], READY),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[rustfmt::skip]
async fn dead_letters_are_chosen_by_the_name_of_their_cause() {
    let none = "qk: no group of dead letters is called `1`: `qk dead groups Q` lists them by the names of their causes";
    play(&[
        ("dead revive Q --group CUSTOMER", 1, "would revive 2 dead letters (#2, #3): say --yes", DEAD, READY),
        ("dead revive Q --group CUSTOMER --yes", 0, "2 of 2 revived", &[4], &[8, 9, 10, 2, 3]),
        ("dead revive Q --group 1 --yes", 2, none, DEAD, READY),
        ("dead discard Q --group BANK --yes", 0, "1 of 1 discarded", &[2, 3], READY),
        ("dead discard Q --group 1 --yes", 2, none, DEAD, READY),
        ("dead discard Q --group 2 --yes", 2, "", DEAD, READY),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_choice_of_dead_letters_is_one_and_finds_some() {
    play(&[
        ("dead revive Q", 2, "", DEAD, READY),
        ("dead revive Q 2 --all --yes", 2, "", DEAD, READY),
    ])
    .await;
    let site = Site::start().await;
    site.queues.reliable("empty").open::<u64>().await.unwrap();
    let said = site.run("dead revive empty --all --yes");
    assert_eq!(
        (said.all().as_str(), said.status),
        ("empty has no dead letters", 1)
    );
}

/// A message that ran out of attempts died of its last failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_without_attempts_left_is_chosen_by_its_failure() {
    let site = Site::start().await;
    let mut config = ReliableConfig::default();
    config.leasing.max_attempts = 1;
    let orders = site
        .queues
        .reliable("orders")
        .config(config)
        .open::<u64>()
        .await;
    let orders = orders.unwrap();
    for reason in ["no article 7", "card declined"] {
        orders.push(&1).await.unwrap();
        let held = orders.receive(HOUR, Duration::ZERO).await.unwrap().unwrap();
        let retry = Settlement::retry_because(held.receipt(), Duration::ZERO, reason);
        orders.queue().settle(&[retry]).await.unwrap();
    }
    let said = site.run("dead discard orders --reason article");
    assert_eq!(
        said.all(),
        "would discard 1 dead letter (#1): say --yes",
        "{said:?}"
    );
    let said = site.run("dead discard orders --reason article --yes");
    assert_eq!((said.all().as_str(), said.status), ("1 of 1 discarded", 0));
    assert_eq!(site.state("orders").await.unwrap().dead, [2]);
    let shown = site.run("dead ls orders").out;
    assert!(shown.contains("  card declined  "), "{shown}");
}

/// Between `dead groups` and the command another group may become the largest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cause_keeps_its_name_while_others_come() {
    let site = Site::start().await;
    site.ten("orders").await;
    let customer = cause(&site, "orders", "buried: no customer 7");
    for _ in 0..3 {
        site.run("bury orders 5 6 7 --yes --reason spam");
    }
    let before = site.state("orders").await.unwrap();
    assert_eq!(before.dead, [2, 3, 4, 5, 6, 7]);
    let shown = site.run("dead groups orders").out;
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let largest = &rows[1];
    assert_eq!(
        (largest[1], &largest[2..4]),
        ("3", &["buried:", "spam"][..]),
        "{shown}"
    );
    assert_eq!(&rows[2][..2], [&*customer, "2"], "{shown}");
    let said = site.run(&format!("dead discard orders --group {customer} --yes"));
    assert_eq!(said.all(), "2 of 2 discarded");
    assert_eq!(site.state("orders").await.unwrap().dead, [4, 5, 6, 7]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_stops_at_the_first_that_dies_again_and_not_for_want_of_room() {
    let site = Site::start().await;
    let config = BoundedConfig::new(5);
    let orders = site
        .queues
        .bounded("orders", config.capacity)
        .config(config)
        .open::<u64>()
        .await
        .unwrap();
    for order in 0..4 {
        orders
            .push(&order, Overflow::Reject)
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    let bury = async |count: usize| {
        for _ in 0..count {
            let held = orders.receive(HOUR, Duration::ZERO).await.unwrap().unwrap();
            held.bury("no article").await.unwrap();
        }
    };
    bury(4).await;
    for order in 0..3 {
        orders
            .push(&order, Overflow::Reject)
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    let said = site.run("dead revive orders --all --yes --per-second 100");
    assert_eq!(
        (said.all().as_str(), said.status),
        ("2 of 4 revived; no room for 2", 1)
    );
    let state = site.state("orders").await.unwrap();
    assert_eq!((state.dead, state.ready), (vec![3, 4], vec![5, 6, 7, 1, 2]));
    // A consumer that buries whatever comes.
    let consumer = orders.clone();
    let burying = tokio::spawn(async move {
        loop {
            if let Some(held) = consumer.receive(HOUR, HOUR).await.unwrap() {
                held.bury("no article").await.unwrap();
            }
        }
    });
    while site.state("orders").await.unwrap().dead.len() < 7 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let url = site.server.url();
    let revive = tokio::task::spawn_blocking(move || {
        let mut qk = std::process::Command::new(env!("CARGO_BIN_EXE_qk"));
        let arguments = [
            "dead",
            "revive",
            "orders",
            "--all",
            "--yes",
            "--per-second",
            "1",
        ];
        qk.args(arguments).env("QUEUE_URL", url).output().unwrap()
    });
    let revive = revive.await.unwrap();
    let words = String::from_utf8(revive.stdout).unwrap();
    assert_eq!(
        words,
        "stopped after 1 of 7: #3 died again: buried: no article\n"
    );
    assert_eq!(revive.status.code(), Some(1));
    burying.abort();
}

/// In JSON bodies are whole, text or not; a table cuts them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_are_whole_in_json() {
    let site = Site::start().await;
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let hostile = "\u{1b}[2J\u{7f}\u{9b}\u{202e}\n".repeat(30);
    let bodies = [
        "x".repeat(5_000).into_bytes(),
        b"\xff\x00\x01".repeat(100),
        hostile.clone().into_bytes(),
    ];
    let push = bodies.clone().map(Push::new);
    orders.queue().push(&push).await.unwrap();
    let check = |shown: &Value| {
        assert_eq!(
            shown[0]["body"].as_str().map(str::as_bytes),
            Some(&*bodies[0])
        );
        assert_eq!(shown[1]["body_hex"], "ff0001".repeat(100));
        assert_eq!(shown[2]["body"], hostile);
    };
    check(&site.run("--json peek orders ready").json());
    let leased = orders
        .queue()
        .lease(3.try_into().unwrap(), HOUR)
        .await
        .unwrap();
    let buried = leased
        .deliveries
        .iter()
        .map(|one| Settlement::bury(one.receipt, &*hostile));
    orders
        .queue()
        .settle(&buried.collect::<Vec<_>>())
        .await
        .unwrap();
    let said = site.run("--json dead ls orders");
    assert!(!said.out.trim_end().contains(is_unprintable));
    check(&said.json());
    assert_eq!(
        said.json()[2]["why"],
        format!("died after 1 attempt: buried: {hostile}")
    );
    let said = site.run("dead ls orders");
    assert!(said.out.len() < 1_000 && said.out.contains('…'), "{said:?}");
    let hidden = site.run("--json peek orders ready --no-bodies");
    assert_eq!(hidden.json(), serde_json::json!([]));
}
