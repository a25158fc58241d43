//! L4, L10, L16: one call's leases are single leases, however the backend keeps them.

use queue_core::*;

use crate::{
    stage::{LeasingQueue, Stage, ms},
    steps::*,
};

type MakeSettlement = fn(Receipt) -> Settlement;

fn holder() -> Option<Holder> {
    Some(Holder::new("mailer").expect("a good name"))
}

/// Leases the given number of messages in the name of a holder, after somebody else leased some.
async fn batch(queue: &LeasingQueue, max: usize) -> Vec<Receipt> {
    queue.put_numbered(1).await;
    let before = queue.settle_and_lease(&[], count(1), LONG, holder()).await;
    let (_, before) = before.expect("settled and leased");
    ack_all(&**queue, &before.deliveries).await;
    queue.put_numbered(max as u64).await;
    lease(queue, max).await
}

/// Leases the given number of messages in the name of a holder.
async fn lease(queue: &LeasingQueue, max: usize) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    while receipts.len() < max {
        let answer = queue
            .settle_and_lease(&[], count(max - receipts.len()), LONG, holder())
            .await;
        let (_, leased) = answer.expect("settled and leased");
        assert_ne!(leased.deliveries, [], "there are more");
        receipts.extend(leased.deliveries.iter().map(|one| one.receipt));
    }
    receipts.sort_by_key(|receipt| receipt.id);
    receipts
}

/// Fails unless these leases, and no others, are live, each with its message and its holder.
async fn are_held(queue: &dyn Leasing, receipts: &[Receipt]) {
    let held = receipts.iter().map(|receipt| (*receipt, holder()));
    assert_eq!(holders(queue).await, held.collect::<Vec<_>>());
    assert_eq!(depth(queue).await[2], receipts.len() as u64);
}

fn acks(receipts: &[Receipt]) -> Vec<Settlement> {
    receipts.iter().copied().map(Settlement::ack).collect()
}

pub(crate) async fn l4_what_one_call_leased_settles_one_by_one(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut held = batch(&queue, 12).await;
    are_held(&*queue, &held).await;
    let ends: [(usize, MakeSettlement, Settled); 5] = [
        (3, Settlement::ack, Settled::Done),
        (7, |one| Settlement::retry(one, LONG), Settled::Done),
        (0, |one| Settlement::bury(one, "no use"), Settled::Dead),
        (8, Settlement::ack, Settled::Done),
        (2, |one| Settlement::defer(one, LONG), Settled::Done),
    ];
    for (place, end, expected) in ends {
        let one = held.remove(place);
        assert_eq!(settle(&*queue, end(one)).await, expected, "{place}");
        assert_eq!(settle(&*queue, end(one)).await, Settled::LeaseLost);
        are_held(&*queue, &held).await;
    }
    assert_eq!(depth(&*queue).await, [0, 2, 7, 1]);
    let settled = queue.settle(&acks(&held)).await.expect("settles");
    assert_eq!(settled, [Settled::Done; 7]);
    are_held(&*queue, &[]).await;
    let counters = counted(&*queue).await;
    assert!(counters.balance(), "{counters:?}");
}

