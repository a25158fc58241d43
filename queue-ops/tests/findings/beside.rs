//! The right cause is named beside others that look alike, of several elements in an order of their own.

use std::time::Duration;

use queue_core::*;
use queue_ops::{Problem, Severity, consumers, fingerprint, group_failures, ids_of_failure};

use crate::told::{HOUR, LONG, Site, lease, push, settle};

const MINUTE: Duration = Duration::from_secs(60);

/// Registers a worker of these queues, which beats this often.
async fn register(site: &Site, holder: &str, queues: &[&str], beat: Duration) {
    let key = format!("{holder} {queues:?}");
    let registered = WorkerRegistration::open(&**site.queues.backend(), key);
    let record = serde_json::json!({
        "holder": holder, "program": "shop", "queues": queues, "slots": 2, "in_flight": 1,
        "uptime_ms": 1, "phase": "running", "next_beat_ms": beat.as_millis() as u64,
    });
    let record: WorkerRecord = serde_json::from_value(record).unwrap();
    registered.await.unwrap().beat(&record).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_is_not_called_a_queue_without_consumers() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 3).await;
    orders.queue().pause().await.unwrap();
    site.at(400_000).await;
    assert_eq!(site.problems().await, [Problem::Paused]);
    orders.queue().resume().await.unwrap();
    assert_eq!(site.problems().await, [Problem::NoConsumer]);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_gets_shorter_between_two_looks_does_not_stand_still() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 3).await;
    site.at(2_000).await;
    assert_eq!(site.problems().await, [Problem::NoConsumer]);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        orders.queue().cancel_one(MessageId::new(1)).await
    };
    let (problems, cancelled) = tokio::join!(site.problems(), cancel);
    assert_eq!(cancelled.unwrap(), Cancelled::Cancelled);
    assert_eq!(problems, []);
}

#[tokio::test(start_paused = true)]
async fn a_healthy_queue_says_how_many_consumers_wait() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    for waiting in ["0 consumers wait", "1 consumer waits", "2 consumers wait"] {
        let numbers = "0 ready, 0 delayed, 0 leased, 0 dead, 0 acked";
        let said = format!("nothing is wrong: {numbers}; {waiting}");
        assert_eq!(site.why().await.headline(), said);
        let orders = orders.clone();
        tokio::spawn(async move { orders.receive(HOUR, HOUR).await.map(drop) });
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_not_called_a_slow_or_missing_consumer() {
    let site = Site::new();
    let config = ReliableConfig::default().with_at_once(1);
    let orders = site
        .queues
        .reliable("orders")
        .config(config)
        .open::<u64>()
        .await;
    let orders = orders.unwrap();
    push(&**orders.queue(), 3).await;
    site.at(299_000).await;
    lease(&**orders.queue(), 1, MINUTE, "").await;
    site.at(310_000).await;
    assert_eq!(site.problems().await, [Problem::LimitReached]);
}

/// The worker that is gone, of several: the one whose lease ends last, by its own beat, and its own messages.
#[tokio::test(start_paused = true)]
async fn the_messages_of_a_gone_worker_are_told_from_those_of_a_live_one() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 10).await;
    let short = Duration::from_secs(1);
    register(&site, "gone 1", &["orders"], short).await;
    register(&site, "gone 2", &["orders", "mails"], short).await;
    register(&site, "alive", &["orders"], LONG).await;
    register(&site, "both", &["orders"], short).await;
    register(&site, "both", &["orders", "others"], LONG).await;
    register(&site, "elsewhere", &["mails"], short).await;
    for (count, minutes, holder) in [
        (2, 30, "gone 1"),
        (3, 50, "gone 2"),
        (1, 55, "alive"),
        (1, 56, "both"),
        (1, 57, "elsewhere"),
        (1, 58, ""),
    ] {
        let leased = lease(&**orders.queue(), count, minutes * MINUTE, holder).await;
        assert_eq!(leased.len(), count);
    }
    // Of two workers of one name, the later beat counts.
    site.at(60_000).await;
    register(&site, "gone 2", &["orders"], short).await;
    site.at(180_000).await;
    let found = site.find(Problem::HolderGone).await.unwrap();
    assert_eq!(
        found.to_string(),
        "3 messages leased by `gone 2`, which is gone for 2 min: the last lease ends in 47 min: \
         `qk release orders --holder 'gone 2'`"
    );
    assert_eq!(found.severity, Severity::Trouble);
}

