//! L18, L19, S1 and S2: what became of a message, its progress and its result.

use std::{num::NonZeroU32, time::Duration};

use queue_core::{
    limits::{MAX_PROGRESS, MAX_RESULT},
    *,
};

use crate::{
    stage::{Stage, ms},
    steps::*,
};

const HOUR: Duration = Duration::from_secs(3600);

async fn find(queue: &dyn Leasing, id: MessageId) -> Found {
    queue.find_one(id).await.expect("finds")
}

/// The attempts and the place of a message that is there.
async fn present(queue: &dyn Leasing, id: MessageId) -> (u32, Standing) {
    match find(queue, id).await {
        Found::Present {
            attempts, standing, ..
        } => (attempts, standing),
        other => panic!("message {id} is there: {other:?}"),
    }
}

/// The progress of all leases, as a peek shows it, and as a find does.
async fn progress(queue: &dyn Leasing) -> Vec<Option<Bytes>> {
    let mut shown = Vec::new();
    for peeked in peek(queue, Place::Leased).await {
        let id = peeked.message.id;
        let found = present(queue, id).await.1;
        let [seen, found] = [peeked.standing, found].map(|standing| match standing {
            Standing::Leased { progress, .. } => progress,
            other => panic!("message {id} is leased: {other:?}"),
        });
        assert_eq!(seen, found, "message {id}");
        shown.push(seen);
    }
    shown
}

async fn report(queue: &dyn Leasing, receipt: Receipt, progress: &'static str) -> Extended {
    let extension = Extension::new(receipt).with_progress(progress);
    let extended = queue.extend(&[extension], LONG).await;
    only(extended.expect("extends"))
}

fn only<T>(mut one: Vec<T>) -> T {
    assert_eq!(one.len(), 1, "one answer for each entry");
    one.remove(0)
}

fn kept(result: &'static str, time: Duration) -> KeptResult {
    KeptResult::new(result, time)
}

async fn ack_with(queue: &dyn Leasing, receipt: Receipt, kept: KeptResult) -> Settled {
    settle(queue, Settlement::ack_with(receipt, kept)).await
}

pub(crate) async fn l18_a_message_is_found_in_each_place(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let ready = queue.put("ready").await;
    assert_eq!(present(&*queue, ready).await, (0, Standing::Ready));
    let answer = queue
        .settle_and_lease(&[], count(1), LONG, Holder::new("mailer").ok())
        .await;
    let delivery = answer.expect("leases").1.deliveries.remove(0);
    stage.advance(10).await;
    let leased = Standing::leased(
        delivery.receipt,
        LONG - ms(10),
        Holder::new("mailer").ok(),
        None,
    );
    assert_eq!(present(&*queue, ready).await, (1, leased));
    let retry = Settlement::retry_because(delivery.receipt, ms(100), "no paper");
    settle_live(&*queue, retry).await;
    stage.advance(40).await;
    let found = Found::present(
        1,
        ms(50),
        Some("no paper".to_owned()),
        Standing::delayed(ms(60)),
    );
    assert_eq!(find(&*queue, ready).await, found);
    stage.advance(60).await;
    assert_eq!(present(&*queue, ready).await, (1, Standing::Ready), "due");
    take_one_for(&*queue, ms(30)).await;
    stage.advance(30).await;
    assert_eq!(
        present(&*queue, ready).await,
        (2, Standing::Ready),
        "expired"
    );
    bury_next(&*queue, "hopeless").await;
    let letter = one_dead(&*queue).await;
    let dead = Found::dead(
        3,
        DeathReason::Buried("hopeless".to_owned()),
        Some("no paper".to_owned()),
        letter.pushed_at,
        letter.died_at,
    );
    assert_eq!(find(&*queue, ready).await, dead);
}

pub(crate) async fn l18_ids_of_one_call_are_found_each(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let ids = queue.put_numbered(4).await;
    let acked = take_one(&*queue).await;
    ack(&*queue, &acked).await;
    cancel(&*queue, &[ids[1].get()]).await;
    let before = counted(&*queue).await;
    let never = [MessageId::new(0), MessageId::new(ids[3].get() + 1)];
    let asked = [ids[0], never[0], ids[1], ids[3], never[1], ids[3]];
    let found = queue.find(&asked).await.expect("finds");
    let over: Vec<bool> = found.iter().map(Found::is_over).collect();
    assert_eq!(over, [true, true, true, false, true, false]);
    assert_eq!([&found[0], &found[2]], [&Found::Gone, &Found::Gone]);
    assert_eq!([&found[1], &found[4]], [&Found::NeverWas, &Found::NeverWas]);
    assert_eq!(found[3], found[5]);
    assert_eq!(counted(&*queue).await, before, "a find changes nothing");
}

