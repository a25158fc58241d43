//! Topics with a distributor: other programs and our queues on the same keys.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::{
    foreign::{TOPIC_MOVE, TOPIC_PUSH},
    ground::{Ground, SOON, START, counts, end_live, take, take_all_and_ack},
};

const REGISTRY: &str = "delay:meta:topic:wait";
const WAITING: &str = "delay:wait:default";
const ACTIVES: &str = "delay:meta:topic:active";
const ACTIVE: &str = "delay:active:default";

fn recipe() -> WaitActive {
    WaitActive::default().tick(SOON)
}

/// Somebody else's producer.
fn produce(ground: &Ground, due: u64, message: &str) {
    let keys = [REGISTRY, WAITING];
    let arguments = [WAITING, &due.to_string(), message];
    assert_eq!(
        ground.foreign().eval::<u64>(TOPIC_PUSH, &keys, &arguments),
        1
    );
}

#[tokio::test]
async fn messages_of_others_are_moved_and_taken_by_ours_whatever_their_fields() {
    let ground = Ground::start().await;
    let queue = ground.open(recipe(), "default").await;
    let messages = [
        r#"{"body":"{\"order\":42}","createTime":"2020-03-27T10:00:00","delayTime":1585274400000,"id":"7","topic":"default"}"#,
        r#"{"body":"only this"}"#,
        r#"{"body":"nulls","createTime":null,"id":null,"topic":null,"delayTime":null}"#,
        r#"{"zone":"+8","body":"unknown fields","retry":{"count":3}}"#,
        r#"{"body":null,"id":"9"}"#,
        r#"{"id":"10"}"#,
        "no json",
    ];
    for (nth, message) in (0..).zip(messages) {
        produce(&ground, START - 10 + nth, message);
    }
    let taken = take_all_and_ack(&queue, messages.len()).await;
    assert_eq!(
        taken,
        [
            r#"{"order":42}"#,
            "only this",
            "nulls",
            "unknown fields",
            r#"{"body":null,"id":"9"}"#,
            r#"{"id":"10"}"#,
            "no json",
        ]
    );
    // The registry forgets the topic at the next tick; the other one never does.
    ground
        .until_there_is(&["set delay:meta:topic:active: delay:active:default"])
        .await;
}

