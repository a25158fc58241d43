//! L16: a peek shows the messages of a place as they are, and changes nothing of them.

use std::time::Duration;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn l16_an_empty_place_is_an_empty_page(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for place in Place::ALL {
        assert_eq!(peek(&*queue, place).await, [], "{place:?}");
    }
    queue.put_numbered(1).await;
    bury_next(&*queue, "dead").await;
    for place in Place::ALL {
        assert_eq!(peek(&*queue, place).await, [], "{place:?}");
    }
    queue.put_due("x", FAR).await;
    for place in [Place::Ready, Place::Leased] {
        assert_eq!(peek(&*queue, place).await, [], "{place:?}, one is delayed");
    }
}

pub(crate) async fn l16_bodies_and_headers_are_shown_unchanged(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let push = Push::new(&b"\x00\xff body"[..]).with_header("tenant", "ümlaut");
    let push = push.with_header("a:b", "\0\r\n");
    queue.put(push.clone()).await;
    queue.put_due(push.clone(), FAR).await;
    let message = |number| Message::new(id(number), push.body.clone(), push.headers.clone());
    assert_eq!(messages(&*queue, Place::Ready).await, [message(1)]);
    assert_eq!(messages(&*queue, Place::Delayed).await, [message(2)]);
    let delivery = take_one(&*queue).await;
    assert_eq!(messages(&*queue, Place::Leased).await, [message(1)]);
    settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    assert_eq!(messages(&*queue, Place::Ready).await, [message(1)]);
    let delivery = take_one(&*queue).await;
    settle_live(&*queue, Settlement::defer(delivery.receipt, 2 * FAR)).await;
    let shown = messages(&*queue, Place::Delayed).await;
    assert_eq!(shown.len(), 2);
    for number in [1, 2] {
        assert!(shown.contains(&message(number)), "{shown:?}");
    }
}

async fn messages(queue: &dyn Leasing, place: Place) -> Vec<Message> {
    let peeked = peek(queue, place).await.into_iter();
    peeked.map(|one| one.message).collect()
}

pub(crate) async fn l16_a_ready_message_is_shown_as_it_is(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let push = Push::new(&b"\x00\xff body"[..]).with_header("tenant", "acme");
    queue.put(push.clone()).await;
    stage.advance(70).await;
    let expected = {
        let mut peeked = Peeked::new(
            Message::new(id(1), push.body, push.headers),
            0,
            ms(70),
            Standing::Ready,
        );
        peeked.group = (queue.kind() == QueueKind::Grouped).then(|| "-".into());
        peeked
    };
    assert_eq!(peek(&*queue, Place::Ready).await, [expected]);

    let failed = || Some("no paper".to_owned());
    let delivery = take_one(&*queue).await;
    let retry = Settlement::retry_because(delivery.receipt, ms(0), "no paper");
    settle_live(&*queue, retry).await;
    assert_eq!(past(&*queue).await, (1, failed(), ms(70)), "retried");
    let delivery = take_one(&*queue).await;
    settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    assert_eq!(past(&*queue).await, (1, failed(), ms(70)), "released");
    take_one_for(&*queue, ms(10)).await;
    stage.advance(10).await;
    assert_eq!(past(&*queue).await, (2, failed(), ms(80)), "expired");
    bury_next(&*queue, "dead").await;
    queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(
        past(&*queue).await,
        (0, None, ms(80)),
        "revived: as old as before"
    );
}

/// The attempts, the failure and the age of the one message that is ready.
async fn past(queue: &dyn Leasing) -> (u32, Option<String>, Duration) {
    let mut ready = peek(queue, Place::Ready).await;
    assert_eq!(ready.len(), 1, "one message is ready: {ready:?}");
    let Peeked {
        attempts,
        failure,
        age,
        ..
    } = ready.remove(0);
    (attempts, failure, age)
}

pub(crate) async fn l16_delayed_messages_tell_when_they_are_due(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_due("later", ms(50)).await;
    queue.put_due("sooner", ms(30)).await;
    queue.put_numbered(2).await;
    let deliveries = take(&*queue, 2).await;
    let batch = [
        Settlement::retry_because(deliveries[0].receipt, ms(40), "no paper"),
        Settlement::defer(deliveries[1].receipt, ms(60)),
    ];
    queue.settle(&batch).await.expect("settles");
    stage.advance(10).await;
    let delayed = peek(&*queue, Place::Delayed).await;
    let summary = |one: &Peeked| (one.message.id.get(), one.attempts, one.standing.clone());
    let due_in = |millis| Standing::delayed(ms(millis));
    assert_eq!(
        delayed.iter().map(summary).collect::<Vec<_>>(),
        [
            (2, 0, due_in(20)),
            (3, 1, due_in(30)),
            (1, 0, due_in(40)),
            (4, 0, due_in(50)),
        ],
        "by (due, id)"
    );
    assert!(delayed.iter().all(|one| one.age == ms(10)));
    let bodies: Vec<&[u8]> = delayed.iter().map(|one| &one.message.body[..]).collect();
    assert_eq!(bodies, [&b"sooner"[..], b"m3", b"later", b"m4"]);
    let failures = delayed.iter().map(|one| one.failure.as_deref());
    assert_eq!(
        failures.collect::<Vec<_>>(),
        [None, Some("no paper"), None, None]
    );
    stage.advance(20).await;
    assert_eq!(shown(&*queue, Place::Ready).await, [2]);
    assert_eq!(shown(&*queue, Place::Delayed).await, [3, 1, 4]);
}

