//! Batches, limits and bad input: the backend refuses, names the value and changes nothing.

use std::time::Duration;

use queue_core::{limits::*, *};

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn batches_have_at_most_128_entries(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    refused(queue.try_put(&[]).await, "empty batch");
    refused(queue.try_put(&vec![Push::new("x"); 129]).await, "129");
    queue
        .try_put(&vec![Push::new("x"); 128])
        .await
        .expect("128 entries");
    // One call takes them all.
    stage.needs(Feature::AtOnce);
    refused(queue.lease(count(129), LONG).await, "129");
    let deliveries = take(&*queue, 128).await;
    assert_eq!(
        stage.ordered(ids(&deliveries)),
        (1..=128).collect::<Vec<u64>>()
    );

    let mut receipts: Vec<Receipt> = deliveries.iter().map(|one| one.receipt).collect();
    receipts.push(receipts[0]);
    refused(queue.extend(&[], LONG).await, "empty batch");
    refused(queue.extend(&Extension::all(&receipts), LONG).await, "129");
    let mut acks: Vec<Settlement> = receipts.into_iter().map(Settlement::ack).collect();
    refused(queue.settle(&[]).await, "empty batch");
    refused(queue.settle(&acks).await, "129");
    refused(
        queue.settle_and_lease(&acks, count(1), LONG, None).await,
        "129",
    );
    assert_eq!(depth(&*queue).await, [0, 0, 128, 0], "none was settled");
    acks.pop();
    let settled = queue.settle(&acks).await.expect("settles");
    assert_eq!(settled, [Settled::Done; 128]);

    let letters: Vec<MessageId> = (1..=129).map(id).collect();
    refused(queue.revive(&[], Revival::WithState).await, "empty batch");
    refused(queue.revive(&letters, Revival::WithState).await, "129");
    refused(queue.discard(&[]).await, "empty batch");
    refused(queue.discard(&letters).await, "129");
    assert_eq!(queue.discard(&letters[1..]).await.expect("discards"), 0);
    refused(queue.cancel(&[]).await, "empty batch");
    refused(queue.cancel(&letters).await, "129");
    let cancelled = queue.cancel(&letters[..128]).await.expect("cancels");
    assert_eq!(cancelled, [Cancelled::TooLate; 128]);
}

pub(crate) async fn batches_have_at_most_8_mib(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut batch = vec![Push::new(vec![0; DEFAULT_MAX_BODY]); 8];
    batch.push(Push::new("x"));
    refused(queue.try_put(&batch).await, "8388609");
    assert_eq!(depth(&*queue).await, [0; 4]);
    batch.pop();
    queue.try_put(&batch).await.expect("exactly 8 MiB");
}

pub(crate) async fn batches_hand_out_no_more_than_8_mib(stage: &Stage<'_>) {
    let queue = stage
        .leasing_with(|config| config.max_body = MAX_BATCH_BYTES)
        .await;
    let half = MAX_BATCH_BYTES / 2;
    let header = |bytes: usize| Push::new(vec![0; bytes - 6]).with_header("abc", "def");
    for size in [half, half, half, half + 1, MAX_BATCH_BYTES, 6] {
        queue.put(header(size)).await;
    }
    let taken = ids(&take(&*queue, 128).await);
    assert_eq!(taken, [1, 2], "exactly 8 MiB, headers counted");
    assert_eq!(ids(&take(&*queue, 128).await), [3], "one byte too many");
    assert_eq!(ids(&take(&*queue, 128).await), [4]);
    let (_, leased) = queue
        .settle_and_lease(&[], count(128), LONG, None)
        .await
        .expect("settled and leased");
    assert_eq!(ids(&leased.deliveries), [5], "always one");
    assert_eq!(ids(&take(&*queue, 128).await), [6]);
}

pub(crate) async fn limits_a_body_may_be_as_long_as_configured(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(vec![0; DEFAULT_MAX_BODY]).await;
    let over = Push::new(vec![0; DEFAULT_MAX_BODY + 1]);
    refused(queue.try_put(&[over]).await, "a message of 1048577 bytes");
    let small = stage.leasing_with(|config| config.max_body = 10).await;
    small.put("ten bytes!").await;
    small.put(Push::new("four").with_header("abc", "def")).await;
    let entry = Push::new("fives").with_header("abc", "def");
    refused(
        small.try_put(&[Push::new("x"), entry]).await,
        "entry 1 has 11 bytes",
    );
    assert_eq!(depth(&*queue).await, [3, 0, 0, 0]);
}

