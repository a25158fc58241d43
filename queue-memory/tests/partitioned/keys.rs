//! Which messages share a partition.

use std::collections::{BTreeMap, BTreeSet};

use queue_core::{
    Backend, BoundedConfig, ErrorKind, Leasing, LeasingExt, MessageId, Partitioned, Push, Pushed,
    ReliableConfig, Removal,
};

use crate::{HOUR, LEASE, bounded, count, fresh, name, reliable};

const fn partition_of(id: MessageId) -> u64 {
    id.get() >> 56
}

fn of_customer(customer: u32, body: String) -> Push {
    Push::new(body).with_header(Partitioned::KEY, format!("customer-{customer}"))
}

#[tokio::test]
async fn messages_of_one_partition_key_keep_their_order() {
    let jobs = reliable(8).await;
    for number in 0..300 {
        jobs.push_one(of_customer(number % 60, number.to_string()))
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    let (mut last, mut partitions) = (BTreeMap::<String, u32>::new(), BTreeSet::new());
    while let [delivery] = &jobs.lease(count(1), LEASE).await.unwrap().deliveries[..] {
        let customer = delivery.headers.get(Partitioned::KEY).unwrap().to_owned();
        let number: u32 = std::str::from_utf8(&delivery.body)
            .unwrap()
            .parse()
            .unwrap();
        partitions.insert(partition_of(delivery.id()));
        let before = last.insert(customer, number);
        assert!(before < Some(number), "{number} after {before:?}");
        jobs.ack(delivery.receipt).await.unwrap();
    }
    assert_eq!(last.len(), 60);
    assert!(last.values().all(|last| *last >= 240), "all came: {last:?}");
    assert_eq!(
        partitions.len(),
        8,
        "60 keys use all partitions: {partitions:?}"
    );
}

#[tokio::test]
async fn messages_without_keys_rotate_over_the_partitions_and_batches_stay_together() {
    let jobs = reliable(3).await;
    let mut partitions = Vec::new();
    for _ in 0..6 {
        partitions.push(partition_of(
            jobs.push_one("x").await.unwrap().id().unwrap(),
        ));
    }
    assert_eq!(partitions, [0, 1, 2, 0, 1, 2]);
    let batch: Vec<Push> = (0..5).map(|n| Push::new(n.to_string())).collect();
    let pushed = jobs.push(&batch).await.unwrap();
    let ids: Vec<u64> = pushed
        .iter()
        .map(|pushed| pushed.id().unwrap().get())
        .collect();
    assert!(
        ids.windows(2).all(|two| two[0] + 1 == two[1]),
        "one partition, in order: {ids:?}"
    );
}

#[tokio::test]
async fn a_repeat_meets_its_mark_in_any_batch() {
    let jobs = reliable(5).await;
    let marked = |key: u32| Push::new("x").with_dedup(key.to_string(), HOUR);
    let batch: Vec<Push> = (0..40).map(marked).collect();
    let first = jobs.push(&batch).await.unwrap();
    let partitions: BTreeSet<u64> = first
        .iter()
        .map(|pushed| partition_of(pushed.id().unwrap()))
        .collect();
    assert_eq!(partitions.len(), 5);
    for (key, first) in (0..40).zip(&first).rev() {
        let again = jobs.push_one(marked(key)).await.unwrap();
        assert_eq!(again, Pushed::Duplicate(first.id().unwrap()));
    }
    let plain = Push::new("plain");
    let mixed = [plain.clone(), marked(7), marked(40), plain, marked(40)];
    let mixed = jobs.push(&mixed).await.unwrap();
    let duplicates: Vec<bool> = mixed.iter().map(|pushed| pushed.is_duplicate()).collect();
    assert_eq!(duplicates, [false, true, false, false, true]);
    assert_eq!(mixed[1].id(), first[7].id(), "in the order of the batch");
    assert_eq!(mixed[4].id(), mixed[2].id());
    assert_eq!(jobs.depth().await.unwrap().ready, 43);
}

#[tokio::test]
async fn a_partition_key_comes_before_a_distinct_key_and_that_before_a_dedup_key() {
    let feed = bounded(16, 1_000).await;
    let id = |offered| match offered {
        Pushed::Accepted(id) | Pushed::Replaced { id, .. } => id,
        other => panic!("{other:?}"),
    };
    let mut partitions = BTreeSet::new();
    for number in 0..20 {
        let push = Push::new("x").with_dedup(format!("request-{number}"), HOUR);
        let offer = push.with_distinct("user-7");
        let offered = feed.push_one(offer).await.unwrap();
        assert_eq!(
            matches!(offered, Pushed::Replaced { .. }),
            number > 0,
            "{offered:?}"
        );
        partitions.insert(partition_of(id(offered)));
    }
    assert_eq!(partitions.len(), 1, "the distinct key chooses");
    partitions.clear();
    for number in 0..20 {
        let push = of_customer(7, String::new()).with_dedup(format!("request-{number}"), HOUR);
        let offer = push.with_distinct(format!("user-{number}"));
        partitions.insert(partition_of(id(feed.push_one(offer).await.unwrap())));
    }
    assert_eq!(partitions.len(), 1, "the partition key chooses");
}

#[tokio::test]
async fn a_bad_entry_refuses_the_whole_batch_in_every_partition() {
    let config = ReliableConfig::default().with_max_body(10);
    let jobs = fresh(4)
        .open_reliable(&name("jobs"), &config)
        .await
        .unwrap();
    let mut batch: Vec<Push> = (0..20).map(|n| of_customer(n, String::new())).collect();
    batch[13] = Push::new("a body that is too long").with_dedup("key", HOUR);
    batch
        .iter_mut()
        .for_each(|push| push.headers = queue_core::Headers::new());
    let error = jobs.push(&batch).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("entry 13"), "{error}");
    assert_eq!(jobs.depth().await.unwrap().occupied(), 0);
}

