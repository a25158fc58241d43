//! L13: the queue keeps dead letters, within bounds, and can revive them.

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

fn died(letters: &[DeadLetter]) -> Vec<u64> {
    letters.iter().map(|letter| letter.id.get()).collect()
}

pub(crate) async fn l13_a_dead_letter_tells_what_why_and_when(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    let headers = Headers::new().with("tenant", "acme");
    let body = Bytes::from_static(b"\x00\xff body");
    queue
        .put(Push::new(body.clone()).with_headers(headers.clone()))
        .await;
    let first = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(first.receipt, ms(0))).await;
    let second = take_one(&*queue).await;
    stage.advance(1_500).await;
    settle_live(&*queue, Settlement::bury(second.receipt, "no such order")).await;
    stage.advance(10).await;
    let letter = one_dead(&*queue).await;
    assert_eq!((letter.id, letter.attempts), (id(1), 2));
    assert_eq!((&letter.body, &letter.headers), (&body, &headers));
    assert_eq!(letter.reason, DeathReason::Buried("no such order".into()));
    assert_eq!(letter.priority, 0);
    let group = (queue.kind() == QueueKind::Grouped).then(|| "-".into());
    assert_eq!(letter.group, group);
    // A token begins with the time of its lease.
    let died_at = second.receipt.token.get() / Token::PER_MILLI + 1_500;
    assert_eq!(letter.died_at.as_millis(), died_at, "when it died");
}

pub(crate) async fn l13_dead_letters_are_listed_in_the_order_of_dying(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    queue.put_numbered(5).await;
    let deliveries = take_for(&*queue, 5, ms(100)).await;
    extend(&*queue, deliveries[0].receipt, ms(300)).await;
    extend(&*queue, deliveries[3].receipt, ms(200)).await;
    settle_live(&*queue, Settlement::bury(deliveries[4].receipt, "first")).await;
    stage.advance(300).await;
    let letters = died(&dead(&*queue).await);
    assert_eq!(letters, [5, 2, 3, 4, 1], "by deadline, then by id");
}

pub(crate) async fn l13_the_cap_is_exact_and_drops_the_oldest(stage: &Stage<'_>) {
    let queue = stage
        .leasing_with(|config| config.dead_letter_cap = 3)
        .await;
    queue.put_numbered(7).await;
    for kept in [1, 2, 3] {
        bury_next(&*queue, "dead").await;
        assert_eq!(dead(&*queue).await.len(), kept);
    }
    bury_next(&*queue, "dead").await;
    assert_eq!(died(&dead(&*queue).await), [2, 3, 4]);
    let deliveries = take(&*queue, 3).await;
    let order = [2, 0, 1].map(|index: usize| deliveries[index].receipt);
    let batch = order.map(|receipt| Settlement::bury(receipt, "at once"));
    queue.settle(&batch).await.expect("settles");
    let letters = died(&dead(&*queue).await);
    assert_eq!(letters, [7, 5, 6], "in the order of dying, not by id");
    let counters = queue.counters().await.expect("counters");
    assert_eq!(
        (counters.died, counters.trimmed, counters.depth.dead),
        (7, 4, 3)
    );
    let revived = queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(revived, [Revived::NotFound]);
}

pub(crate) async fn l13_expiry_keeps_to_the_cap(stage: &Stage<'_>) {
    let set = |config: &mut LeasingConfig| {
        config.max_attempts = 1;
        config.dead_letter_cap = 2;
    };
    let queue = stage.leasing_with(set).await;
    queue.put_numbered(5).await;
    take_for(&*queue, 5, ms(10)).await;
    stage.advance(10).await;
    assert_eq!(died(&dead(&*queue).await), [4, 5]);
    assert_eq!(queue.counters().await.expect("counters").trimmed, 3);
}

pub(crate) async fn l13_a_cap_of_zero_keeps_none(stage: &Stage<'_>) {
    let queue = stage
        .leasing_with(|config| config.dead_letter_cap = 0)
        .await;
    queue.put_numbered(1).await;
    bury_next(&*queue, "gone").await;
    assert_eq!(dead(&*queue).await, []);
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.died, counters.trimmed), (1, 1));
}

pub(crate) async fn l13_another_cap_holds_at_once(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(8).await;
    for _ in 0..5 {
        bury_next(&*queue, "dead").await;
    }
    stage
        .reconfigure_leasing(|config| config.dead_letter_cap = 2)
        .await;
    assert_eq!(died(&dead(&*queue).await), [4, 5], "the oldest went");
    let revived = queue
        .revive(&[id(3)], Revival::WithState)
        .await
        .expect("an answer");
    assert_eq!(revived, [Revived::NotFound]);
    bury_next(&*queue, "dead").await;
    assert_eq!(died(&dead(&*queue).await), [5, 6]);
    stage
        .reconfigure_leasing(|config| config.dead_letter_cap = 3)
        .await;
    let letters = died(&dead(&*queue).await);
    assert_eq!(letters, [5, 6], "a larger one drops none");
    for _ in 0..2 {
        bury_next(&*queue, "dead").await;
    }
    assert_eq!(died(&dead(&*queue).await), [6, 7, 8]);
    let counters = counted(&*queue).await;
    assert_eq!((counters.died, counters.trimmed), (8, 5));
}