pub(crate) async fn l18_messages_of_a_large_batch_are_found(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let ids = queue.put_numbered(100).await;
    let standing = |found: &Found| match found {
        Found::Present { standing, .. } => Some(standing.clone()),
        _ => None,
    };
    let ready = queue.find(&ids).await.expect("finds");
    assert!(
        ready
            .iter()
            .all(|one| standing(one) == Some(Standing::Ready))
    );
    let deliveries = take(&*queue, 60).await;
    ack_all(&*queue, &deliveries[..20]).await;
    let found = queue.find(&ids).await.expect("finds");
    let leased = |one: &Found| match standing(one) {
        Some(Standing::Leased { receipt, .. }) => Some(receipt),
        _ => None,
    };
    for (nth, one) in found.iter().enumerate() {
        let id = ids[nth];
        let delivery = deliveries.iter().position(|delivery| delivery.id() == id);
        match delivery {
            Some(0..20) => assert_eq!(*one, Found::Gone, "message {id}"),
            Some(at) => assert_eq!(leased(one), Some(deliveries[at].receipt), "message {id}"),
            None => assert_eq!(standing(one), Some(Standing::Ready), "message {id}"),
        }
    }
}

pub(crate) async fn l19_progress_is_shown_until_its_lease_ends(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let first = take_one(&*queue).await.receipt;
    let answer = queue
        .settle_and_lease(&[], count(1), LONG, Holder::new("a\0mailer").ok())
        .await;
    let second = answer.expect("leases").1.deliveries[0].receipt;
    assert_eq!(report(&*queue, first, "1 of 9").await, Extended::Extended);
    assert_eq!(report(&*queue, second, "half").await, Extended::Extended);
    assert_eq!(
        progress(&*queue).await,
        [Some("1 of 9".into()), Some("half".into())]
    );
    assert_eq!(report(&*queue, first, "2 of 9").await, Extended::Extended);
    extend(&*queue, second, LONG).await;
    assert_eq!(
        progress(&*queue).await,
        [Some("2 of 9".into()), Some("half".into())]
    );
    let named = Holder::new("a\0mailer").ok();
    let held: Vec<_> = holders(&*queue)
        .await
        .into_iter()
        .map(|(_, by)| by)
        .collect();
    assert_eq!(held, [None, named], "the names stay");
    for receipt in [first, second] {
        settle_live(&*queue, Settlement::release(receipt)).await;
    }
    let again = take(&*queue, 2).await;
    assert_eq!(progress(&*queue).await, [None, None], "of a new lease");
    assert_eq!(report(&*queue, first, "stale").await, Extended::LeaseLost);
    assert_eq!(progress(&*queue).await, [None, None]);
    ack_all(&*queue, &again).await;
}

pub(crate) async fn l19_an_expired_lease_takes_no_progress(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let old = take_one_for(&*queue, ms(100)).await.receipt;
    assert_eq!(report(&*queue, old, "begun").await, Extended::Extended);
    queue.extend_one(old, ms(100)).await.expect("extends");
    stage.advance(100).await;
    assert_eq!(report(&*queue, old, "late").await, Extended::LeaseLost);
    take_one(&*queue).await;
    assert_eq!(progress(&*queue).await, [None]);
    assert_eq!(report(&*queue, old, "later").await, Extended::LeaseLost);
    assert_eq!(progress(&*queue).await, [None]);
}

pub(crate) async fn l19_progress_of_one_message_of_a_batch(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(8).await;
    let deliveries = take(&*queue, 8).await;
    let reported = report(&*queue, deliveries[3].receipt, "here").await;
    assert_eq!(reported, Extended::Extended);
    let mut expected = vec![None; 8];
    expected[3] = Some(Bytes::from("here"));
    let shown = progress(&*queue).await;
    assert_eq!(shown.iter().flatten().count(), 1);
    let found = present(&*queue, deliveries[3].id()).await.1;
    assert!(matches!(found, Standing::Leased { progress, .. } if progress == expected[3]));
    ack_all(&*queue, &deliveries).await;
    queue.put_numbered(8).await;
    take(&*queue, 8).await;
    assert_eq!(progress(&*queue).await, vec![None; 8]);
}

pub(crate) async fn l19_progress_has_1_to_1024_bytes(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let receipt = take_one(&*queue).await.receipt;
    for length in [0, MAX_PROGRESS + 1] {
        let extension = Extension::new(receipt).with_progress(vec![b'x'; length]);
        refused(queue.extend(&[extension], LONG).await, "a progress of");
    }
    let longest = vec![b'x'; MAX_PROGRESS];
    let extension = Extension::new(receipt).with_progress(longest.clone());
    queue.extend(&[extension], LONG).await.expect("extends");
    assert_eq!(progress(&*queue).await, [Some(longest.into())]);
}