#[tokio::test]
async fn a_full_partition_refuses_only_what_must_be_there() {
    let backend = fresh(3);
    let config = BoundedConfig::new(7);
    let log = backend.open_bounded(&name("log"), &config).await.unwrap();
    let batch: Vec<Push> = (0..9).map(|n| Push::from(n.to_string())).collect();
    let offered = log.push(&batch).await.unwrap();
    let full: Vec<bool> = offered.iter().map(|one| *one == Pushed::Full).collect();
    assert_eq!(
        full,
        [false, false, false, false, false, false, false, true, true]
    );
    assert_eq!(log.depth().await.unwrap().ready, 7);
    assert!(
        backend
            .remove(&name("log"), Removal::UnlessLeased)
            .await
            .unwrap()
    );

    let log = backend.open_bounded(&name("log"), &config).await.unwrap();
    let mut accepted = 0;
    for _ in 0..5 {
        let keyed = of_customer(1, String::new());
        let offered = log.push_one(keyed).await.unwrap();
        accepted += usize::from(offered != Pushed::Full);
    }
    assert!(
        (2..=3).contains(&accepted),
        "the share of one partition: {accepted}"
    );
}

#[tokio::test]
async fn an_offer_that_goes_to_another_partition_keeps_its_place_in_the_batch() {
    let mut met = 0;
    for key in 0..20 {
        let log = bounded(3, 6).await;
        // The first two fill their partition, and the others go to the next one.
        let keyless = ["a", "b", "c"].map(Push::from);
        let keyed = of_customer(key, "keyed".to_owned());
        let batch: Vec<Push> = keyless.into_iter().chain([keyed]).collect();
        let offered = log.push(&batch).await.unwrap();
        let [_, _, Pushed::Accepted(third), last] = offered[..] else {
            panic!("two other partitions have room: {offered:?}");
        };
        if let Pushed::Accepted(keyed) = last
            && partition_of(keyed) == partition_of(third)
        {
            assert!(third < keyed, "key {key}: {offered:?}");
            met += 1;
        }
    }
    assert!(met > 0, "no key is of the partition to which the others go");
}
