//! Thresholds, each from both sides.

use std::time::Duration;

use queue_core::*;
use queue_ops::{Problem, Severity, duration_in_words};

use crate::told::{HOUR, LONG, Site, Told, lease, push, settle};

/// The severities of a problem at these times after the beginning.
async fn severities(site: &Site, problem: Problem, times: &[u64]) -> Vec<Option<Severity>> {
    let mut found = Vec::new();
    for time in times {
        site.at(*time).await;
        found.push(site.severity(problem).await);
    }
    found
}

const NOTE: Option<Severity> = Some(Severity::Note);
const TROUBLE: Option<Severity> = Some(Severity::Trouble);
const STANDSTILL: Option<Severity> = Some(Severity::Standstill);

#[tokio::test(start_paused = true)]
async fn a_missing_consumer_is_named_after_a_second() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 2).await;
    let found = severities(&site, Problem::NoConsumer, &[999, 1_000]).await;
    assert_eq!(found, [None, STANDSTILL]);
    // Somebody has a message, and may come for more.
    let receipts = lease(&**orders.queue(), 1, HOUR, "").await;
    assert_eq!(site.find(Problem::NoConsumer).await, None);
    settle(&**orders.queue(), &[Settlement::ack(receipts[0])]).await;
    assert_eq!(site.severity(Problem::NoConsumer).await, STANDSTILL);
    lease(&**orders.queue(), 1, HOUR, "").await;
    assert_eq!(
        site.find(Problem::NoConsumer).await,
        None,
        "nothing is ready"
    );
}

#[tokio::test(start_paused = true)]
async fn consumers_are_too_slow_after_five_minutes() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 2).await;
    site.at(299_000).await;
    lease(&**orders.queue(), 1, Duration::from_secs(30), "").await;
    let found = severities(&site, Problem::TooSlow, &[299_999, 300_000]).await;
    assert_eq!(found, [None, TROUBLE]);
    // Without a lease, it is a missing consumer.
    site.at(329_000).await;
    assert_eq!(site.find(Problem::TooSlow).await, None);
    assert_eq!(site.severity(Problem::NoConsumer).await, STANDSTILL);
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_trouble_once_messages_wait_for_over_a_minute() {
    let site = Site::new();
    let config = ReliableConfig::default().with_at_once(2);
    let orders = site
        .queues
        .reliable("orders")
        .config(config)
        .open::<u64>()
        .await;
    let orders = orders.unwrap();
    push(&**orders.queue(), 3).await;
    lease(&**orders.queue(), 1, HOUR, "").await;
    assert_eq!(site.find(Problem::LimitReached).await, None, "one more may");
    lease(&**orders.queue(), 1, HOUR, "").await;
    let found = severities(&site, Problem::LimitReached, &[10, 60_000, 60_001]).await;
    assert_eq!(found, [NOTE, NOTE, TROUBLE]);
    let found = site.find(Problem::LimitReached).await.unwrap().to_string();
    let said = "limit reached: 2 of 2 at once, 2 by `(without a name)` until in 58 min; 1 ready wait, the oldest for 60 s";
    assert_eq!(found, said);
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_a_standstill_if_the_next_comes_in_over_a_minute() {
    for (millis, severity) in [(60_000, NOTE), (60_001, STANDSTILL)] {
        let site = Site::new();
        let config = ReliableConfig::default().with_rate(1, Duration::from_millis(millis));
        let orders = site
            .queues
            .reliable("orders")
            .config(config)
            .open::<u64>()
            .await;
        let orders = orders.unwrap();
        push(&**orders.queue(), 2).await;
        assert_eq!(site.find(Problem::LimitReached).await, None, "one may");
        lease(&**orders.queue(), 1, HOUR, "").await;
        let found = site.find(Problem::LimitReached).await.unwrap();
        assert_eq!(Some(found.severity), severity, "{millis}");
        assert_eq!(found.evidence["next_ms"], millis);
        assert_eq!(
            found.remedy.unwrap().command,
            None,
            "a limit is not taken away first"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_long_over_an_hour() {
    for (millis, severity) in [(3_600_000, None), (3_600_001, STANDSTILL)] {
        let site = Site::new();
        let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
        push(&**orders.queue(), 1).await;
        lease(&**orders.queue(), 1, Duration::from_millis(millis), "").await;
        assert_eq!(
            site.severity(Problem::LongLeases).await,
            severity,
            "{millis}"
        );
        push(&**orders.queue(), 1).await;
        let others_may = severity.and(TROUBLE);
        assert_eq!(site.severity(Problem::LongLeases).await, others_may);
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_lease_beside_a_short_one_is_no_standstill() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 2).await;
    lease(&**orders.queue(), 1, LONG, "").await;
    assert_eq!(
        site.severity(Problem::LongLeases).await,
        TROUBLE,
        "one is ready"
    );
    lease(&**orders.queue(), 1, Duration::from_secs(30), "").await;
    assert_eq!(
        site.severity(Problem::LongLeases).await,
        TROUBLE,
        "one moves"
    );
    site.at(30_000).await;
    let receipts = lease(&**orders.queue(), 1, HOUR, "").await;
    settle(&**orders.queue(), &[Settlement::ack(receipts[0])]).await;
    assert_eq!(site.severity(Problem::LongLeases).await, STANDSTILL);
}

/// While messages wait and nobody comes, a minute is long.
#[tokio::test(start_paused = true)]
async fn a_lease_is_long_over_a_minute_while_messages_starve() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 2).await;
    lease(&**orders.queue(), 1, Duration::from_millis(1_360_001), "").await;
    let times = [60_000, 60_001, 300_000, 300_001, 1_300_000, 1_300_001];
    let found = severities(&site, Problem::LongLeases, &times).await;
    assert_eq!(
        found,
        [None, TROUBLE, TROUBLE, STANDSTILL, STANDSTILL, None]
    );
    assert_eq!(
        site.severity(Problem::HandlersHang).await,
        STANDSTILL,
        "its lease may be extended"
    );
}

/// A paused queue has consumers that wait, so its leases may last.
#[tokio::test(start_paused = true)]
async fn nothing_starves_while_a_consumer_waits() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 2).await;
    lease(&**orders.queue(), 1, Duration::from_secs(1_200), "").await;
    orders.queue().pause().await.unwrap();
    let waits = tokio::spawn({
        let orders = orders.clone();
        async move { orders.receive(HOUR, HOUR).await.map(drop) }
    });
    site.at(300_001).await;
    assert_eq!(site.find(Problem::LongLeases).await, None);
    waits.abort();
}

