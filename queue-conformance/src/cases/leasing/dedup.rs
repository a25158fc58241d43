//! L9: a dedup key makes a repeat harmless for a window.

use std::time::Duration;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

fn marked(key: &'static str, window: u64) -> Push {
    marked_for(key, ms(window))
}

fn marked_for(key: &'static str, window: Duration) -> Push {
    Push::new(format!("body of {key}")).with_dedup(key, window)
}

pub(crate) async fn l9_a_repeat_within_the_window_changes_nothing(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let pushed = queue.pushed(marked_for("a", LONG)).await;
    assert_eq!(pushed, accepted(1));
    let pushed = queue.pushed(marked_for("a", LONG)).await;
    assert_eq!(pushed, duplicate(1));
    let pushed = queue.pushed(marked_for("b", LONG)).await;
    assert_eq!(pushed, accepted(2), "no id was used");
    let pushed = queue.pushed("body of a").await;
    assert_eq!(pushed, accepted(3), "the body is no key");
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.accepted, counters.dedup_marks), (3, 2));
    assert_eq!(stage.ordered(drain(&*queue).await), [1, 2, 3]);
}

pub(crate) async fn l9_a_repeat_within_a_batch_is_a_duplicate(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = [
        marked_for("a", LONG),
        Push::new("x"),
        marked_for("a", LONG),
        marked_for("b", LONG),
    ];
    let pushed = queue.try_put(&batch).await.expect("is accepted");
    use Pushed::{Accepted, Duplicate};
    let expected = [
        Accepted(id(1)),
        Accepted(id(2)),
        Duplicate(id(1)),
        Accepted(id(3)),
    ];
    assert_eq!(pushed, expected);
}

pub(crate) async fn l9_the_mark_lives_for_exactly_the_window(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(marked("a", 1_000)).await;
    stage.advance(999).await;
    let pushed = queue.pushed(marked("a", 1_000)).await;
    assert_eq!(pushed, duplicate(1));
    stage.advance(1).await;
    let pushed = queue.pushed(marked("a", 1_000)).await;
    assert_eq!(pushed, accepted(2), "at its end");
    stage.advance(999).await;
    let pushed = queue.pushed(marked("a", 1_000)).await;
    assert_eq!(pushed, duplicate(2), "a new mark");
}

pub(crate) async fn l9_a_mark_is_over_before_anybody_clears_it_away(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let marked = |number: u32| Push::new("x").with_dedup(number.to_be_bytes().to_vec(), ms(100));
    for number in 0..600 {
        queue.put(marked(number)).await;
    }
    stage.advance(100).await;
    for (number, message) in [599, 0, 300].into_iter().zip(601..) {
        let pushed = queue.pushed(marked(number)).await;
        assert_eq!(pushed, accepted(message), "the mark of {number}");
    }
}

pub(crate) async fn l9_a_duplicate_does_not_extend_the_mark(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(marked("a", 1_000)).await;
    stage.advance(600).await;
    let pushed = queue.pushed(marked("a", 50_000)).await;
    assert_eq!(pushed, duplicate(1));
    stage.advance(400).await;
    assert_eq!(queue.pushed(marked("a", 1)).await, accepted(2));
}

pub(crate) async fn l9_the_mark_outlives_the_message(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for key in ["acked", "dead", "discarded", "purged", "leased"] {
        queue.put(marked(key, 1_000)).await;
    }
    let first = take_one(&*queue).await;
    ack(&*queue, &first).await;
    bury_next(&*queue, "dead").await;
    let discarded = bury_next(&*queue, "discarded").await;
    queue.discard(&[discarded]).await.expect("discards");
    assert_eq!(queue.purge(count(1)).await.expect("purges"), 1);
    take_one(&*queue).await;
    stage.advance(999).await;
    for (number, key) in (1..).zip(["acked", "dead", "discarded", "purged", "leased"]) {
        let pushed = queue.pushed(marked(key, 1_000)).await;
        assert_eq!(pushed, duplicate(number), "{key}");
    }
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.accepted, counters.dedup_marks), (5, 5));
}

pub(crate) async fn l9_keys_are_bytes_and_belong_to_their_queue(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let keys: [&'static [u8]; 6] = [b"a", b"A", b"a\0", b"\0a", b"\xff\xfe", &[b'k'; 256]];
    for (number, key) in (1..).zip(keys) {
        let push = || Push::new("x").with_dedup(key, LONG);
        let pushed = queue.pushed(push()).await;
        assert_eq!(pushed, accepted(number), "{key:?}");
        let pushed = queue.pushed(push()).await;
        assert_eq!(pushed, duplicate(number), "{key:?}");
    }
    let other = stage.leasing_named("other", |_| {}).await;
    let pushed = other.pushed(marked_for("a", LONG)).await;
    assert_eq!(pushed, accepted(1));
}

pub(crate) async fn l9_a_refused_push_leaves_no_mark(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_body = 20).await;
    let batch = [marked("a", 1_000), Push::new(vec![0; 21])];
    refused(queue.try_put(&batch).await, "21 bytes");
    assert_eq!(queue.counters().await.expect("counters").dedup_marks, 0);
    assert_eq!(queue.pushed(marked("a", 1_000)).await, accepted(1));
}

pub(crate) async fn l9_expired_marks_are_cleared_away(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for number in 0..500_u32 {
        let push = Push::new("x").with_dedup(number.to_be_bytes().to_vec(), ms(100));
        queue.put(push).await;
    }
    assert_eq!(queue.counters().await.expect("counters").dedup_marks, 500);
    stage.advance(100).await;
    for _ in 0..16 {
        queue.put("x").await;
    }
    assert_eq!(queue.counters().await.expect("counters").dedup_marks, 0);
}

pub(crate) async fn l9_marks_are_cleared_away_by_handles_that_never_dedup(stage: &Stage<'_>) {
    let gone = stage.leasing().await;
    for number in 0..300_u32 {
        let push = Push::new("x").with_dedup(number.to_be_bytes().to_vec(), ms(100));
        gone.put(push).await;
    }
    stage.advance(100).await;
    let queue = stage.leasing().await;
    for _ in 0..200 {
        queue.put("x").await;
    }
    // The call for counters clears away some marks, too, but never that many.
    assert_eq!(queue.counters().await.expect("counters").dedup_marks, 0);
}

pub(crate) async fn l9_of_concurrent_pushes_of_a_key_one_is_accepted(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut producers = Vec::new();
    for _ in 0..8 {
        let queue = queue.clone();
        producers.push(tokio::spawn(async move {
            let mut pushed = Vec::new();
            for key in ["a", "b", "c", "d", "e"] {
                pushed.push(queue.pushed(marked(key, 3_600_000)).await);
                tokio::task::yield_now().await;
            }
            pushed
        }));
    }
    let mut firsts = vec![Vec::new(); 5];
    for producer in producers {
        for (key, pushed) in producer.await.expect("runs").into_iter().enumerate() {
            firsts[key].push(pushed);
        }
    }
    for pushed in firsts {
        let accepted: Vec<&Pushed> = pushed.iter().filter(|one| !one.is_duplicate()).collect();
        assert_eq!(accepted.len(), 1, "{pushed:?}");
        assert!(
            pushed.iter().all(|one| one.id() == accepted[0].id()),
            "{pushed:?}"
        );
    }
}
