//! Sorted sets of messages that are due later: other programs and our queues on the same keys.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::ground::{
    Ground, LONG, SOON, START, bodies, counts, end, end_live, lease_bodies, leasing, take,
    take_all_and_ack,
};

const SECOND: Duration = Duration::from_secs(1);

async fn schedule(queue: &AnyQueue, batch: &[(&'static str, Duration)]) -> Vec<Pushed> {
    let AnyQueue::Delay(queue) = queue else {
        panic!("another kind");
    };
    let batch = batch
        .iter()
        .map(|(body, due)| Push::new(*body).with_due(*due));
    let pushed = queue.push(&batch.collect::<Vec<_>>()).await;
    pushed.expect("it pushes")
}

#[tokio::test]
async fn a_string_that_others_push_is_taken_by_ours_once_it_is_old_enough() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground
        .open(ZsetString::default().poll(SOON), "delay_queue")
        .await;
    let second = (START / 1_000).to_string();
    let key = "queue_data_6ba7b810-9dad-41d1-80b4-00c04fd430c8";
    let _: String = foreign.run(&["SET", key, r#"{"order":42}"#]);
    let _: u64 = foreign.run(&["ZADD", "delay_queue", &second, key]);
    assert_eq!(lease_bodies(&queue, 9).await, [] as [Bytes; 0]);
    assert_eq!(counts(&queue).await, [0, 1, 0, 0]);
    ground.pass(3 * SECOND);
    assert_eq!(take_all_and_ack(&queue, 1).await, [r#"{"order":42}"#]);
    ground.holds(&[]);
}

#[tokio::test]
async fn a_string_of_ours_has_the_push_time_in_whole_seconds_and_a_random_uuid() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground.open(ZsetString::default(), "delay_queue").await;
    schedule(&queue, &[("body", 3 * SECOND)]).await;
    let members: Vec<String> = foreign.run(&["ZRANGE", "delay_queue", "0", "-1"]);
    let uuid = members[0].strip_prefix("queue_data_").expect("the prefix");
    let groups: Vec<&str> = uuid.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    assert!(
        groups.iter().all(|group| group.chars().all(hexadecimal)),
        "{uuid}"
    );
    assert!(groups[2].starts_with('4'), "version 4: {uuid}");
    assert!(
        groups[3].starts_with(['8', '9', 'a', 'b']),
        "its variant: {uuid}"
    );
    let second = START / 1_000;
    assert_eq!(
        ground.dump(),
        [
            format!("zset delay_queue: {second} {}", members[0]),
            format!("string {}: body", members[0]),
        ]
    );
    // The published consumer, three seconds later.
    let until = (second + 3 - 3).to_string();
    let due: Vec<String> = foreign.run(&[
        "ZRANGEBYSCORE",
        "delay_queue",
        "0",
        &until,
        "LIMIT",
        "0",
        "5",
    ]);
    assert_eq!(foreign.run::<u64>(&["ZREM", "delay_queue", &due[0]]), 1);
    assert_eq!(foreign.run::<Vec<String>>(&["MGET", &due[0]]), ["body"]);
    assert_eq!(foreign.run::<u64>(&["DEL", &due[0]]), 1);
    ground.holds(&[]);
}

#[tokio::test]
async fn another_delay_is_written_as_an_earlier_or_later_push() {
    let ground = Ground::start().await;
    let queue = ground.open(ZsetString::default(), "delay_queue").await;
    schedule(&queue, &[("now", Duration::ZERO), ("later", 10 * SECOND)]).await;
    let scores: Vec<String> =
        ground
            .foreign()
            .run(&["ZRANGE", "delay_queue", "0", "-1", "WITHSCORES"]);
    let second = START / 1_000;
    let scores: Vec<&String> = scores.iter().skip(1).step_by(2).collect();
    assert_eq!(
        scores,
        [&(second - 3).to_string(), &(second + 7).to_string()]
    );
    assert_eq!(lease_bodies(&queue, 9).await, ["now"]);
    ground.pass(10 * SECOND);
    assert_eq!(lease_bodies(&queue, 9).await, ["later"]);
}

/// Handles of one backend that open at one time share no names, or one would overwrite the other's
/// body.
#[tokio::test]
async fn no_two_messages_have_one_uuid() {
    let ground = Ground::start().await;
    let one = ground.open(ZsetString::default(), "delay_queue").await;
    let two = ground.open(ZsetString::default(), "delay_queue").await;
    for queue in [&one, &two] {
        schedule(queue, &[("a", Duration::ZERO), ("b", Duration::ZERO)]).await;
    }
    assert_eq!(ground.foreign().run::<u64>(&["ZCARD", "delay_queue"]), 4);
    assert_eq!(lease_bodies(&one, 9).await.len(), 4);
}

#[tokio::test]
async fn one_poll_takes_num_strings_at_most() {
    let ground = Ground::start().await;
    let queue = ground
        .open(ZsetString::default().num(2), "delay_queue")
        .await;
    schedule(&queue, &[("x", Duration::ZERO); 5]).await;
    assert_eq!(lease_bodies(&queue, 9).await.len(), 2);
    let error = ground
        .try_open(ZsetString::default().num(0), "delay_queue", 3)
        .await;
    assert_eq!(error.expect_err("refused").kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn bodies_that_others_schedule_are_taken_when_they_are_due() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground.open(ZsetJson::default().poll(SOON), "mails").await;
    let due = (START + 1_000).to_string();
    for body in [r#"{"id":1,"to":null,"more":[{}]}"#, "no json at all", "{}"] {
        let _: u64 = foreign.run(&["ZADD", "delay_queue:mails", &due, body]);
    }
    ground.pass(SECOND - Duration::from_millis(1));
    assert_eq!(
        lease_bodies(&queue, 9).await,
        [] as [Bytes; 0],
        "a millisecond early"
    );
    ground.pass(Duration::from_millis(1));
    let taken = take_all_and_ack(&queue, 3).await;
    assert_eq!(
        taken,
        ["no json at all", r#"{"id":1,"to":null,"more":[{}]}"#, "{}"]
    );
    ground.holds(&[]);
}

#[tokio::test]
async fn bodies_of_ours_stand_under_their_due_times_in_milliseconds() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground.open(ZsetJson::default(), "mails").await;
    schedule(&queue, &[("{\"id\":7}", SECOND)]).await;
    let due = START + 1_000;
    assert_eq!(
        ground.dump(),
        [format!("zset delay_queue:mails: {due} {{\"id\":7}}")]
    );
    let due = due.to_string();
    let found: Vec<String> = foreign.run(&[
        "ZRANGEBYSCORE",
        "delay_queue:mails",
        "0",
        &due,
        "LIMIT",
        "0",
        "10",
    ]);
    assert_eq!(
        foreign.run::<u64>(&["ZREM", "delay_queue:mails", &found[0]]),
        1
    );
}

#[tokio::test]
async fn with_processing_a_claimed_body_is_scored_by_the_end_of_its_lease() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let recipe = ZsetJson::default().with_processing().poll(SOON);
    let queue = ground.open(recipe, "mails").await;
    let _: u64 = foreign.run(&["ZADD", "delay_queue:mails", &START.to_string(), "m"]);
    let first = take(&queue, 9).await;
    let until = START + LONG.as_millis() as u64;
    assert_eq!(
        ground.dump(),
        [format!("zset processing_queue:mails: {until} m")]
    );
    // The message of a silent holder comes back, also from another program's claim.
    ground.pass(LONG);
    let again = take(&queue, 9).await;
    assert_eq!(bodies(&again), ["m"]);
    assert_eq!(again[0].id(), first[0].id());
    end_live(&queue, Settlement::ack(again[0].receipt)).await;
    ground.holds(&[]);
    assert_eq!(
        end(&queue, Settlement::ack(first[0].receipt)).await,
        Settled::LeaseLost
    );
}

/// Other programs score a claim by its start. With their time-out set, our queue respects such a claim
/// until it is over, and they respect our lease until its end.
#[tokio::test]
async fn with_a_claim_timeout_a_claim_of_others_lasts_from_its_score_on() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let timeout = 30 * SECOND;
    let recipe = ZsetJson::default().with_processing().poll(SOON);
    let queue = ground.open(recipe.claim_timeout(timeout), "mails").await;
    let _: u64 = foreign.run(&[
        "ZADD",
        "processing_queue:mails",
        &START.to_string(),
        "theirs",
    ]);
    schedule(&queue, &[("ours", Duration::ZERO)]).await;
    let ours = take(&queue, 9).await;
    assert_eq!(bodies(&ours), ["ours"]);
    // Their claim is over after 30 s. Our lease is scored so that they give it up when it ends.
    let score = START + LONG.as_millis() as u64 - 30_000;
    ground.holds(&[&*format!(
        "zset processing_queue:mails: {START} theirs | {score} ours"
    )]);
    ground.pass(timeout - Duration::from_millis(1));
    assert_eq!(
        lease_bodies(&queue, 9).await,
        [] as [Bytes; 0],
        "they work on it"
    );
    ground.pass(Duration::from_millis(1));
    assert_eq!(lease_bodies(&queue, 9).await, ["theirs"]);
    let extended = leasing(&queue)
        .extend(&[ours[0].receipt.into()], LONG + SECOND)
        .await;
    assert_eq!(extended.expect("an answer"), [Extended::Extended]);
    let words = ["ZSCORE", "processing_queue:mails", "ours"];
    let now = START + 30_000;
    let until = now + LONG.as_millis() as u64 + 1_000;
    assert_eq!(foreign.run::<u64>(&words), until - 30_000);
    ground.pass(LONG + SECOND);
    assert!(
        lease_bodies(&queue, 9).await.contains(&"ours".into()),
        "it is over"
    );
}

#[tokio::test]
async fn with_processing_others_end_what_ours_has_claimed() {
    let ground = Ground::start().await;
    let queue = ground
        .open(ZsetJson::default().with_processing(), "mails")
        .await;
    schedule(&queue, &[("m", Duration::ZERO), ("n", Duration::ZERO)]).await;
    let taken = take(&queue, 9).await;
    let ended: u64 = ground
        .foreign()
        .run(&["ZREM", "processing_queue:mails", "m", "n"]);
    assert_eq!(ended, 2);
    let (m, n) = (taken[0].receipt, taken[1].receipt);
    let extended = leasing(&queue).extend(&[m.into()], LONG).await;
    assert_eq!(extended.expect("an answer"), [Extended::LeaseLost]);
    for settlement in [Settlement::ack(m), Settlement::release(n)] {
        assert_eq!(end(&queue, settlement).await, Settled::LeaseLost);
    }
    ground.holds(&[]);
}

#[tokio::test]
async fn once_by_a_field_passes_over_what_was_acked_and_only_that() {
    for processing in [false, true] {
        let ground = Ground::start().await;
        let mut foreign = ground.foreign();
        let recipe = ZsetJson::default().poll(SOON).once_by("id");
        let recipe = if processing {
            recipe.with_processing()
        } else {
            recipe
        };
        let queue = ground.open(recipe, "mails").await;
        let first = r#"{"id":"a","try":1}"#;
        let _: u64 = foreign.run(&["ZADD", "delay_queue:mails", "1", first]);
        assert_eq!(take_all_and_ack(&queue, 1).await, [first]);
        ground.holds(&["set {delay_queue:mails}:consumed: \"a\""]);
        // The same id again; a number; missing; null; no object; no JSON.
        let repeated = r#"{"id":"a","try":2}"#;
        let others = [
            r#"{"id":7}"#,
            r#"{"other":"a"}"#,
            r#"{"id":null}"#,
            "[1]",
            "text",
        ];
        for (score, body) in (2_u32..).zip([repeated].into_iter().chain(others)) {
            let _: u64 = foreign.run(&["ZADD", "delay_queue:mails", &score.to_string(), body]);
        }
        assert_eq!(take_all_and_ack(&queue, 5).await, others);
        ground.holds(&["set {delay_queue:mails}:consumed: \"a\" | 7"]);
        // A null is no value: the next message without a value is delivered, too.
        let _: u64 = foreign.run(&["ZADD", "delay_queue:mails", "1", r#"{"id":null,"n":2}"#]);
        assert_eq!(take_all_and_ack(&queue, 1).await, [r#"{"id":null,"n":2}"#]);
    }
}