pub(crate) async fn limits_a_lease_is_1_ms_to_24_h(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    refused(queue.lease(count(1), Duration::ZERO).await, "of 0 ms");
    refused(
        queue.lease(count(1), MAX_LEASE + ms(1)).await,
        "of 86400001 ms",
    );
    refused(
        queue
            .settle_and_lease(&[], count(1), Duration::ZERO, None)
            .await,
        "of 0 ms",
    );
    for (lease_time, named) in [(ms(0), "of 0 ms"), (MAX_LEASE + ms(1), "of 86400001 ms")] {
        refused(queue.wait_to_lease(lease_time, None, ms(0)).await, named);
    }
    refused(queue.receive(0, LONG, ms(0)).await, "0");
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0], "nothing was leased");
    let delivery = take_one_for(&*queue, MAX_LEASE).await;
    refused(
        queue
            .extend(&[delivery.receipt.into()], Duration::ZERO)
            .await,
        "of 0 ms",
    );
    refused(
        queue
            .extend(&[delivery.receipt.into()], MAX_LEASE + ms(1))
            .await,
        "of 86400001 ms",
    );
    extend(&*queue, delivery.receipt, MAX_LEASE).await;
    extend(&*queue, delivery.receipt, ms(1)).await;
}

pub(crate) async fn limits_a_lease_is_rounded_up_to_a_millisecond(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let leased = queue.lease(count(1), Duration::from_micros(2_001)).await;
    let delivery = leased.expect("leases").deliveries.remove(0);
    assert_eq!(delivery.time_left, ms(3));
    stage.advance(2).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(1)));
    let delay = Duration::from_micros(10_500);
    settle_live(&*queue, Settlement::retry(delivery.receipt, delay)).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(11)));
}

pub(crate) async fn limits_a_retry_delay_has_an_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let deliveries = take(&*queue, 2).await;
    let over = MAX_DELAY + ms(1);
    refused(
        queue
            .settle(&[Settlement::retry(deliveries[0].receipt, over)])
            .await,
        "2^47",
    );
    refused(
        queue
            .settle(&[Settlement::defer(deliveries[0].receipt, over)])
            .await,
        "2^47",
    );
    let longest = [
        Settlement::retry(deliveries[0].receipt, MAX_DELAY),
        Settlement::defer(deliveries[1].receipt, MAX_DELAY),
    ];
    let settled = queue.settle(&longest).await.expect("settles");
    assert_eq!(settled, [Settled::Done; 2]);
    assert_eq!(take_nothing(&*queue).await, Some(MAX_DELAY));
}

pub(crate) async fn limits_dedup_keys_and_windows_have_limits(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let marked = |key: Vec<u8>, window| [Push::new("x").with_dedup(key, window)];
    refused(queue.try_put(&marked(vec![], LONG)).await, "0 bytes");
    refused(
        queue.try_put(&marked(vec![b'k'; 257], LONG)).await,
        "257 bytes",
    );
    refused(
        queue.try_put(&marked(vec![b'k'], Duration::ZERO)).await,
        "of 0 ms",
    );
    let over = MAX_DEDUP_WINDOW + ms(1);
    refused(
        queue.try_put(&marked(vec![b'k'], over)).await,
        "of 604800001 ms",
    );
    assert_eq!(
        queue.counters().await.expect("counters"),
        Counters::default()
    );
    let longest = marked(vec![b'k'; 256], MAX_DEDUP_WINDOW);
    queue.try_put(&longest).await.expect("256 bytes and 7 days");
    let unique = |window| [Push::new("x").with_unique("key", window)];
    refused(queue.try_put(&unique(Duration::ZERO)).await, "of 0 ms");
    let over = MAX_DELAY + ms(1);
    refused(queue.try_put(&unique(over)).await, "of 140737488355329 ms");
    for expected in [accepted(2), duplicate(2)] {
        let pushed = queue.try_put(&unique(MAX_DELAY)).await;
        assert_eq!(pushed.expect("2^47 ms"), [expected]);
    }
}

