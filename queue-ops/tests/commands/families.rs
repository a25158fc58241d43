//! Families of durable jobs: `qk show` and `qk cancel --family`, by words and as JSON.

use std::time::Duration;

use queue_core::*;
use serde_json::json;

use crate::site::{HOUR, Site};

/// A job of the queue `orders` that waits for four mails: the first is done, the second is dead, the third is leased.
async fn family(site: &Site) -> Reliable<u64> {
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let mails = site.queues.reliable("mails").open::<u64>().await.unwrap();
    orders.push(&1).await.unwrap();
    let held = orders.queue().receive_one(HOUR, Duration::ZERO).await;
    let held = held.unwrap().unwrap();
    let mut record = ChildrenRecord::new("mails", 1);
    record.waits = 1;
    for mail in 1..=4 {
        let push = Push::new(mail.to_string()).with_header(Headers::PARENT, "orders/1");
        record.add(mails.queue().push_one(push).await.unwrap().id().unwrap());
    }
    let mut steps = Steps::default();
    steps.set("charge \u{1b}[2J", 12, StepRecord::Done("7".to_owned()));
    steps.set("cool off", 12, StepRecord::SleepsUntil(36_000_000));
    steps.set("mails", 4_200, StepRecord::Children(record));
    let state = Json::write(&steps).unwrap();
    let defer = Settlement::defer(held.receipt, HOUR).with_state(state);
    orders.queue().settle(&[defer]).await.unwrap();
    let held = mails
        .queue()
        .receive(3, HOUR, Duration::ZERO)
        .await
        .unwrap();
    let done = Settlement::ack_with(held[0].receipt, KeptResult::new("1", HOUR));
    let dead = Settlement::bury(held[1].receipt, "no address");
    mails.queue().settle(&[done, dead]).await.unwrap();
    mails
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_durable_job_is_shown_with_its_steps_and_a_child_with_its_parent() {
    let site = Site::start().await;
    let _mails = family(&site).await;
    let said = site.run("show orders 1");
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(
        lines[0].starts_with("due in ") && lines[0].contains("; state of "),
        "{said:?}"
    );
    assert_eq!(
        lines[1..],
        [
            "STEP         AFTER  WHAT",
            "charge  [2J  12 ms  done, result of 1 byte",
            "cool off     12 ms  asleep for 9 h 59 min more",
            "mails        4.2 s  children in `mails`: 2 of 4 ended, 1 dead",
        ],
        "{said:?}"
    );
    let shown = site.run("--json show orders 1").json();
    assert_eq!(
        shown["present"]["steps"][2],
        json!({"name": "mails", "after_ms": 4_200, "children": {
            "queue": "mails", "count": 4, "ended": 2, "dead": 1, "is_fresh": true,
        }})
    );
    assert_eq!(shown["present"]["steps"][0]["done"]["result_bytes"], 1);
    for (id, words) in [(2, "dead after 1 attempt: "), (4, "ready; ")] {
        let said = site.run(&format!("show mails {id}"));
        assert!(said.out.starts_with(words), "{said:?}");
        assert_eq!(
            said.out.lines().nth(1),
            Some("child of orders/1"),
            "{said:?}"
        );
    }
    let child = site.run("--json show mails 4").json();
    assert_eq!(
        child["present"]["parent"],
        json!({"queue": "orders", "id": 1})
    );
    // A result is not shown with its parent, as today.
    assert_eq!(site.run("show mails 1").all(), "done: 1");
}

/// A state that is no steps is shown as ever, and one that begins as steps do is said not to be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_without_steps_and_steps_that_cannot_be_read_are_told_apart() {
    let site = Site::start().await;
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    for state in [
        "[1]",
        "{\"qk-steps\":[{\"name\":\"a\",\"after_ms\":1,\"later\":{}}],\"own\":null}",
    ] {
        orders.push(&1).await.unwrap();
        let held = orders.queue().receive_one(HOUR, Duration::ZERO).await;
        let defer = Settlement::defer(held.unwrap().unwrap().receipt, HOUR).with_state(state);
        orders.queue().settle(&[defer]).await.unwrap();
    }
    let said = site.run("show orders 1");
    assert!(said.out.ends_with("; state of 3 bytes\n"), "{said:?}");
    let said = site.run("show orders 2");
    assert!(
        said.out.contains("its steps cannot be read: ") && said.status == 0,
        "{said:?}"
    );
    let shown = site.run("--json show orders 2").json();
    assert!(shown["present"]["steps_unread"].is_string(), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_family_is_cancelled_but_for_what_is_leased_or_dead() {
    let site = Site::start().await;
    let mails = family(&site).await;
    let said = site.run("cancel orders 1 --family");
    let lines = "orders: 1 cancelled\n\
                 mails: 1 cancelled; 1 done or gone before; 1 message leased, with children that stay (#3); \
                 1 message dead (#2)";
    assert_eq!((&*said.all(), said.status), (lines, 1));
    assert_eq!(mails.queue().depth().await.unwrap().occupied(), 1);
    assert_eq!(
        site.run("show orders 1").out,
        "gone: acked, cancelled or dropped, and no result is kept\n"
    );
    // Again: it is gone, and nothing else happens.
    let said = site.run("--json cancel orders 1 --family");
    assert_eq!(said.json()["queues"][0]["over"], 1, "{said:?}");
    assert_eq!(said.status, 1);
    assert_eq!(site.run("cancel nothing 1 --family").status, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_the_operator_may_not_touch_is_named_and_the_rest_goes_on() {
    let site = Site::start().await;
    let mails = family(&site).await;
    let _: u64 = site
        .server
        .ask(&["HSET", "qk:{mails}:meta", "config", "nonsense"])
        .unwrap();
    let said = site.run("--json cancel orders 1 --family");
    let queues = said.json()["queues"].clone();
    assert_eq!(
        (&queues[0]["cancelled"], &queues[1]["queue"]),
        (&json!(1), &json!("mails"))
    );
    assert_eq!(queues[1]["left"], json!([1, 2, 3, 4]), "{said:?}");
    assert!(queues[1]["error"].is_string(), "{said:?}");
    assert_eq!(said.status, 1);
    drop(mails);
}
