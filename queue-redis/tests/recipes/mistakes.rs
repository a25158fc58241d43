//! Mistakes that are often made with these strategies, each shown with plain commands.

use std::{sync::atomic::AtomicBool, sync::atomic::Ordering, time::Duration};

use queue_core::*;
use queue_redis::recipes::*;
use real_redis::{Cluster, Server};

use crate::{
    foreign::{Foreign, NEWEST_LAST, TRIM},
    ground::{Ground, START, look, taking},
};

#[tokio::test]
async fn popping_the_maximum_of_due_times_takes_the_latest() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let (now, in_an_hour) = (START.to_string(), (START + 3_600_000).to_string());
    let _: u64 = foreign.run(&["ZADD", "delay_queue:q", &now, "now"]);
    let _: u64 = foreign.run(&["ZADD", "delay_queue:q", &in_an_hour, "in an hour"]);
    let popped: (String, String) = foreign.run(&["ZPOPMAX", "delay_queue:q"]);
    assert_eq!(popped.0, "in an hour");
    let queue = ground.open(ZsetJson::default(), "q").await;
    assert_eq!(look(&queue, 9).await, ["now"], "ours asks for what is due");
}

#[tokio::test]
async fn rpop_takes_one_key() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let _: u64 = foreign.run(&["LPUSH", "low", "m"]);
    assert!(
        foreign
            .try_run::<Option<String>>(&["RPOP", "high", "low"])
            .is_err()
    );
    assert!(
        foreign
            .try_run::<Option<String>>(&["RPOP", "high", "normal", "low"])
            .is_err()
    );
    assert_eq!(foreign.run::<Option<String>>(&["RPOP", "high"]), None);
    assert_eq!(
        foreign.run::<Option<String>>(&["RPOP", "low"]),
        Some("m".to_owned())
    );
}

#[tokio::test]
async fn a_range_from_0_to_n_answers_one_more_than_n() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let _: u64 = foreign.run(&["RPUSH", "gifts", "a", "b", "c", "d"]);
    assert_eq!(
        foreign
            .run::<Vec<String>>(&["LRANGE", "gifts", "0", "2"])
            .len(),
        3
    );
    assert_eq!(
        foreign
            .run::<Vec<String>>(&["LRANGE", "gifts", "0", "1"])
            .len(),
        2
    );
}

#[tokio::test]
async fn to_push_and_then_trim_shows_one_too_many_in_two_calls() {
    let ground = Ground::start().await;
    let (mut producer, mut observer) = (ground.foreign(), ground.foreign());
    for body in ["a", "b", "c"] {
        let () = producer.eval(TRIM, &["gifts"], &["3", body]);
    }
    assert_eq!(producer.run::<u64>(&["RPUSH", "gifts", "d"]), 4);
    assert_eq!(
        observer.run::<u64>(&["LLEN", "gifts"]),
        4,
        "between the two calls"
    );
    assert_eq!(producer.run::<String>(&["LPOP", "gifts"]), "a");
    assert_eq!(observer.run::<u64>(&["LLEN", "gifts"]), 3);
}

#[tokio::test]
async fn to_push_and_then_trim_in_one_script_never_shows_one_too_many() {
    let server = Server::start().expect("a server starts");
    for script in [TRIM, NEWEST_LAST] {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let producers = [(), ()].map(|()| {
                scope.spawn(|| {
                    let mut producer = Foreign::of(&server);
                    for nth in 0..400 {
                        let () = producer.eval(script, &["gifts"], &["3", &nth.to_string()]);
                    }
                })
            });
            let observer = scope.spawn(|| {
                let mut observer = Foreign::of(&server);
                while !done.load(Ordering::Acquire) {
                    let length: u64 = observer.run(&["LLEN", "gifts"]);
                    assert!(length <= 3, "{length}");
                }
            });
            for producer in producers {
                producer.join().expect("no panic");
            }
            done.store(true, Ordering::Release);
            observer.join().expect("never more than 3");
        });
    }
}

/// The length as published, in three calls: two producers that look at once both find room.
#[tokio::test]
async fn to_look_and_then_push_lets_the_list_grow() {
    let ground = Ground::start().await;
    let mut producers = [ground.foreign(), ground.foreign()];
    let _: u64 = producers[0].run(&["RPUSH", "gifts", "a", "b"]);
    let lengths = producers
        .each_mut()
        .map(|producer| producer.run::<u64>(&["LLEN", "gifts"]));
    assert_eq!(lengths, [2, 2], "both find room for a third");
    let lengths = producers
        .each_mut()
        .map(|producer| producer.run::<u64>(&["RPUSH", "gifts", "c"]));
    assert_eq!(lengths, [3, 4]);
}