pub(crate) async fn l4_a_batch_is_acked_in_any_order_and_company(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let held = batch(&queue, 8).await;
    let others = batch(&queue, 4).await;
    // The receipts come backwards, one twice, with one made up and one of another batch.
    let mut entries: Vec<Receipt> = held.iter().rev().copied().collect();
    entries.insert(3, entries[1]);
    entries.insert(5, Receipt::new(held[0].id, Token::new(1)));
    entries.push(others[1]);
    let settled = queue.settle(&acks(&entries)).await.expect("settles");
    let mut expected = [Settled::Done; 11];
    (expected[3], expected[5]) = (Settled::LeaseLost, Settled::LeaseLost);
    assert_eq!(settled, expected);
    let left = [others[0], others[2], others[3]];
    are_held(&*queue, &left).await;
    assert_eq!(
        queue.settle(&acks(&others)).await.expect("settles"),
        [
            Settled::Done,
            Settled::LeaseLost,
            Settled::Done,
            Settled::Done
        ]
    );
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn l4_a_batch_is_acked_part_by_part(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let all = batch(&queue, 16).await;
    settles_part_by_part(&queue, all).await;
}

pub(crate) async fn l4_a_batch_in_another_order_than_that_of_ids(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    stage.put_mixed(&queue, 19).await;
    let all = lease(&queue, 16).await;
    settles_part_by_part(&queue, all).await;
    ack_all(&*queue, &take(&*queue, 128).await).await;
    stage.put_mixed(&queue, 12).await;
    let all = lease(&queue, 12).await;
    let settled = queue.settle(&acks(&all)).await.expect("settles");
    assert_eq!(settled, [Settled::Done; 12]);
    assert_eq!(depth(&*queue).await, [0, 1, 0, 0]);
}

async fn settles_part_by_part(queue: &LeasingQueue, all: Vec<Receipt>) {
    let rest = depth(&**queue).await[0];
    let mut held = all.clone();
    for part in [&[0, 3, 4][..], &[15], &[1, 2, 5, 6]] {
        let receipts: Vec<Receipt> = part.iter().map(|place: &usize| all[*place]).collect();
        let settled = queue.settle(&acks(&receipts)).await.expect("settles");
        assert_eq!(settled, vec![Settled::Done; part.len()]);
        held.retain(|receipt| !receipts.contains(receipt));
        are_held(&**queue, &held).await;
    }
    let again = [all[7], all[3], all[8]];
    let settled = queue.settle(&acks(&again)).await.expect("settles");
    assert_eq!(settled, [Settled::Done, Settled::LeaseLost, Settled::Done]);
    held.retain(|receipt| !again.contains(receipt));
    are_held(&**queue, &held).await;
    let settled = settle(&**queue, Settlement::defer(all[9], LONG)).await;
    assert_eq!(settled, Settled::Done);
    held.retain(|receipt| *receipt != all[9]);
    are_held(&**queue, &held).await;
    let settled = queue.settle(&acks(&all)).await.expect("settles");
    let expected = all.iter().map(|receipt| match held.contains(receipt) {
        true => Settled::Done,
        false => Settled::LeaseLost,
    });
    assert!(settled.iter().copied().eq(expected), "{settled:?}");
    assert_eq!(depth(&**queue).await, [rest, 1, 0, 0]);
}

pub(crate) async fn l4_whoever_has_the_receipts_of_a_batch_settles_them(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let same = stage.leasing().await;
    let held = batch(&queue, 6).await;
    let settled = same.settle(&acks(&held[1..4])).await.expect("settles");
    assert_eq!(settled, [Settled::Done; 3]);
    are_held(&*queue, &[held[0], held[4], held[5]]).await;
    let settled = queue.settle(&acks(&held)).await.expect("settles");
    let lost = [Settled::LeaseLost; 3];
    assert_eq!(settled[1..4], lost);
    assert_eq!([settled[0], settled[4], settled[5]], [Settled::Done; 3]);
    let next = batch(&queue, 5).await;
    let settled = same.settle(&acks(&next)).await.expect("settles");
    assert_eq!(settled, [Settled::Done; 5]);
    assert_eq!(
        queue.settle(&acks(&next)).await.expect("settles"),
        [Settled::LeaseLost; 5]
    );
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn l4_a_batch_may_leave_out_what_is_not_due(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    queue.put_due("later", FAR).await;
    queue.put_numbered(3).await;
    let mut held = Vec::new();
    while held.len() < 6 {
        held.extend(take(&*queue, 6).await);
    }
    assert_eq!(depth(&*queue).await, [0, 1, 6, 0]);
    let receipts: Vec<Receipt> = held.iter().map(|one| one.receipt).collect();
    let settled = queue.settle(&acks(&receipts)).await.expect("settles");
    assert_eq!(settled, [Settled::Done; 6]);
    assert_eq!(depth(&*queue).await, [0, 1, 0, 0]);
}

pub(crate) async fn l10_each_lease_of_a_batch_is_extended_by_itself(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(6).await;
    let mut receipts = Vec::new();
    while receipts.len() < 6 {
        let held = take_for(&*queue, 6, ms(100)).await;
        receipts.extend(held.iter().map(|one| one.receipt));
    }
    let extended = queue
        .extend(&Extension::all(&receipts[2..4]), ms(500))
        .await
        .expect("extends");
    assert_eq!(extended, [Extended::Extended; 2]);
    stage.advance(100).await;
    let mut back = Vec::new();
    while back.len() < 4 {
        back.extend(take(&*queue, 6).await);
    }
    back.sort_by_key(Delivery::id);
    let mut expected = [0, 1, 4, 5].map(|place: usize| receipts[place].id);
    expected.sort_unstable();
    assert!(back.iter().map(Delivery::id).eq(expected), "{back:?}");
    assert!(back.iter().all(|one| one.attempt == 2), "{back:?}");
    let settled = queue.settle(&acks(&receipts)).await.expect("settles");
    let (lost, done) = (Settled::LeaseLost, Settled::Done);
    assert_eq!(settled, [lost, lost, done, done, lost, lost]);
    ack_all(&*queue, &back).await;
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn l16_pages_of_what_one_call_leased(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    are_held(&*queue, &[]).await;
    let mut held = batch(&queue, 7).await;
    held.extend(batch(&queue, 1).await);
    for length in 1..=8 {
        let shown = pages(length, |page| queue.peek(Place::Leased, page)).await;
        let shown = shown.iter().flatten();
        let mut seen: Vec<_> = shown.map(|one| one.message.id).collect();
        seen.sort_unstable();
        let expected: Vec<_> = held.iter().map(|receipt| receipt.id).collect();
        assert_eq!(seen, expected, "{length} to a page");
    }
}

pub(crate) async fn l16_batches_of_one_deadline_are_shown_by_id(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    stage.put_mixed(&queue, 20).await;
    let mut held = lease(&queue, 11).await;
    held.extend(lease(&queue, 9).await);
    are_shown_by_id(&queue, held, &[1, 3, 7, 20]).await;
}

pub(crate) async fn l16_many_batches_of_one_deadline_are_shown_by_id(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    stage.put_mixed(&queue, 120).await;
    let mut held = Vec::new();
    for _ in 0..10 {
        // Some messages in batches, and some pushed alone.
        for max in [5, 4, 1, 1, 1] {
            held.extend(lease(&queue, max).await);
        }
    }
    are_shown_by_id(&queue, held, &[1, 3, 16, 17, 64, 120]).await;
}

/// Fails unless pages of these lengths show these leases by id, each once.
async fn are_shown_by_id(queue: &LeasingQueue, mut held: Vec<Receipt>, lengths: &[usize]) {
    held.sort_by_key(|receipt| receipt.id);
    for length in lengths {
        let shown = pages(*length, |page| queue.peek(Place::Leased, page)).await;
        let shown = shown.iter().flatten().map(|one| one.message.id);
        let expected = held.iter().map(|receipt| receipt.id);
        assert!(shown.eq(expected), "{length} to a page");
    }
}

pub(crate) async fn f2_push_all_splits_and_keeps_the_order(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    assert_eq!(queue.push_all(&[]).await.expect("pushes"), []);
    let body = |number: u64| Push::new(format!("m{number}"));
    let pushes: Vec<Push> = (1..=300).map(body).collect();
    let pushed = queue.push_all(&pushes).await.expect("pushes");
    let expected: Vec<Pushed> = (1..=300).map(accepted).collect();
    assert_eq!(pushed, expected);
    let drained = stage.ordered(drain(&*queue).await);
    assert_eq!(drained, (1..=300).collect::<Vec<u64>>());
    let big = vec![Push::new(vec![0; limits::DEFAULT_MAX_BODY]); 9];
    assert_eq!(
        queue.push_all(&big).await.expect("pushes").len(),
        9,
        "past 8 MiB, too"
    );
}
