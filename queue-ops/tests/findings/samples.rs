//! The telling entries are found wherever a listing has them, and counts are whole.

use std::time::Duration;

use queue_core::*;
use queue_ops::{Problem, Severity};

use crate::told::{HOUR, LONG, Site, lease, push, settle};

/// Dead letters that are read, at most; and leases, delayed messages, groups.
const MOST: usize = 10_000;

async fn bury(queue: &dyn ReliableQueue, count: usize, reason: &str) {
    push(queue, count).await;
    let mut left = count;
    while left > 0 {
        let receipts = lease(queue, left.min(limits::MAX_BATCH), HOUR, "").await;
        left -= receipts.len();
        let buried = receipts.iter().map(|one| Settlement::bury(*one, reason));
        settle(queue, &buried.collect::<Vec<_>>()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn new_dead_letters_are_seen_behind_old_ones() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    bury(&**orders.queue(), 1_500, "the bank is closed").await;
    site.at(7_200_000).await;
    bury(&**orders.queue(), 5_000, "order 7: no article").await;
    let found = site.find(Problem::DeadLetters).await.unwrap();
    assert_eq!(found.severity, Severity::Trouble);
    assert_eq!(found.evidence["in_the_last_hour"], 5_000);
    let said = "6500 dead letters, 5000 of them: 'buried: order 7: no article'";
    assert_eq!(found.sentence, said);
}

/// The oldest come first, so letters that were not read may be new.
#[tokio::test(start_paused = true)]
async fn more_dead_letters_than_are_read_are_called_a_sample() {
    for (count, is_sample) in [(MOST, false), (MOST + 1, true)] {
        let site = Site::new();
        let config = ReliableConfig::default().with_dead_letter_cap(20_000);
        let orders = site
            .queues
            .reliable("orders")
            .config(config)
            .open::<u64>()
            .await;
        let orders = orders.unwrap();
        bury(&**orders.queue(), count, "no article").await;
        site.at(7_200_000).await;
        let found = site.find(Problem::DeadLetters).await.unwrap();
        let severity = if is_sample {
            Severity::Trouble
        } else {
            Severity::Note
        };
        assert_eq!(found.severity, severity);
        let said = match is_sample {
            true => "10001 dead letters, 10000 of the first 10000: 'buried: no article'",
            false => "10000 dead letters: 'buried: no article'",
        };
        assert_eq!(found.sentence, said);
        let sampled = site.find(Problem::Sampled).await;
        let said = sampled.map(|one| one.sentence);
        let sample = "only the first 10000 of 10001 dead letters were looked at".to_owned();
        assert_eq!(said, is_sample.then_some(sample));
    }
}

#[tokio::test(start_paused = true)]
async fn long_leases_are_seen_behind_fresh_ones() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 2_600).await;
    for (count, time, holder) in [(11, Duration::from_secs(30), "web-1"), (9, LONG, "vm-2")] {
        for _ in 0..count {
            let leased = lease(&**orders.queue(), 128, time, holder).await;
            assert_eq!(leased.len(), 128);
        }
    }
    lease(&**orders.queue(), 3, LONG / 2, "vm-3").await;
    let found = site.find(Problem::LongLeases).await.unwrap();
    assert_eq!(found.evidence["leases"], 9 * 128 + 3);
    assert_eq!(found.evidence["holder"], "vm-2");
    assert_eq!(found.severity, Severity::Trouble);
    assert_eq!(
        found.to_string(),
        "1152 leased by `vm-2` for 20 h more, 3 by others, since 0 ms: `qk release orders --holder vm-2`"
    );
}