#[tokio::test(start_paused = true)]
async fn a_consumer_has_its_longest_lease_and_the_end_that_comes_next() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 4).await;
    for (time, minutes, holder) in [
        (0, 20, "web 1"),
        (10_000, 2, "web 1"),
        (15_000, 30, "web 1"),
        (20_000, 1, "web 2"),
    ] {
        site.at(time).await;
        lease(&**orders.queue(), 1, minutes * MINUTE, holder).await;
    }
    site.at(30_000).await;
    let found = consumers(&**site.queues.backend(), "orders").await;
    let found: Vec<_> = found
        .unwrap()
        .into_iter()
        .map(|one| (one.holder, one.leased, one.longest_ms, one.next_end_ms))
        .collect();
    assert_eq!(
        found,
        [
            ("web 1".to_owned(), 3, 30_000, Some(100_000)),
            ("web 2".to_owned(), 1, 10_000, Some(50_000)),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_worker_that_was_killed_last_is_named() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let short = Duration::from_secs(1);
    register(&site, "first", &["orders"], short).await;
    site.at(60_000).await;
    register(&site, "last", &["orders"], short).await;
    site.at(90_000).await;
    // Its queue has a name that begins as this one's does.
    register(&site, "elsewhere", &["order"], short).await;
    push(&**orders.queue(), 1).await;
    site.at(240_000).await;
    let found = site.find(Problem::NoConsumer).await.unwrap();
    let said = "1 ready, no live consumer; the last was `last`, 3 min ago";
    assert_eq!(found.to_string(), said);
}

/// Of several groups, the one whose message waits longest is named, with what keeps it.
#[tokio::test(start_paused = true)]
async fn the_group_that_waits_longest_is_named() {
    let site = Site::new();
    let orders = site.queues.grouped("orders").open::<u64>().await.unwrap();
    orders.push(&1, "b").await.unwrap();
    orders.queue().pause_group("b", HOUR).await.unwrap();
    site.at(2_000).await;
    orders
        .push_all(&[(1, "a"), (2, "a"), (1, "c")])
        .await
        .unwrap();
    // A pause of a group without messages keeps nothing.
    orders.queue().pause_group("a", HOUR).await.unwrap();
    orders.queue().pause_group("nothing", LONG).await.unwrap();
    site.at(5_000).await;
    let found = site.find(Problem::GroupsHeld).await.unwrap();
    assert_eq!(
        found.to_string(),
        "group `b`: paused for 59 min; 1 ready wait behind that, the oldest for 5.0 s; 2 groups in all: \
         `qk resume orders --group b`"
    );
    let advice = found.remedy.unwrap().what;
    assert_eq!(advice, "hand out its messages again");
}

#[tokio::test(start_paused = true)]
async fn one_failed_message_is_shown_with_the_attempts_that_it_has_left() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 1).await;
    for (time, delay, reason) in [
        (0, 1, "the bank is closed"),
        (1_000, 300, "422: unknown article"),
    ] {
        site.at(time).await;
        let receipts = lease(&**orders.queue(), 1, HOUR, "").await;
        let retry = Settlement::retry_because(receipts[0], Duration::from_secs(delay), reason);
        settle(&**orders.queue(), &[retry]).await;
    }
    let found = site.find(Problem::Failing).await.unwrap();
    assert_eq!(
        found.to_string(),
        "#1 failed 2 ×: '422: unknown article'; next try in 5 min, 3 attempts left: `qk show orders 1`"
    );
}

#[tokio::test(start_paused = true)]
async fn of_several_failed_messages_the_next_try_is_shown() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 3).await;
    let receipts = lease(&**orders.queue(), 3, HOUR, "").await;
    let retries = receipts.iter().zip([900, 300, 600]);
    let retries = retries.map(|(one, delay)| {
        Settlement::retry_because(*one, Duration::from_secs(delay), "no article")
    });
    settle(&**orders.queue(), &retries.collect::<Vec<_>>()).await;
    let found = site.find(Problem::Failing).await.unwrap();
    assert_eq!(
        found.to_string(),
        "3 failed: 'no article', or alike; next try in 5 min: `qk show orders 2`"
    );
    assert_eq!(found.evidence["next_ms"], 300_000);
}