pub(crate) async fn s1_a_result_is_there_iff_its_ack_took_effect(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let ids = queue.put_numbered(1).await;
    let receipt = take_one(&*queue).await.receipt;
    assert_eq!(
        ack_with(&*queue, receipt, kept("first", HOUR)).await,
        Settled::Done
    );
    let again = ack_with(&*queue, receipt, kept("second", HOUR)).await;
    assert_eq!(again, Settled::LeaseLost);
    assert_eq!(find(&*queue, ids[0]).await, Found::Done("first".into()));

    queue.put("again").await;
    let stale = take_one_for(&*queue, ms(100)).await.receipt;
    stage.advance(100).await;
    let live = take_one(&*queue).await.receipt;
    assert_eq!(stale.id, live.id, "it came back");
    let batch = [
        Settlement::ack_with(stale, kept("stale", HOUR)),
        Settlement::ack_with(live, kept("live", HOUR)),
        Settlement::ack_with(live, kept("twice", HOUR)),
    ];
    let settled = queue.settle(&batch).await.expect("settles");
    assert_eq!(
        settled,
        [Settled::LeaseLost, Settled::Done, Settled::LeaseLost]
    );
    assert_eq!(find(&*queue, live.id).await, Found::Done("live".into()));
    queue.put("without").await;
    let last = take_one(&*queue).await;
    ack(&*queue, &last).await;
    assert_eq!(find(&*queue, last.id()).await, Found::Gone, "no result");
    let acked = queue.counters().await.expect("counters").acked;
    assert_eq!(acked, 3);
    let same = stage.leasing().await;
    let found = find(&*same, ids[0]).await;
    assert_eq!(found, Found::Done("first".into()), "for every client");
}

pub(crate) async fn s1_a_result_has_up_to_64_kib(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let deliveries = take(&*queue, 2).await;
    let with = |result: Vec<u8>, time| {
        let kept = KeptResult::new(result, time);
        let ack = Settlement::ack_with(deliveries[1].receipt, kept);
        [Settlement::ack(deliveries[0].receipt), ack]
    };
    let large = with(vec![b'x'; MAX_RESULT + 1], HOUR);
    refused(queue.settle(&large).await, "a result of 65537 bytes");
    let brief = with(Vec::new(), Duration::ZERO);
    refused(queue.settle(&brief).await, "the time of a result");
    assert_eq!(depth(&*queue).await, [0, 0, 2, 0], "nothing was settled");
    let settled = queue.settle(&with(vec![b'x'; MAX_RESULT], HOUR)).await;
    assert_eq!(settled.expect("settles"), [Settled::Done, Settled::Done]);
    let found = find(&*queue, deliveries[1].id()).await;
    assert_eq!(found, Found::Done(vec![b'x'; MAX_RESULT].into()));
}

pub(crate) async fn s2_a_result_is_there_for_its_time(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let receipt = take_one(&*queue).await.receipt;
    let acked = ack_with(&*queue, receipt, kept("done", ms(100))).await;
    assert_eq!(acked, Settled::Done);
    stage.advance(99).await;
    assert_eq!(find(&*queue, receipt.id).await, Found::Done("done".into()));
    stage.advance(1).await;
    assert_eq!(find(&*queue, receipt.id).await, Found::Gone);
}

pub(crate) async fn s2_of_too_many_results_those_that_end_first_are_dropped(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(5).await;
    let deliveries = take(&*queue, 5).await;
    let times = [400, 100, 300, 50, 200];
    for (delivery, time) in deliveries.iter().zip(times) {
        let at_most = NonZeroU32::new(3).expect("more than 0");
        let kept = kept("done", HOUR * time).with_at_most(at_most);
        let acked = ack_with(&*queue, delivery.receipt, kept).await;
        assert_eq!(acked, Settled::Done);
    }
    let ids: Vec<MessageId> = deliveries.iter().map(Delivery::id).collect();
    let found = queue.find(&ids).await.expect("finds");
    let there: Vec<bool> = found.iter().map(|one| *one != Found::Gone).collect();
    assert_eq!(there, [true, false, true, false, true]);
}

pub(crate) async fn s1_a_waiter_gets_the_result_when_it_is_there(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let ids = queue.put_numbered(2).await;
    let deliveries = take(&*queue, 2).await;
    let settle = async {
        // The waits begin first.
        tokio::time::sleep(ms(20)).await;
        let ack = ack_with(&*queue, deliveries[0].receipt, kept("done", HOUR));
        assert_eq!(ack.await, Settled::Done);
    };
    let wait = || queue.wait_until_over(ids[0], Duration::from_secs(60));
    let (one, two, ()) = tokio::join!(wait(), wait(), settle);
    for found in [one, two, wait().await] {
        assert_eq!(found.expect("waits"), Found::Done("done".into()));
    }
    queue.wait_for_end(ids[1], ms(20)).await.expect("waits");
    assert!(!find(&*queue, ids[1]).await.is_over(), "another message");
    bury_next_leased(&*queue, deliveries[1].receipt).await;
    let dead = queue.wait_until_over(ids[1], Duration::from_secs(60)).await;
    assert!(matches!(dead, Ok(Found::Dead { .. })), "{dead:?}");
}

async fn bury_next_leased(queue: &dyn Leasing, receipt: Receipt) {
    let settled = settle(queue, Settlement::bury(receipt, "hopeless")).await;
    assert_eq!(settled, Settled::Dead);
}
