//! A message that is added by a form.

use std::time::Duration;

use queue_core::{Leasing, Overflow, Page, Place};

use crate::site::{Form, Site, rows};

#[tokio::test(start_paused = true)]
async fn a_form_adds_a_message_with_the_options_of_the_kind() {
    let site = Site::signed_in().await;
    let reliable = site.reliable("jobs:mail").await;
    let priority = site.queues.priority("urgent").open::<u64>().await.unwrap();
    site.grouped("steps", &[]).await;
    let body = "{\n  \"to\": \"<ann> & \u{fc}\"\n}";
    let add = async |queue: &str, fields: &[(&str, &str)]| {
        let page = site.page(&format!("/queues/{queue}")).await;
        let form = Form::of(&page, "Add it");
        let answer = site
            .post(&form.to, &[&[("body", body)], fields].concat())
            .await;
        assert_eq!(answer.status, 303, "{answer:?}");
        assert!(
            answer.header("location").ends_with("/messages/1"),
            "{answer:?}"
        );
        assert!(
            site.page(answer.header("location"))
                .await
                .contains("pushed 0 ms ago")
        );
        page
    };
    let page = add(
        "jobs%3Amail",
        &[
            ("job", "send-mail"),
            ("delay_seconds", "1.5"),
            ("priority", ""),
        ],
    )
    .await;
    assert!(
        !page.contains("name=\"priority\"") && !page.contains("name=\"group\""),
        "{page}"
    );
    let peeked = reliable
        .peek(Place::Delayed, Page::first(9))
        .await
        .unwrap()
        .entries;
    assert_eq!(
        peeked[0].message.body, body,
        "line breaks are as they were typed"
    );
    assert_eq!(peeked[0].message.headers.job(), Some("send-mail"));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(reliable.depth().await.unwrap().ready, 1);

    let page = add("urgent", &[("priority", "-7"), ("job", " ")]).await;
    assert!(page.contains("name=\"priority\""), "{page}");
    let peeked = priority
        .queue()
        .peek(Place::Ready, Page::first(9))
        .await
        .unwrap()
        .entries;
    assert_eq!(
        (peeked[0].priority, peeked[0].message.headers.job()),
        (-7, None)
    );

    let page = add("steps", &[("group", "a <b> & c")]).await;
    assert!(page.contains("name=\"group\""), "{page}");
    let groups = rows(&site.page("/queues/steps/groups").await);
    assert_eq!(groups[0][0], "a <b> & c");
    let audit = rows(&site.page("/audit").await);
    assert_eq!((&*audit[2][1], &*audit[2][2]), ("push jobs:mail", "#1"));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_added_is_refused_with_its_reason() {
    let site = Site::signed_in().await;
    let orders = site.reliable("orders").await;
    let full = site.queues.bounded("full", 1).open::<u64>().await.unwrap();
    full.push(&1, Overflow::Reject).await.unwrap().id().unwrap();
    for (queue, fields, status, why) in [
        (
            "orders",
            &[("delay_seconds", "soon")][..],
            400,
            "a delay of \"soon\"",
        ),
        (
            "orders",
            &[("delay_seconds", "-1")],
            400,
            "a delay of \"-1\"",
        ),
        (
            "orders",
            &[("delay_seconds", "NaN")],
            400,
            "a delay of \"NaN\"",
        ),
        ("orders", &[("delay_seconds", "1e300")], 400, "a delay of"),
        ("orders", &[("priority", "1")], 400, "priority"),
        (
            "orders",
            &[("priority", "70000")],
            400,
            "a whole number from -32768",
        ),
        ("orders", &[("group", "a")], 400, "group"),
        ("full", &[], 409, "the queue is full"),
        ("none", &[], 400, "there is no queue `none`"),
    ] {
        let fields = [&[("body", "x")], fields].concat();
        let answer = site
            .post(&format!("/queues/{queue}/messages"), &fields)
            .await;
        assert_eq!(answer.status, status, "{queue} {fields:?}: {answer:?}");
        assert!(answer.words().contains(why), "{why}: {answer:?}");
    }
    assert_eq!(orders.depth().await.unwrap().occupied(), 0);
    let audit = rows(&site.page("/audit").await);
    assert_eq!(audit.len(), 9, "each is written down: {audit:?}");
    // Nobody adds a message by a link, and a reader has no form.
    assert_eq!(site.get("/queues/orders/messages").await.status, 405);
    assert!(!Site::new().page("/").await.contains("Add a message"));
}
