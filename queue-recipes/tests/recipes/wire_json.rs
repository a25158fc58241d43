//! Bodies that are JSON: the producers' text stays the same byte by byte, and numbers are compared by their
//! text.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::{
    foreign::TOPIC_PUSH,
    ground::{Ground, SOON, START, counts, end_live, lease_bodies, take, take_all_and_ack},
};

const SECOND: Duration = Duration::from_secs(1);

/// Two values of the field `id`, as JSON: whether they are one.
const PAIRS: [(&str, &str, bool); 16] = [
    ("36893488147419103232", "36893488147419103233", false),
    ("1e400", "2e400", false),
    ("0.1", "0.10000000000000000001", false),
    ("1", "\"1\"", false),
    ("1", "-1", false),
    ("1", "10", false),
    ("true", "\"true\"", false),
    ("[1]", "[2]", false),
    ("1e99999999999999999999", "1e99999999999999999998", false),
    ("1", "1.0", true),
    ("1e3", "1000", true),
    ("12.50e-1", "1.25", true),
    ("0", "-0.0e7", true),
    ("36893488147419103232", "36893488147419103232.0", true),
    ("\"a\"", "\"\\u0061\"", true),
    ("\"\\ud800\"", "\"\\ud800\"", true),
];

#[tokio::test]
async fn once_by_compares_numbers_exactly_and_distinguishes_them_from_text() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    for (first, second, one) in PAIRS {
        foreign.run::<String>(&["FLUSHALL"]);
        let recipe = ZsetJson::default().poll(SOON).once_by("id");
        let queue = ground.open(recipe, "mails").await;
        let bodies = [first, second].map(|id| format!(r#"{{"id":{id},"try":1}}"#));
        let _: u64 = foreign.run(&["ZADD", "delay_queue:mails", "1", &bodies[0]]);
        assert_eq!(take_all_and_ack(&queue, 1).await, [&*bodies[0]], "{first}");
        let again = bodies[1].replace("\"try\":1", "\"try\":2");
        let _: u64 = foreign.run(&["ZADD", "delay_queue:mails", "1", &again]);
        let expected = if one { vec![] } else { vec![again] };
        assert_eq!(
            lease_bodies(&queue, 9).await,
            expected,
            "{first} and {second}"
        );
    }
}

/// Messages of another producer, each with its text after a retry that makes it due then.
fn retried(due: u64) -> [(&'static str, String); 7] {
    let due = format!("\"delayTime\":{due}");
    [
        // As Python writes it: numbers of any size and precision, nulls, escapes, spaces, its own order.
        (
            r#"{"n": 123456789012345678901234567890, "pi": 3.14159265358979323846, "no": null, "delayTime": 5, "body": "\u00e9"}"#,
            r#"{"n": 123456789012345678901234567890, "pi": 3.14159265358979323846, "no": null, "delayTime": DUE, "body": "\u00e9"}"#,
        ),
        (
            r#"{"body":"b","x":1e400,"delayTime":1.5e12}"#,
            r#"{"body":"b","x":1e400,"delayTime":DUE}"#,
        ),
        (
            r#"{"body":"b","delayTime":null,"id":null}"#,
            r#"{"body":"b","delayTime":DUE,"id":null}"#,
        ),
        (
            r#" {"body":"b","more":[1.0, {}]} "#,
            r#" {"body":"b","more":[1.0, {}],"delayTime":DUE} "#,
        ),
        (
            r#"{"body":"{\"delayTime\":5}","in":{"delayTime":5},"delayTime":5}"#,
            r#"{"body":"{\"delayTime\":5}","in":{"delayTime":5},"delayTime":DUE}"#,
        ),
        (
            r#"{"body":"b","t":"\ud800","id":"7","delayTime":5}"#,
            r#"{"body":"b","t":"\ud800","id":"7","delayTime":DUE}"#,
        ),
        ("no json", "no json"),
    ]
    .map(|(before, after)| (before, after.replace("\"delayTime\": DUE", &due.replace(':', ": ")).replace("\"delayTime\":DUE", &due)))
}

#[tokio::test]
async fn a_retry_keeps_what_its_producer_wrote_but_for_the_due_time() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let (registry, waiting) = ("delay:meta:topic:wait", "delay:wait:default");
    for (message, after) in retried(START + 1_000) {
        foreign.run::<String>(&["FLUSHALL"]);
        let recipe = WaitActive::default().tick(SOON);
        let queue = ground.open(recipe.without_distributor(), "default").await;
        let _: u64 = foreign.eval(TOPIC_PUSH, &[registry, waiting], &[waiting, "5", message]);
        let active = "delay:active:default";
        let _: u64 = foreign.run(&["LPUSH", active, message]);
        let first = take(&queue, 1).await.remove(0);
        let _: u64 = foreign.run(&["DEL", waiting]);
        end_live(&queue, Settlement::retry(first.receipt, SECOND)).await;
        let members: Vec<String> = foreign.run(&["ZRANGE", waiting, "0", "-1"]);
        assert_eq!(members, [&*after]);
        let _: u64 = foreign.run(&["LPUSH", active, &after]);
        let again = take(&queue, 1).await.remove(0);
        assert_eq!(
            (again.id(), again.body),
            (first.id(), first.body),
            "{message}"
        );
    }
}

/// Messages that differ only in digits beyond a float's precision are different, also without an id.
#[tokio::test]
async fn an_id_is_made_of_the_bytes_that_were_written() {
    let ground = Ground::start().await;
    let queue = ground.open(WaitActive::default().without_distributor(), "default");
    let queue = queue.await;
    let numbers = [
        "36893488147419103232",
        "36893488147419103233",
        "1e400",
        "2e400",
    ];
    let mut ids = Vec::new();
    for number in numbers {
        let message = format!(r#"{{"body":"b","order":{number}}}"#);
        let _: u64 = ground
            .foreign()
            .run(&["LPUSH", "delay:active:default", &message]);
        let taken = take(&queue, 1).await.remove(0);
        assert_eq!(taken.body, "b", "{number}");
        ids.push(taken.id());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), numbers.len());
}

#[tokio::test]
async fn a_priority_is_any_number_of_json_in_whole_milliseconds() {
    let ground = Ground::start().await;
    let queue = ground.open(ZsetJson::default().with_priority(), "q").await;
    let AnyQueue::Delay(delay) = &queue else {
        panic!("another kind");
    };
    for (priority, earlier) in [
        ("2500", 2_500),
        ("2500.7", 2_500),
        ("1e3", 1_000),
        ("-1.5E+3", -1_500),
        ("\"2500\"", 0),
        ("null", 0),
        // Greater than any due time: the message is due at once, because the published consumer reads from
        // score 0 on.
        ("1e400", START as i64 + 3_000),
        ("9223372036854775807", START as i64 + 3_000),
        ("36893488147419103232", START as i64 + 3_000),
    ] {
        let mut foreign = ground.foreign();
        foreign.run::<String>(&["FLUSHALL"]);
        let body = format!(r#"{{"priority":{priority},"n":36893488147419103232}}"#);
        let pushed = delay
            .push_one(Push::new(body.clone()).with_due(3 * SECOND))
            .await;
        let _ = pushed.expect("it pushes");
        let score = START as i64 + 3_000 - earlier;
        assert_eq!(
            ground.dump(),
            [format!("zset delay_queue:q: {score} {body}")]
        );
    }
}

/// Another producer writes a priority above the due time as a score below 0.
#[tokio::test]
async fn a_score_below_zero_is_ready_and_is_handed_out() {
    for recipe in [
        ZsetJson::default().with_priority(),
        ZsetJson::default().with_priority().with_processing(),
    ] {
        let ground = Ground::start().await;
        let mut foreign = ground.foreign();
        let queue = ground.open(recipe, "q").await;
        let _: u64 = foreign.run(&["ZADD", "delay_queue:q", "-5", "m"]);
        assert_eq!(counts(&queue).await, [1, 0, 0, 0]);
        assert_eq!(lease_bodies(&queue, 9).await, ["m"]);
    }
}
