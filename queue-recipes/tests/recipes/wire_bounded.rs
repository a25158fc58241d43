//! Lists of the newest messages with a fixed length: other programs and our queues on the same keys.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::{
    foreign::{ADD_FIRST, DISTINCT, NEWEST_FIRST, NEWEST_LAST, TRIM},
    ground::{Ground, START, dropping, push},
};

/// The messages that a queue shows, the newest first.
pub(crate) async fn recent(queue: &AnyQueue, n: usize) -> Vec<Bytes> {
    let AnyQueue::Bounded(queue) = queue else {
        panic!("another kind");
    };
    let messages = queue.recent(n).await.expect("it reads");
    messages.into_iter().map(|message| message.body).collect()
}

async fn methods_meet(recipe: FixedLength, first: bool, script: impl Fn(&Ground, &str)) {
    let ground = Ground::start().await;
    let queue = ground.open(recipe, "gifts").await;
    for (nth, body) in ["g1", "g2", "g3", "g4", "g5"].into_iter().enumerate() {
        match nth % 2 {
            0 => script(&ground, body),
            _ => push(&queue, &[body]).await,
        }
    }
    let list = if first {
        "g5 | g4 | g3"
    } else {
        "g3 | g4 | g5"
    };
    assert_eq!(ground.dump(), [format!("list gifts: {list}")]);
    assert_eq!(recent(&queue, 9).await, ["g5", "g4", "g3"]);
    assert_eq!(recent(&queue, 2).await, ["g5", "g4"], "two are two");
    push(&queue, &["g6", "g7"]).await;
    let list = if first {
        "g7 | g6 | g5"
    } else {
        "g5 | g6 | g7"
    };
    assert_eq!(
        ground.dump(),
        [format!("list gifts: {list}")],
        "a batch of two"
    );
}

#[tokio::test]
async fn length_then_pop_then_push() {
    let naive = |ground: &Ground, body: &str| {
        let mut foreign = ground.foreign();
        if foreign.run::<u64>(&["LLEN", "gifts"]) >= 3 {
            let _: String = foreign.run(&["LPOP", "gifts"]);
        }
        let _: u64 = foreign.run(&["RPUSH", "gifts", body]);
    };
    methods_meet(FixedLength::naive(), false, naive).await;
}

#[tokio::test]
async fn one_script_the_newest_last() {
    let script = |ground: &Ground, body: &str| {
        let () = ground.foreign().eval(NEWEST_LAST, &["gifts"], &["3", body]);
    };
    methods_meet(FixedLength::newest_last(), false, script).await;
}

#[tokio::test]
async fn one_script_the_newest_first() {
    let script = |ground: &Ground, body: &str| {
        let () = ground
            .foreign()
            .eval(NEWEST_FIRST, &["gifts"], &["3", body]);
    };
    methods_meet(FixedLength::newest_first(), true, script).await;
}

#[tokio::test]
async fn one_script_that_pushes_then_trims() {
    let script = |ground: &Ground, body: &str| {
        let () = ground.foreign().eval(TRIM, &["gifts"], &["3", body]);
    };
    methods_meet(FixedLength::trim(), false, script).await;
}

#[tokio::test]
async fn two_calls_that_push_and_trim() {
    let calls = |ground: &Ground, body: &str| {
        let mut foreign = ground.foreign();
        if foreign.run::<u64>(&["RPUSH", "gifts", body]) > 3 {
            let _: String = foreign.run(&["LPOP", "gifts"]);
        }
    };
    methods_meet(FixedLength::trim_in_two(), false, calls).await;
}

#[tokio::test]
async fn a_length_of_nothing_is_refused_and_another_one_is_the_handles_own() {
    let ground = Ground::start().await;
    let opened = ground.try_open(FixedLength::trim(), "gifts", 0).await;
    let error = opened.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("capacity of 0"), "{error}");
    for capacity in [3, 2] {
        let opened = ground
            .try_open(FixedLength::trim(), "gifts", capacity)
            .await;
        let AnyQueue::Bounded(queue) = opened.expect("it opens") else {
            panic!("another kind");
        };
        assert_eq!(queue.capacity().await.expect("it says").get(), capacity);
    }
    let AnyQueue::Bounded(queue) = ground.open(DistinctZset::default(), "songs").await else {
        panic!("another kind");
    };
    assert_eq!(queue.capacity().await.expect("it says").get(), 3);
    ground.holds(&[]);
}