pub(crate) async fn limits_an_option_of_another_kind_is_refused(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let options = [
        (
            QueueKind::Priority,
            Push::new("x").with_priority(0),
            "a priority",
        ),
        (
            QueueKind::Grouped,
            Push::new("x").with_group("a"),
            "a group",
        ),
        (
            QueueKind::Bounded,
            Push::new("x").with_overflow(Overflow::DropOldest),
            "an overflow policy",
        ),
    ];
    for (owner, push, option) in options {
        if owner != stage.kind() {
            let batch = [Push::new("good").with_dedup("key", LONG), push];
            let names = [option, stage.kind().as_str(), owner.as_str()];
            refused_as(ErrorKind::Invalid, queue.push(&batch).await, &names);
        }
    }
    assert_eq!(
        queue.counters().await.expect("counters"),
        Counters::default()
    );
    assert_eq!(queue.pushed("x").await, accepted(1), "no id was used up");
}

pub(crate) async fn limits_a_time_to_live_is_1_ms_to_2_to_the_47(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let living = |limit| Push::new("x").with_time_to_live(TimeToLive::bury_after(limit));
    let over = MAX_DELAY + ms(1);
    for (limit, named) in [(Duration::ZERO, "of 0 ms"), (over, "of 140737488355329 ms")] {
        let batch = [Push::new("x").with_dedup("key", LONG), living(limit)];
        refused(queue.try_put(&batch).await, named);
    }
    assert_eq!(
        queue.counters().await.expect("counters"),
        Counters::default()
    );
    queue.put(living(MAX_DELAY)).await;
    assert_eq!(drain(&*queue).await, [1], "no id was used up");
}

pub(crate) async fn limits_a_delay_is_shorter_than_the_time_to_live(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let living = || Push::new("x").with_time_to_live(TimeToLive::drop_after(LONG));
    for delay in [LONG, LONG - Duration::from_micros(999), FAR] {
        let batch = [Push::new("good"), living().with_due(delay)];
        refused(queue.try_put(&batch).await, "of 3600000 ms and a delay");
    }
    assert_eq!(depth(&*queue).await, [0; 4]);
    queue.put(living().with_due(LONG - ms(1))).await;
    queue.put(living().with_due(NEVER)).await;
    let order = shown(&*queue, Place::Delayed).await;
    assert_eq!(order, [1, 2], "nobody compares a point in time");
}

pub(crate) async fn limits_pages_and_purges_have_at_most_1000_entries(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    refused(queue.dead_letters(Page::first(0)).await, "0 entries");
    refused(queue.dead_letters(Page::first(1_001)).await, "1001");
    for place in Place::ALL {
        refused(queue.peek(place, Page::first(0)).await, "0 entries");
        refused(queue.peek(place, Page::first(1_001)).await, "1001");
    }
    refused(queue.purge(count(1_001)).await, "1001");
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 1);
}

pub(crate) async fn configuration_out_of_range_is_refused(stage: &Stage<'_>) {
    let open = |set: fn(&mut LeasingConfig)| stage.try_leasing("refused", set);
    refused(
        open(|config| config.max_attempts = 0).await.map(drop),
        "max_attempts is 0",
    );
    refused(
        open(|config| config.max_body = 0).await.map(drop),
        "0 bytes",
    );
    let over = open(|config| config.max_body = MAX_BATCH_BYTES + 1).await;
    refused(over.map(drop), "8388609");
    let over = open(|config| config.dead_letter_cap = (1 << 32) + 1).await;
    refused(over.map(drop), "4294967297");
    let created = queues(stage.backend()).await;
    assert_eq!(created, [], "nothing was created");
}

pub(crate) async fn configuration_that_differs_is_a_mismatch(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 7).await;
    queue.put_numbered(1).await;
    let open = |set: fn(&mut LeasingConfig)| stage.try_leasing("queue", set);
    let mismatch = ErrorKind::ConfigMismatch;
    let attempts = open(|config| config.max_attempts = 8).await.map(drop);
    refused_as(mismatch, attempts, &["max_attempts", "7", "8"]);
    let cap = open(|config| {
        config.max_attempts = 7;
        config.dead_letter_cap = 12;
    });
    refused_as(
        mismatch,
        cap.await.map(drop),
        &["dead_letter_cap", "10000", "12"],
    );
    let body = open(|config| {
        config.max_attempts = 7;
        config.max_body = 3;
    });
    let own = body.await.expect("max_body is the handle's own");
    refused(own.try_put(&[Push::new("four")]).await, "4 bytes");
    assert_eq!(depth(&*own).await, [1, 0, 0, 0]);
    queue.put("four").await;
}
