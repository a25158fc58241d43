//! L16: a peek names the holder of a lease, and an operator can end the lease for that holder.

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

fn holder(name: &str) -> Option<Holder> {
    Some(Holder::new(name).expect("a good name"))
}

/// Settles `settlements` and leases the next message, which must be there.
async fn settle_and_lease(
    queue: &dyn Leasing,
    settlements: &[Settlement],
    holder: Option<Holder>,
) -> Receipt {
    let answer = queue
        .settle_and_lease(settlements, count(1), LONG, holder)
        .await;
    let (_, leased) = answer.expect("settled and leased");
    let delivery = leased.deliveries.first();
    delivery.expect("a message is ready").receipt
}

pub(crate) async fn l16_settle_and_lease_names_the_holder(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    assert_eq!(holders(&*queue).await, [], "nobody holds anything yet");
    queue.put_numbered(5).await;
    let mailer = holder("mailer on web-3, process 4711");
    let answer = queue
        .settle_and_lease(&[], count(2), LONG, mailer.clone())
        .await;
    let (_, Leased { deliveries, .. }) = answer.expect("settled and leased");
    let mut expected = vec![
        (deliveries[0].receipt, mailer.clone()),
        (deliveries[1].receipt, mailer),
        (
            settle_and_lease(&*queue, &[], holder("printer")).await,
            holder("printer"),
        ),
        (settle_and_lease(&*queue, &[], None).await, None),
        (take_one(&*queue).await.receipt, None),
    ];
    assert_eq!(holders(&*queue).await, expected);
    let receipts: Vec<Receipt> = expected.iter().map(|(receipt, _)| *receipt).collect();
    queue
        .extend(&Extension::all(&receipts), LONG)
        .await
        .expect("extends");
    assert_eq!(holders(&*queue).await, expected, "an extension keeps it");
    let same = stage.leasing().await;
    assert_eq!(holders(&*same).await, expected, "for every client");
    settle_live(&*queue, Settlement::ack(expected.remove(0).0)).await;
    assert_eq!(holders(&*queue).await, expected, "no name moved");
}

pub(crate) async fn l16_a_holders_name_lasts_as_long_as_its_lease(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    assert_eq!(holders(&*queue).await, [], "nobody holds anything yet");
    queue.put_numbered(1).await;
    let first = settle_and_lease(&*queue, &[], holder("first")).await;
    settle_live(&*queue, Settlement::release(first)).await;
    let second = take_one(&*queue).await.receipt;
    assert_eq!(holders(&*queue).await, [(second, None)]);
    // Each call ends the lease before it, and leases the same message.
    let third = settle_and_lease(&*queue, &[Settlement::release(second)], holder("third")).await;
    assert_eq!(holders(&*queue).await, [(third, holder("third"))]);
    let fourth = settle_and_lease(&*queue, &[Settlement::retry(third, ms(0))], None).await;
    assert_eq!(holders(&*queue).await, [(fourth, None)]);
    let fifth = settle_and_lease(
        &*queue,
        &[Settlement::defer(fourth, ms(0))],
        holder("fifth"),
    )
    .await;
    assert_eq!(holders(&*queue).await, [(fifth, holder("fifth"))]);
    settle_live(&*queue, Settlement::bury(fifth, "dead")).await;
    queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    let last = take_one(&*queue).await.receipt;
    assert_eq!(holders(&*queue).await, [(last, None)]);
}

pub(crate) async fn l16_an_expired_lease_takes_its_holders_name_along(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    assert_eq!(holders(&*queue).await, [], "nobody holds anything yet");
    queue.put_numbered(1).await;
    let answer = queue
        .settle_and_lease(&[], count(1), ms(10), holder("first"))
        .await;
    let (_, leased) = answer.expect("settled and leased");
    assert_eq!(leased.deliveries.len(), 1);
    stage.advance(10).await;
    assert_eq!(holders(&*queue).await, []);
    let second = take_one(&*queue).await.receipt;
    assert_eq!(holders(&*queue).await, [(second, None)]);
}

pub(crate) async fn l16_a_holders_name_is_any_text_of_1_to_128_bytes(stage: &Stage<'_>) {
    refused(Holder::new(""), "0 bytes");
    refused(Holder::new("x".repeat(129)), "129 bytes");
    let queue = stage.leasing().await;
    assert_eq!(holders(&*queue).await, [], "nobody holds anything yet");
    queue.put_numbered(3).await;
    let mut expected = Vec::new();
    let longest = "ü".repeat(64);
    for name in ["x", longest.as_str(), "\0\r\n \"two\" {words}:"] {
        expected.push((
            settle_and_lease(&*queue, &[], holder(name)).await,
            holder(name),
        ));
    }
    assert_eq!(holders(&*queue).await, expected);
}

pub(crate) async fn l16_the_receipt_that_it_shows_ends_the_lease(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    assert_eq!(holders(&*queue).await, [], "nobody holds anything yet");
    queue.put_numbered(2).await;
    let ends: [fn(Receipt) -> Settlement; 2] = [Settlement::ack, |receipt| {
        Settlement::bury(receipt, "stopped")
    }];
    for (end, expected) in ends.into_iter().zip([Settled::Done, Settled::Dead]) {
        let held = settle_and_lease(&*queue, &[], holder("mailer")).await;
        let operator = stage.leasing().await;
        let held_by = holders(&*operator).await;
        assert_eq!(held_by, [(held, holder("mailer"))]);
        assert_eq!(settle(&*operator, end(held_by[0].0)).await, expected);
        let extended = queue.extend(&[held.into()], LONG).await.expect("extends");
        assert_eq!(extended, [Extended::LeaseLost], "its holder learns of it");
        let settled = settle(&*queue, Settlement::ack(held)).await;
        assert_eq!(settled, Settled::LeaseLost);
    }
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1]);
}
