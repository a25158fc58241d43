//! L16: the pages of a peek.

use queue_core::*;

use crate::{stage::Stage, steps::*};

/// The ids of a place, in pages of at most `limit` entries.
async fn in_pages(queue: &dyn Leasing, place: Place, limit: usize) -> Vec<Vec<u64>> {
    let pages = pages(limit, |page| queue.peek(place, page)).await;
    pages.iter().map(|page| numbers_of(page)).collect()
}

fn numbers_of(page: &[Peeked]) -> Vec<u64> {
    page.iter().map(|one| one.message.id.get()).collect()
}

async fn peek(queue: &dyn Leasing, place: Place, page: Page) -> (Vec<u64>, Option<Cursor>) {
    let Paged { entries, next, .. } = queue.peek(place, page).await.expect("peeks");
    (numbers_of(&entries), next)
}

pub(crate) async fn l16_every_page_length_shows_each_once(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let all: Vec<u64> = (1..=135).collect();
    let shows_all = async |place: Place| {
        for limit in [1, 2, 50, 134, 135, 136, 1_000] {
            let seen = in_pages(&*queue, place, limit).await.concat();
            assert_eq!(seen, all, "{place:?}, in pages of {limit}");
        }
    };
    queue.put_numbered(135).await;
    shows_all(Place::Ready).await;
    let mut leased = take(&*queue, 128).await;
    leased.extend(take(&*queue, 128).await);
    shows_all(Place::Leased).await;
    for some in leased.chunks(limits::MAX_BATCH) {
        let back = settlements(some, |one| Settlement::defer(one, FAR));
        queue.settle(&back).await.expect("settles");
    }
    shows_all(Place::Delayed).await;
}

pub(crate) async fn l16_pages_leave_out_what_was_cancelled(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(300).await;
    for _ in 0..3 {
        let batch = vec![Push::new("x").with_due(FAR); 100];
        queue.try_put(&batch).await.expect("is accepted");
    }
    // The first and the last message of both places, and many between.
    let (gone, rest): (Vec<u64>, Vec<u64>) =
        (1..=600_u64).partition(|number| number % 3 == 1 || [300, 600].contains(number));
    for some in gone.chunks(limits::MAX_BATCH) {
        cancel(&*queue, some).await;
    }
    let (ready, delayed) = rest.split_at(rest.partition_point(|number| *number <= 300));
    for (place, expected) in [(Place::Ready, ready), (Place::Delayed, delayed)] {
        for limit in [7, 100, 128, 1_000] {
            let seen = in_pages(&*queue, place, limit).await.concat();
            assert_eq!(seen, expected, "{place:?}, in pages of {limit}");
        }
    }
}

pub(crate) async fn l16_a_page_goes_on_after_as_many_as_were_shown(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(6).await;
    let (shown, next) = peek(&*queue, Place::Ready, Page::first(2)).await;
    assert_eq!(shown, [1, 2]);
    let second = Page::after(next.expect("there is more"), 2);
    let (shown, next) = peek(&*queue, Place::Ready, second).await;
    assert_eq!(shown, [3, 4]);
    let third = Page::after(next.expect("there is more"), 2);
    ack(&*queue, &take_one(&*queue).await).await;
    let (shown, _) = peek(&*queue, Place::Ready, second).await;
    assert_eq!(shown, [4, 5], "one left, and so one is not shown");
    assert_eq!(peek(&*queue, Place::Ready, third).await, (vec![6], None));
    queue.purge_all().await.expect("purges");
    for page in [second, third] {
        let behind = peek(&*queue, Place::Ready, page).await;
        assert_eq!(behind, (vec![], None), "behind the end");
    }
}

pub(crate) async fn l16_a_page_has_no_more_than_8_mib(stage: &Stage<'_>) {
    let queue = stage
        .leasing_with(|config| config.max_body = limits::MAX_BATCH_BYTES)
        .await;
    let large = 3 * 1024 * 1024;
    for size in [large, large, large, limits::MAX_BATCH_BYTES - 6, 1] {
        let push = Push::new(vec![0; size]).with_header("abc", "def");
        queue.put(push).await;
    }
    let expected: [Vec<u64>; 4] = [vec![1, 2], vec![3], vec![4], vec![5]];
    assert_eq!(
        in_pages(&*queue, Place::Ready, 10).await,
        expected,
        "headers counted, and always one"
    );
    let mut leased = Vec::new();
    for some in &expected {
        let deliveries = take(&*queue, 128).await;
        assert_eq!(ids(&deliveries), *some, "as for a lease");
        leased.extend(deliveries);
    }
    assert_eq!(in_pages(&*queue, Place::Leased, 10).await, expected);
    for delivery in &leased {
        settle_live(&*queue, Settlement::defer(delivery.receipt, FAR)).await;
    }
    assert_eq!(in_pages(&*queue, Place::Delayed, 10).await, expected);
}