pub(crate) async fn l16_leased_messages_tell_their_receipt_and_time(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    let first = take_one_for(&*queue, ms(300)).await;
    let others = take_for(&*queue, 2, ms(100)).await;
    let [second, third] = [others[0].receipt, others[1].receipt];
    stage.advance(40).await;
    assert_eq!(
        leases(&*queue).await,
        [
            (second, ms(60), None),
            (third, ms(60), None),
            (first.receipt, ms(260), None)
        ],
        "by (deadline, id)"
    );
    extend(&*queue, second, ms(1_000)).await;
    assert_eq!(
        leases(&*queue).await,
        [
            (third, ms(60), None),
            (first.receipt, ms(260), None),
            (second, ms(1_000), None)
        ]
    );
    let attempts = peek(&*queue, Place::Leased).await;
    assert!(attempts.iter().all(|one| one.attempts == 1), "under way");
    stage.advance(60).await;
    assert_eq!(
        leases(&*queue).await,
        [(first.receipt, ms(200), None), (second, ms(940), None)],
        "what has expired is not leased"
    );
    assert_eq!(past(&*queue).await, (1, None, ms(100)), "but ready");
    let again = take_one(&*queue).await;
    let retry = Settlement::retry_because(again.receipt, ms(0), "no paper");
    settle_live(&*queue, retry).await;
    take_one(&*queue).await;
    let last = peek(&*queue, Place::Leased).await.remove(2);
    assert_eq!((last.attempts, last.age), (3, ms(100)));
    assert_eq!(last.failure.as_deref(), Some("no paper"));
}

pub(crate) async fn l16_what_is_shown_first_is_handed_out_first(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(5).await;
    assert_eq!(shown(&*queue, Place::Ready).await, [1, 2, 3, 4, 5]);
    let leased = take(&*queue, 2).await;
    assert_eq!(shown(&*queue, Place::Leased).await, ids(&leased));
    assert_eq!(shown(&*queue, Place::Ready).await, [3, 4, 5]);
    ack_all(&*queue, &leased).await;
    assert_eq!(cancel(&*queue, &[4]).await, [Cancelled::Cancelled]);
    assert_eq!(shown(&*queue, Place::Ready).await, [3, 5]);
    assert_eq!(drain(&*queue).await, [3, 5]);
}

pub(crate) async fn l16_a_peek_changes_nothing(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    queue.put_due("later", FAR).await;
    let held = take_one(&*queue).await;
    queue.pause().await.expect("pauses");
    let before = counted(&*queue).await;
    for (place, expected) in Place::ALL.into_iter().zip([&[2_u64, 3][..], &[4], &[1]]) {
        for _ in 0..2 {
            assert_eq!(shown(&*queue, place).await, expected, "of a paused queue");
        }
    }
    assert_eq!(counted(&*queue).await, before);
    queue.resume().await.expect("resumes");
    let deliveries = take(&*queue, 3).await;
    assert_eq!(ids(&deliveries), [2, 3]);
    assert!(deliveries.iter().all(|delivery| delivery.attempt == 1));
    ack(&*queue, &held).await;
}

pub(crate) async fn l16_the_rest_of_a_time_to_live_is_shown(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(dropped_after(1_000)).await;
    queue.put_due(buried_after(5_000), ms(3_000)).await;
    let rest = async |place| {
        let peeked = peek(&*queue, place).await.into_iter();
        peeked
            .map(|one| (one.message.id.get(), one.time_to_live))
            .collect::<Vec<_>>()
    };
    let drop_after = |millis| Some(TimeToLive::drop_after(ms(millis)));
    let bury_after = |millis| Some(TimeToLive::bury_after(ms(millis)));
    stage.advance(400).await;
    assert_eq!(rest(Place::Ready).await, [(1, drop_after(600))]);
    assert_eq!(rest(Place::Delayed).await, [(2, bury_after(4_600))]);
    let held = take_one(&*queue).await;
    assert_eq!(rest(Place::Leased).await, [(1, drop_after(600))]);
    settle_live(&*queue, Settlement::release(held.receipt)).await;
    stage.advance(50).await;
    assert_eq!(rest(Place::Ready).await, [(1, drop_after(550))]);
    let held = take_one(&*queue).await;
    settle_live(&*queue, Settlement::defer(held.receipt, ms(100))).await;
    assert_eq!(
        rest(Place::Delayed).await,
        [(1, drop_after(550)), (2, bury_after(4_550))]
    );
    queue.put_numbered(1).await;
    assert_eq!(rest(Place::Ready).await, [(3, None)]);
    stage.advance(100).await;
    let deliveries = take_for(&*queue, 2, ms(1_000)).await;
    stage.advance(460).await;
    let mut leased = rest(Place::Leased).await;
    leased.sort_unstable_by_key(|(id, _)| *id);
    assert_eq!(leased, [(1, drop_after(0)), (3, None)], "its lease goes on");
    for delivery in deliveries {
        settle_live(&*queue, Settlement::bury(delivery.receipt, "dead")).await;
    }
    queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(rest(Place::Ready).await, [(1, None)], "revived without one");
}