#[tokio::test(start_paused = true)]
async fn bodies_that_do_not_decode_are_told_from_other_failures() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 6).await;
    let receipts = lease(&**orders.queue(), 6, HOUR, "").await;
    let unknown = "cannot decode: unknown variant `ShipTo`";
    let ten = Duration::from_secs(600);
    settle(
        &**orders.queue(),
        &[
            Settlement::retry_because(receipts[0], ten, unknown),
            Settlement::retry_because(receipts[1], ten, "we cannot decode: it"),
            Settlement::retry_because(receipts[2], ten, "we cannot decode: it"),
            Settlement::bury(receipts[3], "no article"),
        ],
    )
    .await;
    let found = site.find(Problem::Undecodable).await.unwrap();
    let said = "1 message cannot be decoded: unknown variant `ShipTo`";
    assert_eq!(found.sentence, said);
    let found = site.find(Problem::Failing).await.unwrap();
    assert_eq!(found.evidence["messages"], 2);
}

#[tokio::test(start_paused = true)]
async fn the_headline_is_the_worst_finding() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 3).await;
    let receipts = lease(&**orders.queue(), 2, HOUR, "").await;
    settle(
        &**orders.queue(),
        &[
            Settlement::retry_because(receipts[0], HOUR, "422"),
            Settlement::bury(receipts[1], "no article"),
        ],
    )
    .await;
    orders.queue().pause().await.unwrap();
    let why = site.why().await;
    let severities: Vec<_> = why.findings.iter().map(|one| one.severity).collect();
    assert!(severities.is_sorted(), "{severities:?}");
    let problems: Vec<_> = why.findings.iter().map(|one| one.problem).collect();
    let expected = [Problem::Paused, Problem::Failing, Problem::DeadLetters];
    assert_eq!(problems, expected);
    assert_eq!(why.headline(), "paused; 1 ready wait: `qk resume orders`");
}

/// Findings are listed by how bad they are, whatever they are about.
#[tokio::test(start_paused = true)]
async fn trouble_comes_before_a_note_of_another_kind() {
    let site = Site::new();
    let config = ReliableConfig::default().with_at_once(1);
    let orders = site
        .queues
        .reliable("orders")
        .config(config)
        .open::<u64>()
        .await;
    let orders = orders.unwrap();
    push(&**orders.queue(), 3).await;
    let receipts = lease(&**orders.queue(), 1, MINUTE, "").await;
    settle(
        &**orders.queue(),
        &[Settlement::bury(receipts[0], "no article")],
    )
    .await;
    lease(&**orders.queue(), 1, MINUTE, "").await;
    let found = site.why().await.findings.into_iter();
    let found: Vec<_> = found.map(|one| (one.problem, one.severity)).collect();
    let trouble = (Problem::DeadLetters, Severity::Trouble);
    assert_eq!(found, [trouble, (Problem::LimitReached, Severity::Note)]);
    assert!(site.why().await.headline().starts_with("1 dead letter: "));
}