#[tokio::test]
async fn a_message_of_ours_is_an_object_whose_fields_stand_in_order() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground.open(recipe().without_distributor(), "default").await;
    let AnyQueue::Delay(delay) = &queue else {
        panic!("another kind");
    };
    let minute = Duration::from_secs(60);
    let _ = delay
        .push_one(Push::new(r#"{"order":42}"#).with_due(minute))
        .await
        .expect("it pushes");
    let due = START + 60_000;
    let members: Vec<String> = foreign.run(&["ZRANGE", WAITING, "0", "-1"]);
    let (before, rest) = members[0].split_once(r#""id":""#).expect("an id");
    let (id, after) = rest.split_once('"').expect("its end");
    assert_eq!(
        before,
        format!(
            r#"{{"body":"{{\"order\":42}}","createTime":"2023-11-14T22:13:20","delayTime":{due},"#
        )
    );
    assert_eq!((id.len(), after), (36, r#","topic":"default"}"#));
    let expected = [
        format!("set {REGISTRY}: {WAITING}"),
        format!("zset {WAITING}: {due} {}", members[0]),
    ];
    assert_eq!(ground.dump(), expected);
    assert_eq!(counts(&queue).await, [0, 1, 0, 0]);

    // Somebody else's distributor and consumer.
    let keys = [WAITING, ACTIVES, ACTIVE];
    let early = (due - 1).to_string();
    assert_eq!(foreign.eval::<u64>(TOPIC_MOVE, &keys, &[&early, ACTIVE]), 0);
    assert_eq!(
        foreign.eval::<u64>(TOPIC_MOVE, &keys, &[&due.to_string(), ACTIVE]),
        1
    );
    assert_eq!(counts(&queue).await, [1, 0, 0, 0]);
    let popped: String = foreign.run(&["LPOP", ACTIVE]);
    assert_eq!(popped, members[0]);
}

#[tokio::test]
async fn a_body_that_json_cannot_hold_is_refused_with_its_whole_batch() {
    let ground = Ground::start().await;
    let queue = ground.open(recipe().without_distributor(), "default").await;
    let batch = [Push::new("fine"), Push::new(&b"\xff\xfe"[..])];
    let error = queue.put(&batch).await.expect_err("refused");
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Invalid, Outcome::NotApplied)
    );
    assert_eq!(ground.dump(), [] as [String; 0], "nothing was sent");
}

#[tokio::test]
async fn one_tick_moves_one_message_of_a_topic_or_a_batch() {
    for (batch, left) in [(1, 2), (2, 1)] {
        let ground = Ground::start().await;
        let mut foreign = ground.foreign();
        for message in ["a", "b", "c"] {
            produce(&ground, START, message);
        }
        // Half a second is longer than the test's read takes, and one tick is enough.
        let recipe = recipe().tick(Duration::from_millis(500)).batch(batch);
        let _queue = ground.open(recipe, "other").await;
        let moved = || ground.foreign().run::<u64>(&["EXISTS", ACTIVE]) == 1;
        crate::until::until("a tick", moved).await;
        let (waiting, active): (u64, u64) = (
            foreign.run(&["ZCARD", WAITING]),
            foreign.run(&["LLEN", ACTIVE]),
        );
        assert_eq!(waiting + active, 3);
        assert!(
            waiting <= left && active >= 3 - left,
            "{waiting} wait, {active} are active"
        );
    }
}

/// The distributor serves all topics, and a topic that it cannot serve stops no other.
#[tokio::test]
async fn one_broken_topic_holds_up_no_other() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    // The registry has keys of other types, and a set whose name does not give its list.
    let _: String = foreign.run(&["SET", "delay:wait:a", "no set"]);
    let _: String = foreign.run(&["SET", "delay:active:b", "no list"]);
    let _: u64 = foreign.run(&["ZADD", "plain", "1", "kept"]);
    for set in ["delay:wait:a", "delay:wait:gone", "plain"] {
        let _: u64 = foreign.run(&["SADD", REGISTRY, set]);
    }
    for topic in 0..20 {
        let set = format!("delay:wait:t{topic}");
        let keys = [REGISTRY, &set];
        foreign.eval::<u64>(TOPIC_PUSH, &keys, &[&set, "1", "m"]);
    }
    let _queue = ground.open(recipe(), "t0").await;
    let moved = || {
        let lists: Vec<String> = ground.foreign().run(&["KEYS", "delay:active:t*"]);
        lists.len() == 20
    };
    crate::until::until("all topics are served", moved).await;
    assert_eq!(
        foreign.run::<Vec<String>>(&["ZRANGE", "plain", "0", "-1"]),
        ["kept"]
    );
}

/// The published code replaces every `delay:wait` in the set's name to get the list's name. Our recipe
/// replaces the first, so a topic may have any name.
#[tokio::test]
async fn a_topic_may_have_the_name_of_the_prefix() {
    let ground = Ground::start().await;
    let queue = ground
        .open(recipe().topic("x:delay:wait:y"), "default")
        .await;
    queue.put(&[Push::new("m")]).await.expect("it pushes");
    let taken = take(&queue, 1).await;
    assert_eq!(&taken[0].body[..], b"m");
    let lists: Vec<String> = ground.foreign().run(&["SMEMBERS", ACTIVES]);
    assert_eq!(lists, ["delay:active:x:delay:wait:y"]);
}

/// A retry keeps unknown fields, and is the same message, also without an id of its producer. A body that
/// is not JSON comes again as the same bytes.
#[tokio::test]
async fn a_retry_changes_the_due_time_alone() {
    for message in [
        r#"{"a":1,"body":"b","delayTime":5,"z":{"y":[2]}}"#,
        "no json",
    ] {
        let ground = Ground::start().await;
        let mut foreign = ground.foreign();
        let queue = ground.open(recipe(), "default").await;
        produce(&ground, START, message);
        let first = take(&queue, 1).await;
        end_live(
            &queue,
            Settlement::retry(first[0].receipt, Duration::from_secs(1)),
        )
        .await;
        let members: Vec<String> = foreign.run(&["ZRANGE", WAITING, "0", "-1", "WITHSCORES"]);
        let due = (START + 1_000).to_string();
        let expected = message.replace("\"delayTime\":5", &format!("\"delayTime\":{due}"));
        assert_eq!(members, [expected, due]);
        ground.pass(Duration::from_secs(1));
        let again = take(&queue, 1).await;
        assert_eq!(
            (again[0].id(), &again[0].body),
            (first[0].id(), &first[0].body)
        );
    }
}