/// Each push pops once: a list that was longer keeps its length (B5).
#[tokio::test]
async fn a_smaller_length_shrinks_nothing() {
    let ground = Ground::start().await;
    let queue = ground.open(FixedLength::newest_last(), "gifts").await;
    push(&queue, &["a", "b", "c"]).await;
    let smaller = ground
        .try_open(FixedLength::newest_last(), "gifts", 1)
        .await;
    push(&smaller.expect("it opens"), &["d"]).await;
    ground.holds(&["list gifts: b | c | d"]);
}

#[tokio::test]
async fn the_newest_different_bodies_stand_under_their_last_times() {
    for (recipe, script) in [
        (DistinctZset::default(), DISTINCT),
        (DistinctZset::default().add_first(), ADD_FIRST),
    ] {
        let ground = Ground::start().await;
        let mut foreign = ground.foreign();
        let queue = ground.open(recipe, "songs").await;
        push(&queue, &["a"]).await;
        let theirs = START + 1;
        let () = foreign.eval(script, &["songs"], &["3", &theirs.to_string(), "b"]);
        ground.pass(Duration::from_millis(2));
        push(&queue, &["c"]).await;
        let (a, c) = (START, START + 2);
        assert_eq!(
            ground.dump(),
            [format!("zset songs: {a} a | {theirs} b | {c} c")]
        );
        assert_eq!(recent(&queue, 2).await, ["c", "b"]);
        ground.pass(Duration::from_millis(1));
        push(&queue, &["d"]).await;
        let d = START + 3;
        assert_eq!(
            ground.dump(),
            [format!("zset songs: {theirs} b | {c} c | {d} d")]
        );
    }
}

#[tokio::test]
async fn to_refresh_a_body_of_a_full_set_drops_another_unless_it_is_added_first() {
    for (recipe, expected) in [
        (DistinctZset::default(), vec!["a", "c"]),
        (DistinctZset::default().add_first(), vec!["a", "c", "b"]),
    ] {
        let ground = Ground::start().await;
        let queue = ground.open(recipe, "songs").await;
        for body in ["b", "a", "c", "a"] {
            push(&queue, &[body]).await;
            ground.pass(Duration::from_millis(1));
        }
        assert_eq!(recent(&queue, 9).await, expected);
    }
}

#[tokio::test]
async fn a_lock_of_others_and_one_of_ours_refuse_each_others_repeats() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let AnyQueue::Bounded(queue) = ground.open(KeyLock::default(), "gifts").await else {
        panic!("another kind");
    };
    let window = Duration::from_secs(600);
    let gift = |body: &'static str, key: &'static str| Push::new(body).with_dedup(key, window);

    let first = queue.push_one(dropping(gift("g1", "u1:rose"))).await;
    let Ok(Pushed::Accepted(id)) = first else {
        panic!("{first:?}");
    };
    let lock = "{gifts}:lock:u1:rose";
    let expected = [
        "list gifts: g1".to_owned(),
        format!("string {lock}: {}", id.get()),
    ];
    assert_eq!(ground.dump(), expected);
    let left: u64 = foreign.run(&["PTTL", lock]);
    assert!((1..=600_000).contains(&left), "{left} ms");
    let set = ["SET", lock, "mine", "NX", "PX", "600000"];
    assert_eq!(foreign.run::<Option<String>>(&set), None, "ours has it");
    let again = queue.push_one(dropping(gift("g2", "u1:rose"))).await;
    assert_eq!(again.expect("an answer"), Pushed::Duplicate(id));

    // Other programs choose the text in a lock: a number is an id, and so is any other text.
    for (key, content) in [("u2", "42"), ("u3", "user-7@node"), ("u4", "")] {
        let lock = format!("{{gifts}}:lock:{key}");
        let set = ["SET", &lock, content, "NX", "PX", "600000"];
        assert_eq!(foreign.run::<Option<String>>(&set), Some("OK".to_owned()));
        let refused = queue.push_one(dropping(gift("g3", key))).await;
        let refused = refused.expect("an answer");
        assert!(matches!(refused, Pushed::Duplicate(_)), "{refused:?}");
        if content == "42" {
            assert_eq!(refused, Pushed::Duplicate(MessageId::new(42)));
        }
    }
    assert_eq!(
        foreign.run::<Vec<String>>(&["LRANGE", "gifts", "0", "-1"]),
        ["g1"]
    );
    let free = queue.push_one(dropping("g4")).await;
    assert!(matches!(free, Ok(Pushed::Accepted(_))), "no key, no lock");
}
