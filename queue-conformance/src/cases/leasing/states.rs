//! L21: a holder stores a state with its message, and every later delivery brings it.

use queue_core::{limits::MAX_STATE, *};

use crate::{
    stage::{Stage, ms},
    steps::*,
};

fn text(state: Option<&Bytes>) -> Option<&str> {
    state.map(|state| std::str::from_utf8(state).expect("the cases store text"))
}

async fn extend(queue: &dyn Leasing, receipt: Receipt, state: impl Into<Bytes>) -> Extended {
    let extension = Extension::new(receipt).with_state(state);
    let mut extended = queue.extend(&[extension], LONG).await.expect("extends");
    extended.remove(0)
}

/// Stores a state under a live lease.
async fn keep(queue: &dyn Leasing, receipt: Receipt, state: impl Into<Bytes>) {
    assert_eq!(extend(queue, receipt, state).await, Extended::Extended);
}

/// Takes the next message, which must have this state.
async fn take_with(queue: &dyn Leasing, state: Option<&str>) -> Delivery {
    let delivery = take_one(queue).await;
    assert_eq!(text(delivery.state.as_deref()), state);
    delivery
}

async fn state_size(queue: &dyn Leasing, id: MessageId) -> usize {
    match queue.find_one(id).await.expect("finds") {
        Found::Present { state_size, .. } | Found::Dead { state_size, .. } => state_size,
        other => panic!("message {id} is there: {other:?}"),
    }
}

pub(crate) async fn l21_each_call_of_a_holder_stores_a_state(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 9).await;
    let body = Bytes::from_static(b"\xff\x00");
    let headers = Headers::new().with("tenant", "acme");
    let message = Push::new(body.clone()).with_headers(headers.clone());
    queue.put(message).await;
    let mut receipt = take_with(&*queue, None).await.receipt;
    let endings = [
        Settlement::release(receipt),
        Settlement::defer(receipt, ms(0)),
        Settlement::retry(receipt, ms(0)),
        Settlement::retry_because(receipt, ms(0), "no paper"),
    ];
    for (nth, mut ending) in endings.into_iter().enumerate() {
        keep(&*queue, receipt, "extended").await;
        let state = format!("step {nth}");
        ending.receipt = receipt;
        settle_live(&*queue, ending.with_state(state.clone())).await;
        receipt = take_with(&*queue, Some(&state)).await.receipt;
    }
    settle_live(&*queue, Settlement::release(receipt)).await;
    let delivery = take_with(&*queue, Some("step 3")).await;
    assert_eq!((&delivery.body, &delivery.headers), (&body, &headers));
    assert_eq!(delivery.failure.as_deref(), Some("no paper"));
}

pub(crate) async fn l21_a_state_outlives_an_expired_lease(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 9).await;
    let id = queue.put("x").await;
    let first = take_one(&*queue).await.receipt;
    let extension = Extension::new(first).with_progress("half").with_state("a");
    let extended = queue.extend(&[extension], ms(50)).await;
    assert_eq!(extended.expect("extends"), [Extended::Extended]);
    stage.advance(50).await;
    let second = take_with(&*queue, Some("a")).await.receipt;
    assert_eq!(state_size(&*queue, id).await, 1);
    assert_eq!(extend(&*queue, first, "stale").await, Extended::LeaseLost);
    let stale = Settlement::retry(first, ms(0)).with_state("stale");
    assert_eq!(settle(&*queue, stale).await, Settled::LeaseLost);
    settle_live(&*queue, Settlement::release(second)).await;
    take_with(&*queue, Some("a")).await;
}

pub(crate) async fn l21_an_empty_state_takes_the_last_one_away(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let id = queue.put("x").await;
    let first = take_one(&*queue).await.receipt;
    keep(&*queue, first, "a").await;
    keep(&*queue, first, "").await;
    settle_live(&*queue, Settlement::release(first)).await;
    let second = take_with(&*queue, None).await.receipt;
    settle_live(&*queue, Settlement::release(second).with_state("b")).await;
    let third = take_with(&*queue, Some("b")).await.receipt;
    settle_live(&*queue, Settlement::release(third).with_state("")).await;
    assert_eq!(state_size(&*queue, id).await, 0);
    take_with(&*queue, None).await;
}

pub(crate) async fn l21_a_state_is_shown_in_each_place(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let id = queue.put("x").await;
    let mut receipt = take_one(&*queue).await.receipt;
    keep(&*queue, receipt, "abc").await;
    let shown = async |place| {
        let peeked = peek(&*queue, place).await;
        assert_eq!(peeked.len(), 1, "{place:?}");
        assert_eq!(text(peeked[0].state.as_ref()), Some("abc"), "{place:?}");
        assert_eq!(state_size(&*queue, id).await, 3, "{place:?}");
    };
    shown(Place::Leased).await;
    settle_live(&*queue, Settlement::release(receipt)).await;
    shown(Place::Ready).await;
    receipt = take_one(&*queue).await.receipt;
    settle_live(&*queue, Settlement::defer(receipt, ms(50))).await;
    shown(Place::Delayed).await;
    stage.advance(50).await;
    bury_next(&*queue, "hopeless").await;
    assert_eq!(text(one_dead(&*queue).await.state.as_ref()), Some("abc"));
    assert_eq!(state_size(&*queue, id).await, 3);
}