/// Nobody knows whether a consumer waits: its handlers may be busy.
#[tokio::test(start_paused = true)]
async fn nothing_starves_where_consumers_are_not_counted() {
    let mut backend = Told::new();
    backend.counts_nobody = true;
    let site = Site::on(backend);
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 2).await;
    lease(&**orders.queue(), 1, HOUR, "").await;
    site.at(300_001).await;
    assert_eq!(site.problems().await, [Problem::TooSlow]);
}

#[tokio::test(start_paused = true)]
async fn held_groups_are_named_after_a_second_and_are_trouble_after_a_minute() {
    let site = Site::new();
    let orders = site.queues.grouped("orders").open::<u64>().await.unwrap();
    orders
        .push_all(&[(1, "a"), (2, "a"), (3, "b")])
        .await
        .unwrap();
    orders.queue().pause_group("a", LONG).await.unwrap();
    let times = [999, 1_000, 60_000, 60_001];
    let found = severities(&site, Problem::GroupsHeld, &times).await;
    assert_eq!(found, [None, NOTE, NOTE, TROUBLE]);
    // The other group is taken: nothing moves.
    let receipts = lease(&**orders.queue(), 2, HOUR, "").await;
    assert_eq!(receipts.len(), 1);
    assert_eq!(
        site.severity(Problem::GroupsHeld).await,
        TROUBLE,
        "one is handled"
    );
    settle(&**orders.queue(), &[Settlement::ack(receipts[0])]).await;
    assert_eq!(site.severity(Problem::GroupsHeld).await, STANDSTILL);
    assert_eq!(site.find(Problem::NoConsumer).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_group_is_busy_with_more_than_half_of_the_leases() {
    // Leases of the group, leases of another, and ready messages of another.
    for (own, others, ready, is_named) in [
        (2, 1, 1, true),
        (2, 2, 1, false),
        (3, 2, 1, true),
        (1, 0, 1, false),
        (2, 0, 0, false),
    ] {
        let site = Site::new();
        let config = GroupedConfig::loose(100);
        let orders = site
            .queues
            .grouped("orders")
            .config(config)
            .open::<u64>()
            .await;
        let orders = orders.unwrap();
        for (group, count) in [("big", own), ("other", others)] {
            for _ in 0..count {
                orders.push(&1, group).await.unwrap();
                assert_eq!(lease(&**orders.queue(), 1, HOUR, "").await.len(), 1);
            }
        }
        for _ in 0..ready {
            orders.push(&1, "third").await.unwrap();
        }
        // The ready messages of the group itself do not count.
        orders.push(&1, "big").await.unwrap();
        let found = severities(&site, Problem::BusyGroup, &[999, 1_000]).await;
        let named = is_named.then_some(Severity::Trouble);
        assert_eq!(found, [None, named], "{own} {others} {ready}");
        if let Some(found) = site.find(Problem::BusyGroup).await {
            // Half of all leases, for an hour.
            let half = (own + others) / 2;
            let rule = format!("`qk rule orders big --at-once {half} --for-ms 3600000`");
            assert!(found.to_string().ends_with(&rule), "{found}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_due_time_is_wrong_over_twenty_years_ahead() {
    const YEARS: u64 = 20 * 365 * 86_400_000;
    // Seconds of two years in milliseconds are plausible; the time since 1970 is guessed within a tenth.
    let since_1970 = crate::told::START.as_millis();
    for (delay, said) in [
        (YEARS, None),
        (YEARS + 1, Some(": milliseconds taken for seconds?")),
        (
            since_1970 / 10 * 9 - 1,
            Some(": milliseconds taken for seconds?"),
        ),
        (
            since_1970 / 10 * 9 + 1_000,
            Some(": a time of the clock taken for a delay?"),
        ),
        (
            since_1970 / 10 * 11 - 1_000,
            Some(": a time of the clock taken for a delay?"),
        ),
        (
            since_1970 / 10 * 11 + 1_000,
            Some(": milliseconds taken for seconds?"),
        ),
        (
            2 * 365 * 86_400_000_000 - 1,
            Some(": milliseconds taken for seconds?"),
        ),
        (2 * 365 * 86_400_000_000, Some("")),
    ] {
        let site = Site::new();
        let orders = site.queues.delay("orders").open::<u64>().await.unwrap();
        orders.push(&1, HOUR).await.unwrap();
        orders.push(&1, Duration::from_millis(delay)).await.unwrap();
        let found = site.find(Problem::WrongUnit).await;
        assert_eq!(found.is_some(), said.is_some(), "{delay}");
        let (Some(found), Some(said)) = (found, said) else {
            continue;
        };
        let (before, guess) = found
            .sentence
            .split_once(':')
            .unwrap_or((&found.sentence, ""));
        assert!(
            before.starts_with("1 due in the year "),
            "{delay}: {before}"
        );
        assert_eq!(guess, said.trim_start_matches(':'), "{delay}");
    }
}

#[tokio::test(start_paused = true)]
async fn dead_letters_are_new_for_an_hour() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 1).await;
    let receipts = lease(&**orders.queue(), 1, HOUR, "").await;
    settle(
        &**orders.queue(),
        &[Settlement::bury(receipts[0], "no article")],
    )
    .await;
    let times = [0, 3_599_999, 3_600_000];
    let found = severities(&site, Problem::DeadLetters, &times).await;
    assert_eq!(found, [TROUBLE, TROUBLE, NOTE]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_went_back_from_two_seconds_on() {
    for (behind, severity) in [(1_999, None), (2_000, TROUBLE)] {
        let mut backend = Told::new();
        backend.behind = Duration::from_millis(behind);
        let site = Site::on(backend);
        let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
        push(&**orders.queue(), 2).await;
        lease(&**orders.queue(), 1, Duration::from_secs(30), "").await;
        let found = site.find(Problem::ClockWentBack).await;
        assert_eq!(found.as_ref().map(|one| one.severity), severity, "{behind}");
        if let Some(found) = found {
            assert_eq!(found.evidence["step_ms"], behind);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_bounded_queue_is_full_with_its_last_place() {
    let site = Site::new();
    let orders = site
        .queues
        .bounded("orders", 3)
        .open::<u64>()
        .await
        .unwrap();
    for order in 0..2 {
        orders
            .push(&order, Overflow::Reject)
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    assert_eq!(site.find(Problem::Full).await, None);
    orders
        .push(&2, Overflow::Reject)
        .await
        .unwrap()
        .id()
        .unwrap();
    let full = site.find(Problem::Full).await.unwrap();
    assert_eq!(full.to_string(), "full: 3 of 3, no consumer");
    assert_eq!(full.severity, Severity::Standstill);
    // With a consumer that has a message, more room may help.
    let receipts = lease(&**orders.queue(), 1, HOUR, "").await;
    let full = site.find(Problem::Full).await.unwrap();
    assert_eq!(
        full.to_string(),
        "full: 3 of 3: `qk reconfigure orders capacity=6`"
    );
    assert_eq!(full.severity, Severity::Trouble);
    settle(&**orders.queue(), &[Settlement::ack(receipts[0])]).await;
    assert_eq!(site.find(Problem::Full).await, None);
}

#[test]
fn durations_change_their_units_at_these_lengths() {
    for (millis, words) in [
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (1_999, "1.9 s"),
        (9_999, "9.9 s"),
        (10_000, "10 s"),
        (119_999, "119 s"),
        (120_000, "2 min"),
        (7_199_999, "119 min"),
        (7_200_000, "2 h"),
        (7_260_000, "2 h 1 min"),
        (172_799_999, "47 h 59 min"),
        (172_800_000, "2 d"),
        (176_400_000, "2 d 1 h"),
    ] {
        assert_eq!(duration_in_words(Duration::from_millis(millis)), words);
    }
}