#[tokio::test(start_paused = true)]
async fn failed_messages_are_counted_and_the_largest_group_is_named() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    for (count, reason, delay) in [
        (130, "the bank is closed", 600),
        (1_200, "422: unknown article", 900),
        (40, "the disk is full", 300),
    ] {
        push(&**orders.queue(), count).await;
        let mut left = count;
        while left > 0 {
            let receipts = lease(&**orders.queue(), left.min(limits::MAX_BATCH), HOUR, "").await;
            left -= receipts.len();
            let delay = Duration::from_secs(delay);
            let retried = receipts
                .iter()
                .map(|one| Settlement::retry_because(*one, delay, reason));
            settle(&**orders.queue(), &retried.collect::<Vec<_>>()).await;
        }
    }
    let found = site.find(Problem::Failing).await.unwrap();
    assert_eq!(
        found.to_string(),
        "1200 failed: '422: unknown article', or alike; next try in 15 min: `qk show orders 131`"
    );
}

#[tokio::test(start_paused = true)]
async fn a_wrong_due_time_is_seen_behind_right_ones() {
    let site = Site::new();
    let orders = site.queues.delay("orders").open::<u64>().await.unwrap();
    for order in 0..2_500 {
        orders.push(&order, HOUR).await.unwrap();
    }
    let years = Duration::from_secs(30 * 86_400 * 1_000);
    for order in 0..1_100 {
        orders.push(&order, years).await.unwrap();
    }
    let found = site.find(Problem::WrongUnit).await.unwrap();
    let said =
        "1100 due in the year 2109: milliseconds taken for seconds?: `qk peek orders delayed`";
    assert_eq!(found.to_string(), said);
}

#[tokio::test(start_paused = true)]
async fn a_sample_of_delayed_messages_is_called_one_and_is_no_trouble() {
    for (count, sampled) in [(MOST, 0), (MOST + 1, 1)] {
        let site = Site::new();
        let orders = site.queues.delay("orders").open::<u64>().await.unwrap();
        let batch = vec![Push::from("1").with_due(HOUR); limits::MAX_BATCH];
        for start in (0..count).step_by(limits::MAX_BATCH) {
            let batch = &batch[..limits::MAX_BATCH.min(count - start)];
            orders.queue().push(batch).await.unwrap();
        }
        let why = site.why().await;
        assert!(why.is_healthy(), "{}", why.headline());
        let notes: Vec<_> = why.findings.iter().map(|one| &*one.sentence).collect();
        let due = format!("{count} due later, the next in 60 min");
        let sample = "only the first 10000 of 10001 delayed messages were looked at";
        assert_eq!(notes[0], due);
        assert_eq!(notes[1..], [sample][..sampled]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_group_is_seen_behind_groups_that_may_run() {
    let site = Site::new();
    let config = GroupedConfig::default().with_on_death(OnDeath::Park);
    let orders = site
        .queues
        .grouped("orders")
        .config(config)
        .open::<u64>()
        .await;
    let orders = orders.unwrap();
    orders
        .push_all(&[(1, "the last"), (2, "the last")])
        .await
        .unwrap();
    let first = lease(&**orders.queue(), 1, HOUR, "").await;
    settle(
        &**orders.queue(),
        &[Settlement::bury(first[0], "no article")],
    )
    .await;
    site.at(61_000).await;
    // Groups that may run, and groups that are taken.
    for group in 0..1_200 {
        let key = format!("order-{group:04}");
        orders.push(&1, key.as_str()).await.unwrap();
    }
    for _ in 0..5 {
        assert_eq!(lease(&**orders.queue(), 120, HOUR, "").await.len(), 120);
    }
    let found = site.find(Problem::GroupsHeld).await.unwrap();
    assert_eq!(
        found.to_string(),
        "group `the last`: parked, because one of its messages died; 1 ready wait behind that, the oldest for 61 s: \
         `qk resume orders --group 'the last'`"
    );
    let advice = found.remedy.clone().unwrap().what;
    assert_eq!(
        advice,
        "mend the cause of the death, then hand out the others"
    );
    assert_eq!(found.severity, Severity::Trouble);
}

#[tokio::test(start_paused = true)]
async fn a_place_without_messages_costs_no_page() {
    let site = Site::new();
    site.queues.reliable("orders").open::<u64>().await.unwrap();
    let why = site.why().await;
    assert!(why.is_healthy());
    assert_eq!(why.findings.len(), 1, "{:?}", why.findings);
    assert_eq!(why.findings[0].sentence, "empty: nothing was ever pushed");
}