#[tokio::test]
async fn a_score_less_its_priority_fires_early() {
    let ground = Ground::start().await;
    let queue = ground.open(ZsetJson::default().with_priority(), "q").await;
    let AnyQueue::Delay(delay) = &queue else {
        panic!("another kind");
    };
    let urgent = r#"{"priority":2500,"task":1}"#;
    let in_three_seconds = Duration::from_secs(3);
    delay
        .schedule_one(urgent, in_three_seconds)
        .await
        .expect("it pushes");
    delay
        .schedule_one(r#"{"task":2}"#, in_three_seconds)
        .await
        .expect("it pushes");
    ground.pass(Duration::from_millis(499));
    assert_eq!(look(&queue, 9).await, [] as [Bytes; 0]);
    ground.pass(Duration::from_millis(1));
    assert_eq!(
        look(&queue, 9).await,
        [urgent],
        "two and a half seconds early"
    );
    ground.pass(Duration::from_millis(2_500));
    assert_eq!(look(&queue, 9).await, [r#"{"task":2}"#]);
}

#[tokio::test]
async fn whole_seconds_fire_early() {
    let ground = Ground::start().await;
    let queue = ground.open(ZsetString::default(), "q").await;
    let AnyQueue::Delay(delay) = &queue else {
        panic!("another kind");
    };
    // It is 600 ms past the second, which the score forgets.
    delay
        .schedule_one("m", Duration::from_secs(3))
        .await
        .expect("it pushes");
    ground.pass(Duration::from_millis(2_399));
    assert_eq!(look(&queue, 9).await, [] as [Bytes; 0]);
    ground.pass(Duration::from_millis(1));
    assert_eq!(look(&queue, 9).await, ["m"], "after 2.4 s of 3");
}

/// Three strings, the body of the second of which is gone.
fn with_a_gap(foreign: &mut Foreign) {
    for (key, body) in [
        ("queue_data_1", Some("a")),
        ("queue_data_2", None),
        ("queue_data_3", Some("c")),
    ] {
        if let Some(body) = body {
            let _: String = foreign.run(&["SET", key, body]);
        }
        let _: u64 = foreign.run(&["ZADD", "delay_queue", "1", key]);
    }
}

#[tokio::test]
async fn a_body_that_is_gone_loses_the_batch_as_published_and_itself_alone_in_ours() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    with_a_gap(&mut foreign);
    let due: Vec<String> =
        foreign.run(&["ZRANGEBYSCORE", "delay_queue", "0", "9", "LIMIT", "0", "5"]);
    for key in &due {
        assert_eq!(
            foreign.run::<u64>(&["ZREM", "delay_queue", key]),
            1,
            "claimed"
        );
    }
    let words: Vec<&str> = ["MGET"]
        .into_iter()
        .chain(due.iter().map(String::as_str))
        .collect();
    // The published consumer decodes each answer, and stops at the one that is none.
    assert!(foreign.try_run::<Vec<String>>(&words).is_err());
    let leaked = ["string queue_data_1: a", "string queue_data_3: c"];
    assert_eq!(
        ground.dump(),
        leaked,
        "claimed by nobody, delivered to nobody"
    );

    foreign.run::<String>(&["FLUSHALL"]);
    with_a_gap(&mut foreign);
    let queue = ground.open(ZsetString::default(), "delay_queue").await;
    assert_eq!(look(&queue, 9).await, ["a", "c"]);
    ground.holds(&[]);
}

/// A blocked consumer is served while the producer's transaction has only just begun to push.
#[tokio::test]
async fn a_blocked_consumer_of_priorities_gets_what_multi_pushes_first() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground.open(PriorityLists::default(), "q").await;
    let receiver = taking(&queue);
    ground.until_blocked().await;
    let _: String = foreign.run(&["MULTI"]);
    let _: String = foreign.run(&["LPUSH", "{q}:low", "low"]);
    let _: String = foreign.run(&["LPUSH", "{q}:high", "high"]);
    let _: Vec<u64> = foreign.run(&["EXEC"]);
    let first = receiver.await.expect("no panic");
    assert_eq!(first[0].body, "low");
    assert_eq!(look(&queue, 9).await, ["high"]);
}

/// A vendor's proxy may want each key named as `KEYS[1]`; Redis does not care.
#[tokio::test]
async fn a_script_may_put_a_key_into_a_local() {
    let ground = Ground::start().await;
    let script = "local list = KEYS[1] return redis.call('rpush', list, ARGV[1])";
    assert_eq!(ground.foreign().eval::<u64>(script, &["q"], &["m"]), 1);
}

/// On a cluster a script's keys stand in one slot, which a tag brings about.
#[tokio::test]
async fn untagged_keys_fail_on_a_cluster() {
    let cluster = Cluster::start(1, 0, Server::builder()).expect("it starts");
    let mut foreign = Foreign::of(&cluster.servers()[0]);
    let script = "return redis.call('zadd', KEYS[2], 1, redis.call('lpop', KEYS[1]) or 'm')";
    let mut run =
        |keys: [&str; 2]| foreign.try_run::<u64>(&["EVAL", script, "2", keys[0], keys[1]]);
    let error = run(["q", "q:backup"]).expect_err("two slots");
    assert!(error.to_string().to_lowercase().contains("slot"), "{error}");
    assert_eq!(run(["{q}", "{q}:backup"]).expect("one slot"), 1);
}
