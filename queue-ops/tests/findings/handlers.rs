//! Handlers that do not return, and groups that wait for their own rules, each from both sides.

use std::time::Duration;

use queue_core::*;
use queue_ops::{Problem, Severity};

use crate::told::{Site, lease, push, settle};

const MINUTE: Duration = Duration::from_secs(60);

/// Extends these leases by a minute, every half minute, until this time after the beginning.
async fn beat(site: &Site, queue: &dyn Leasing, receipts: &[Receipt], until: u64) {
    let extensions: Vec<Extension> = receipts.iter().map(|one| (*one).into()).collect();
    for millis in (30_000..until).step_by(30_000) {
        site.at(millis).await;
        let extended = queue.extend(&extensions, MINUTE).await.unwrap();
        assert!(extended.iter().all(|one| *one == Extended::Extended));
    }
    site.at(until).await;
}

#[tokio::test(start_paused = true)]
async fn handlers_that_never_return_are_named_though_their_leases_are_extended() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let resize = Push::new("1").with_headers(Headers::new().with_job("resize"));
    let pushed = orders.queue().push(&vec![resize; 8]).await.unwrap();
    assert_eq!(pushed.len(), 8);
    push(&**orders.queue(), 3).await;
    let held = lease(&**orders.queue(), 8, MINUTE, "vm, process 1").await;
    beat(&site, &**orders.queue(), &held, 299_999).await;
    assert_eq!(site.find(Problem::HandlersHang).await, None);
    site.at(300_000).await;
    let why = site.why().await;
    assert_eq!(
        why.headline(),
        "8 leased by `vm, process 1` for 5 min, none settled, job `resize`; 3 ready wait, the oldest for 5 min: \
         `qk release orders --holder 'vm, process 1'`"
    );
    assert_eq!(why.findings[0].severity, Severity::Standstill);
    assert_eq!(
        site.problems().await,
        [Problem::HandlersHang],
        "more consumers are no way out"
    );
    // One that returns shows that handlers may take this long.
    settle(&**orders.queue(), &[Settlement::ack(held[0])]).await;
    assert_eq!(
        site.severity(Problem::HandlersHang).await,
        Some(Severity::Trouble)
    );
    // A lease that is younger shows that messages move.
    lease(&**orders.queue(), 1, MINUTE, "vm, process 1").await;
    assert_eq!(site.find(Problem::HandlersHang).await, None);
}

/// Leases that expire while a worker is gone are its own.
#[tokio::test(start_paused = true)]
async fn leases_that_expired_long_ago_or_seldom_accuse_nobody() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    push(&**orders.queue(), 6).await;
    lease(&**orders.queue(), 6, Duration::from_millis(10), "a").await;
    site.at(1_000).await;
    assert_eq!(
        site.find(Problem::LeasesExpire).await,
        None,
        "no worker is known"
    );
    assert_eq!(
        site.find(Problem::KillsItsProcess).await,
        None,
        "once is an accident"
    );
    let all = lease(&**orders.queue(), 6, MINUTE, "a").await;
    let acks: Vec<_> = all.into_iter().map(Settlement::ack).collect();
    settle(&**orders.queue(), &acks).await;
    assert_eq!(site.problems().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_waits_for_its_own_rule_is_trouble_after_a_minute() {
    let site = Site::new();
    let orders = site.queues.grouped("orders").loose(9).open::<u64>().await;
    let orders = orders.unwrap();
    let all: Vec<_> = (0..9).map(|order: u64| (order, "big")).collect();
    orders.push_all(&all).await.unwrap();
    let rule = GroupRule::lasting(60 * MINUTE).with_at_once(1);
    orders.queue().set_rule("big", rule).await.unwrap();
    lease(&**orders.queue(), 1, 30 * MINUTE, "a").await;
    let mut found = Vec::new();
    for millis in [999, 1_000, 60_000, 60_001] {
        site.at(millis).await;
        found.push(site.severity(Problem::GroupLimited).await);
    }
    let (note, trouble) = (Severity::Note, Severity::Trouble);
    assert_eq!(found, [None, Some(note), Some(note), Some(trouble)]);
    assert_eq!(site.find(Problem::GroupsRated).await, None);
    assert_eq!(
        site.find(Problem::GroupLimited).await.unwrap().to_string(),
        "group `big`: its rule of 1 at once is reached, and ends in 58 min; 8 ready wait, the oldest for 60 s: \
         `qk rule orders big --at-once 2 --for-ms 3539999`"
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_that_waits_for_a_token_is_named_and_a_queue_of_such_groups() {
    let site = Site::new();
    let orders = site.queues.grouped("orders").loose(9);
    let orders = orders.group_rate(1, 2 * MINUTE).open::<u64>().await;
    let orders = orders.unwrap();
    orders
        .push_all(&[(1, "a"), (2, "a"), (3, "a")])
        .await
        .unwrap();
    for delivery in lease(&**orders.queue(), 1, MINUTE, "vm").await {
        settle(&**orders.queue(), &[Settlement::ack(delivery)]).await;
    }
    orders.push(&4, "b").await.unwrap();
    site.at(999).await;
    assert_eq!(site.find(Problem::GroupsRated).await, None);
    site.at(1_000).await;
    let found = site.find(Problem::GroupsRated).await.unwrap();
    assert_eq!(
        found.to_string(),
        "group `a`: waits 119 s for a token of its rate of 1 in 2 min; 2 ready wait, the oldest for 1.0 s"
    );
    assert_eq!(found.severity, Severity::Note);
    orders.push(&5, "b").await.unwrap();
    for delivery in lease(&**orders.queue(), 1, MINUTE, "vm").await {
        settle(&**orders.queue(), &[Settlement::ack(delivery)]).await;
    }
    let found = site.find(Problem::GroupsRated).await.unwrap();
    assert_eq!(
        found.severity,
        Severity::Standstill,
        "nothing for two minutes"
    );
    let words = "all 2 groups with ready messages wait for tokens of their rates, the first for 118 s; 3 ready wait";
    assert!(found.to_string().starts_with(words), "{found}");
    let problems = site.problems().await;
    assert!(!problems.contains(&Problem::NoConsumer), "{problems:?}");
}
