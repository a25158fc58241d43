//! Every verb on a damaged queue.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;

use super::{
    filled::{CAPACITY, Filled, LEASE},
    harm::Done,
};

/// More pages than there are messages.
const PAGES: usize = 200;

/// Whether a harm concerns the whole queue and cannot be healed: then calls may fail with an error that
/// says so.
fn is_fatal(done: &Done) -> bool {
    let field = String::from_utf8_lossy(&done.entry);
    matches!(&*done.suffix, "meta" | "once")
        && ["config", "accepted", "capacity"].contains(&&*field)
}

/// Checks a result: an error names the queue and its damage in one line, and there is no needless error.
#[track_caller]
pub(crate) fn assert_allowed(answer: Result<()>, name: &QueueName, done: &[Done]) {
    let Err(error) = answer else {
        return;
    };
    let text = queue_testing::chain::texts(&error).join(": ");
    assert!(done.iter().any(is_fatal), "{text}\nafter {done:?}");
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.len() <= 1_200, "{} bytes", text.len());
    assert!(text.contains(name.as_str()), "{text}");
    assert!(!text.contains("report"), "{text}");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Configuration | ErrorKind::ConfigMismatch | ErrorKind::Internal
        ),
        "{error:?}"
    );
}

pub(crate) async fn page_through<T>(read: impl AsyncFn(Page) -> Result<Paged<T>>) -> Result<()> {
    let mut page = Page::first(3);
    for _ in 0..PAGES {
        match read(page).await?.next {
            Some(next) => page = Page::after(next, 3),
            None => return Ok(()),
        }
    }
    panic!("no end of pages");
}

/// Calls every verb that takes nothing away.
pub(crate) async fn play(backend: &dyn Backend, filled: &Filled, done: &[Done]) {
    let (leasing, queue) = (filled.leasing(), &filled.queue);
    let allowed = |answer: Result<()>| assert_allowed(answer, &filled.name, done);
    let ids: Vec<MessageId> = filled.bodies.keys().copied().map(MessageId::new).collect();
    let stranger = MessageId::new(1 << 40);
    let lost = Receipt::new(stranger, Token::new(1));

    allowed(leasing.counters().await.map(drop));
    allowed(leasing.depth().await.map(drop));
    for place in [Place::Ready, Place::Delayed, Place::Leased] {
        allowed(page_through(async |page| leasing.peek(place, page).await).await);
    }
    allowed(page_through(async |page| leasing.dead_letters(page).await).await);
    for kind in ["put", "of a dedup key", "of a unique key"] {
        let push = match kind {
            "put" => Push::new(kind),
            "of a dedup key" => Push::new(kind).with_dedup("key", LEASE),
            _ => Push::new(kind).with_unique("only", LEASE),
        };
        allowed(queue.put(&[push]).await.map(drop));
    }
    for _ in 0..3 {
        let leased = leasing.lease(NonZeroUsize::MIN, LEASE).await;
        if let Some(first) = leased
            .as_ref()
            .ok()
            .and_then(|leased| leased.deliveries.first())
        {
            allowed(
                leasing
                    .extend(&[first.receipt.into()], LEASE)
                    .await
                    .map(drop),
            );
            let released = leasing.settle(&[Settlement::release(first.receipt)]).await;
            allowed(released.map(drop));
        }
        allowed(leased.map(drop));
    }
    let bogus = [
        Settlement::ack(lost),
        Settlement::retry(lost, Duration::ZERO),
        Settlement::bury(lost, "gone"),
    ];
    allowed(leasing.settle(&bogus).await.map(drop));
    let answer = leasing
        .settle_and_lease(&bogus, NonZeroUsize::MIN, LEASE, None)
        .await;
    if let Ok((_, leased)) = &answer {
        let back = leased.deliveries.iter();
        let back: Vec<_> = back.map(|each| Settlement::release(each.receipt)).collect();
        if !back.is_empty() {
            allowed(leasing.settle(&back).await.map(drop));
        }
    }
    allowed(answer.map(drop));
    allowed(leasing.extend(&[lost.into()], LEASE).await.map(drop));
    allowed(leasing.discard(&[stranger]).await.map(drop));
    allowed(leasing.cancel(&[stranger]).await.map(drop));
    let later = Due::After(LEASE);
    allowed(leasing.reschedule(&[stranger], later).await.map(drop));
    let distinct = Push::new("distinct again").with_distinct("c");
    allowed(leasing.push(&[distinct]).await.map(drop));
    allowed(leasing.revive(&ids, Revival::WithState).await.map(drop));
    allowed(leasing.pause().await);
    allowed(leasing.resume().await);
    allowed(leasing.wait_for_arrival(Duration::from_millis(1)).await);
    match queue {
        AnyQueue::Delay(queue) => allowed(queue.next_due().await.map(drop)),
        AnyQueue::Bounded(queue) => {
            allowed(queue.recent(10).await.map(drop));
            allowed(queue.capacity().await.map(drop));
            let same = NonZeroUsize::new(CAPACITY).expect("not zero");
            allowed(queue.resize(same).await.map(drop));
        }
        _ => {}
    }
    allowed(backend.open_stored(&filled.name).await.map(drop));
    // One queue that is damaged does not hide the others.
    let listed = backend.queues(None, NonZeroUsize::MIN).await;
    assert!(!listed.expect("a list").is_empty());
}