pub(crate) async fn l21_a_revived_message_has_its_state(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    queue.put_numbered(2).await;
    let last = take_one(&*queue).await.receipt;
    settle_live(
        &*queue,
        Settlement::retry(last, ms(0)).with_state("retried"),
    )
    .await;
    let buried = take_one(&*queue).await.receipt;
    settle_live(&*queue, Settlement::bury(buried, "no").with_state("buried")).await;
    let revived = queue
        .revive(&[last.id, buried.id], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(revived, [Revived::Revived; 2]);
    let delivery = take_with(&*queue, Some("retried")).await;
    assert_eq!((delivery.attempt, &delivery.failure), (1, &None));
    take_with(&*queue, Some("buried")).await;
}

pub(crate) async fn l21_a_message_that_starts_fresh_has_no_state(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    let mut ids = Vec::new();
    for state in ["one", "two"] {
        let receipt = take_one(&*queue).await.receipt;
        settle_live(&*queue, Settlement::bury(receipt, "no").with_state(state)).await;
        ids.push(receipt.id);
    }
    let live = take_one(&*queue).await.receipt;
    keep(&*queue, live, "three").await;
    let asked = [ids[0], live.id];
    let revived = queue.revive(&asked, Revival::Fresh).await;
    assert_eq!(
        revived.expect("an answer"),
        [Revived::Revived, Revived::NotFound]
    );
    assert_eq!(state_size(&*queue, ids[0]).await, 0);
    let again = take_with(&*queue, None).await;
    assert_eq!(
        (again.id(), again.attempt, &again.failure),
        (ids[0], 1, &None)
    );
    assert_eq!(
        text(one_dead(&*queue).await.state.as_ref()),
        Some("two"),
        "of another"
    );
    assert_eq!(
        state_size(&*queue, live.id).await,
        5,
        "of one that is not dead"
    );
}

pub(crate) async fn l21_a_state_of_one_message_of_a_batch(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(40).await;
    let deliveries = take(&*queue, 40).await;
    let of = |nth: usize| deliveries[nth].receipt;
    keep(&*queue, of(7), "seven").await;
    let mut batch: Vec<_> = (0..40).map(|nth| Settlement::release(of(nth))).collect();
    batch[9] = Settlement::release(of(9)).with_state("nine");
    batch.remove(20);
    let settled = queue.settle(&batch).await.expect("settles");
    assert_eq!(settled, vec![Settled::Done; 39]);
    let again = take(&*queue, 40).await;
    assert_eq!(again.len(), 39);
    for delivery in again {
        let state = match delivery.id() {
            id if id == of(7).id => Some("seven"),
            id if id == of(9).id => Some("nine"),
            _ => None,
        };
        assert_eq!(text(delivery.state.as_deref()), state, "{}", delivery.id());
    }
}

pub(crate) async fn l21_states_have_at_most_64_kib_and_no_ack(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put("x").await;
    let receipt = take_one(&*queue).await.receipt;
    let too_long = vec![b's'; MAX_STATE + 1];
    let extension = Extension::new(receipt).with_state(too_long.clone());
    refused(
        queue.extend(&[extension], LONG).await,
        "a state of 65537 bytes",
    );
    let release = Settlement::release(receipt).with_state(too_long);
    refused(queue.settle(&[release]).await, "a state of 65537 bytes");
    let ack = Settlement::ack(receipt).with_state("s");
    refused(queue.settle(&[ack]).await, "an ack with a state");
    let longest = "s".repeat(MAX_STATE);
    settle_live(
        &*queue,
        Settlement::release(receipt).with_state(longest.clone()),
    )
    .await;
    take_with(&*queue, Some(&longest)).await;
}

pub(crate) async fn l21_states_count_towards_the_bytes_of_a_call(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(128).await;
    let deliveries = take(&*queue, 128).await;
    let state = Bytes::from(vec![b's'; MAX_STATE]);
    let release = |each: &Delivery| Settlement::release(each.receipt).with_state(state.clone());
    let batch: Vec<_> = deliveries.iter().map(release).collect();
    queue.settle(&batch).await.expect("settles");
    let first = take(&*queue, 128).await;
    assert_eq!(
        first.len(),
        127,
        "128 states of 64 KiB are 8 MiB, and their bodies are beyond"
    );
    assert_eq!(take(&*queue, 128).await.len(), 1);
}