/// A list that is shown has no consumer, and a queue that was consumed once has one missing.
#[tokio::test(start_paused = true)]
async fn one_use_of_a_list_makes_it_a_queue() {
    let uses: [fn(Receipt) -> Settlement; 4] = [
        Settlement::ack,
        |receipt| Settlement::retry(receipt, Duration::ZERO),
        |receipt| Settlement::defer(receipt, Duration::ZERO),
        Settlement::release,
    ];
    for (number, used) in uses.into_iter().enumerate() {
        let site = Site::new();
        let orders = site
            .queues
            .bounded("orders", 2)
            .open::<u64>()
            .await
            .unwrap();
        for order in 0..4 {
            orders
                .push(&order, Overflow::DropOldest)
                .await
                .unwrap()
                .id()
                .unwrap();
        }
        site.at(2_000).await;
        assert_eq!(site.problems().await, [], "{number}");
        let receipts = lease(&**orders.queue(), 1, HOUR, "").await;
        settle(&**orders.queue(), &[used(receipts[0])]).await;
        assert!(
            site.problems().await.contains(&Problem::NoConsumer),
            "{number}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_for_which_producers_wait_is_full() {
    let site = Site::new();
    let orders = site
        .queues
        .bounded("orders", 2)
        .open::<u64>()
        .await
        .unwrap();
    for order in 0..4 {
        orders
            .push(&order, Overflow::DropOldest)
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    site.at(2_000).await;
    assert_eq!(site.find(Problem::Full).await, None);
    let waits = tokio::spawn({
        let orders = orders.clone();
        async move { orders.message(&9).wait(HOUR).send().await.map(drop) }
    });
    site.at(3_000).await;
    let full = site.find(Problem::Full).await.unwrap();
    let said = "full: 2 of 2, producers wait for room, no consumer";
    assert_eq!(full.to_string(), said);
    waits.abort();
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_says_what_became_of_its_messages() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 4).await;
    let receipts = lease(&**orders.queue(), 4, HOUR, "").await;
    settle(
        &**orders.queue(),
        &[
            Settlement::ack(receipts[0]),
            Settlement::ack(receipts[1]),
            Settlement::bury(receipts[2], "no article"),
            Settlement::bury(receipts[3], "no article"),
        ],
    )
    .await;
    // A dead letter that was discarded is dead no more.
    orders.queue().discard(&[receipts[3].id]).await.unwrap();
    let found = site.find(Problem::Empty).await.unwrap();
    assert_eq!(
        found.sentence,
        "empty: 4 were pushed, 2 are acked, 1 are dead"
    );
}

#[tokio::test(start_paused = true)]
async fn failures_are_grouped_by_cause_the_largest_first() {
    let reasons = [
        "z 1", "a 1", "z 2", "z 3", "b 1", "a 2", "z 4", "z 5", "z 6",
    ];
    let orders = Site::new()
        .queues
        .reliable("orders")
        .open::<u64>()
        .await
        .unwrap();
    push(&**orders.queue(), reasons.len()).await;
    let receipts = lease(&**orders.queue(), reasons.len(), HOUR, "").await;
    let buried = receipts.iter().zip(reasons);
    let buried = buried.map(|(one, reason)| Settlement::bury(*one, reason));
    settle(&**orders.queue(), &buried.collect::<Vec<_>>()).await;
    let letters = orders.queue().dead_letters(Page::first(100)).await;
    let letters = letters.unwrap().entries;
    let groups = group_failures(&letters);
    let shown: Vec<_> = groups
        .iter()
        .map(|group| {
            let ids: Vec<u64> = group.ids.iter().map(|id| id.get()).collect();
            (&*group.example, group.count, ids)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("buried: z 1", 6, vec![1, 3, 4, 7, 8]),
            ("buried: a 1", 2, vec![2, 6]),
            ("buried: b 1", 1, vec![5]),
        ]
    );
    for group in &groups {
        let ids = ids_of_failure(&letters, &group.fingerprint);
        assert_eq!(ids.len() as u64, group.count);
        assert_eq!(ids[..group.ids.len()], group.ids);
        // The name of a cause does not depend on the other letters.
        let own: Vec<_> = letters
            .iter()
            .filter(|one| ids.contains(&one.id))
            .cloned()
            .collect();
        assert_eq!(group_failures(&own)[0].cause, group.cause);
    }
    let causes: Vec<_> = groups.iter().map(|group| &group.cause).collect();
    assert!(causes[0] != causes[1] && causes[1] != causes[2] && causes[0] != causes[2]);
}

#[test]
fn a_fingerprint_leaves_out_numbers_and_quotes() {
    for (reason, expected) in [
        ("order 41", "order #"),
        ("7f3a-99 is gone", "# is gone"),
        ("face is a word", "face is a word"),
        ("no \"rose\" here", "no '…' here"),
        ("no `rose` and 'kite'", "no '…' and '…'"),
        ("it's and it's", "it's and it's"),
        ("an open \" quote", "an open \" quote"),
        ("'' empty", "'…' empty"),
    ] {
        assert_eq!(fingerprint(reason), expected, "{reason}");
    }
}