pub(crate) async fn l13_a_revived_message_starts_anew(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    let headers = Headers::new().with("tenant", "acme");
    queue
        .put(Push::new("body").with_headers(headers.clone()))
        .await;
    for _ in 0..2 {
        let delivery = take_one(&*queue).await;
        settle_live(&*queue, Settlement::retry(delivery.receipt, ms(0))).await;
    }
    assert_eq!(
        queue
            .revive(&[id(1)], Revival::WithState)
            .await
            .expect("revives"),
        [Revived::Revived]
    );
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0], "ready at once");
    assert_eq!(dead(&*queue).await, []);
    for attempt in [1, 2] {
        let delivery = take_one(&*queue).await;
        assert_eq!((delivery.id(), delivery.attempt), (id(1), attempt));
        assert_eq!(
            (&delivery.body[..], &delivery.headers),
            (&b"body"[..], &headers)
        );
        settle_live(&*queue, Settlement::retry(delivery.receipt, ms(0))).await;
    }
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1], "and can die again");
    let counters = queue.counters().await.expect("counters");
    assert_eq!(
        (counters.accepted, counters.died, counters.revived),
        (1, 2, 1)
    );
}

pub(crate) async fn l13_revive_answers_each_id_in_turn(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(4).await;
    bury_next(&*queue, "dead").await;
    bury_next(&*queue, "dead").await;
    let leased = take_one(&*queue).await;
    let asked = [id(2), id(2), id(3), id(4), id(99), id(1)];
    use Revived::{NotFound, Revived as Back};
    let revived = queue
        .revive(&asked, Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(
        revived,
        [Back, NotFound, NotFound, NotFound, NotFound, Back]
    );
    assert_eq!(depth(&*queue).await, [3, 0, 1, 0]);
    ack(&*queue, &leased).await;
}

pub(crate) async fn l13_discard_removes_for_good_and_counts(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(4).await;
    for _ in 0..3 {
        bury_next(&*queue, "dead").await;
    }
    let gone = queue.discard(&[id(1), id(3), id(3), id(4), id(99)]).await;
    assert_eq!(gone.expect("discards"), 2);
    assert_eq!(died(&dead(&*queue).await), [2]);
    let revived = queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(revived, [Revived::NotFound]);
    assert_eq!(depth(&*queue).await, [1, 0, 0, 1]);
}

pub(crate) async fn l13_a_long_reason_is_cut_between_characters(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    bury_next(&*queue, &"x".repeat(limits::MAX_REASON)).await;
    let umlauts = format!("x{}", "ü".repeat(limits::MAX_REASON));
    bury_next(&*queue, &umlauts).await;
    let reasons: Vec<DeathReason> = dead(&*queue)
        .await
        .into_iter()
        .map(|letter| letter.reason)
        .collect();
    let whole = "x".repeat(1_024);
    let cut = format!("x{}", "ü".repeat(511));
    assert_eq!(
        reasons,
        [DeathReason::Buried(whole), DeathReason::Buried(cut)]
    );
}

pub(crate) async fn l13_pages_hold_while_dead_letters_come_and_go(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(12).await;
    for _ in 0..10 {
        bury_next(&*queue, "dead").await;
    }
    let first = queue.dead_letters(Page::first(4)).await.expect("lists");
    assert_eq!(died(&first.entries), [1, 2, 3, 4]);
    queue
        .discard(&[id(1), id(4), id(6)])
        .await
        .expect("discards");
    queue
        .revive(&[id(2)], Revival::WithState)
        .await
        .expect("revives");
    let cursor = first.next.expect("there is more");
    let second = queue
        .dead_letters(Page::after(cursor, 4))
        .await
        .expect("lists");
    assert_eq!(
        died(&second.entries),
        [5, 7, 8, 9],
        "nothing twice, nothing left out"
    );
    let deliveries = take(&*queue, 2).await;
    settle_live(&*queue, Settlement::bury(deliveries[0].receipt, "late")).await;
    let cursor = second.next.expect("there is more");
    let third = queue
        .dead_letters(Page::after(cursor, 4))
        .await
        .expect("lists");
    assert_eq!(died(&third.entries), [10, deliveries[0].id().get()]);
    assert_eq!(third.next, None, "the end");
}

pub(crate) async fn l13_every_page_length_shows_each_once(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(30).await;
    for _ in 0..30 {
        bury_next(&*queue, "dead").await;
    }
    for limit in [1, 7, 29, 30, 31, 1_000] {
        let letters = pages(limit, |page| queue.dead_letters(page)).await;
        let seen = died(&letters.concat());
        assert_eq!(seen, (1..=30).collect::<Vec<u64>>(), "in pages of {limit}");
    }
}

pub(crate) async fn l13_a_page_has_no_more_than_8_mib(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for _ in 0..9 {
        queue.put(vec![7; limits::DEFAULT_MAX_BODY]).await;
    }
    for _ in 0..9 {
        bury_next(&*queue, "dead").await;
    }
    let page = queue.dead_letters(Page::first(9)).await.expect("lists");
    assert_eq!(died(&page.entries), [1, 2, 3, 4, 5, 6, 7, 8]);
    let rest = Page::after(page.next.expect("there is more"), 9);
    let page = queue.dead_letters(rest).await.expect("lists");
    assert_eq!((died(&page.entries), page.next), (vec![9], None));
}
