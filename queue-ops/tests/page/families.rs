//! Families of durable jobs on the page of a message.

use std::time::Duration;

use queue_core::{
    Bytes, ChildrenRecord, Headers, Json, LeasingExt, Push, Settlement, StepRecord, Steps,
};

use crate::site::{Form, HOUR, Site, words};

const HOSTILE: &str = "<script>alert(1)</script>";

/// A job of `orders` that waits for two mails, one of them dead.
async fn family(site: &Site) {
    let (orders, mails) = (site.reliable("orders").await, site.reliable("mails").await);
    let mut record = ChildrenRecord::new("mails", 1);
    for body in ["1", "2"] {
        let push = Push::new(body).with_header(Headers::PARENT, "orders/1");
        record.add(mails.push_one(push).await.unwrap().id().unwrap());
    }
    let mut steps = Steps::default();
    steps.set(HOSTILE, 12, StepRecord::Done("\"s3cret\"".to_owned()));
    steps.set("cool off", 12, StepRecord::SleepsUntil(7_200_000));
    steps.set("mails", 60_000, StepRecord::Children(record));
    wait_with(site, Json::write(&steps).unwrap()).await;
    let held = mails.receive_one(HOUR, Duration::ZERO).await.unwrap();
    let bury = Settlement::bury(held.unwrap().receipt, "no address");
    let _ = mails.settle_one(bury).await.unwrap();
    drop(orders);
}

/// A job of `orders` that waits with this state.
async fn wait_with(site: &Site, state: Bytes) {
    let orders = site.reliable("orders").await;
    let pushed = orders.push_one("order").await.unwrap();
    pushed.id().unwrap();
    let held = orders.receive_one(HOUR, Duration::ZERO).await.unwrap();
    let defer = Settlement::defer(held.unwrap().receipt, HOUR).with_state(state);
    let _ = orders.settle_one(defer).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn steps_are_a_table_with_a_bar_and_links_to_the_family() {
    let site = Site::new();
    family(&site).await;
    let page = site.page("/queues/orders/messages/1").await;
    assert!(!page.contains(HOSTILE), "{page}");
    let shown = words(&page);
    for words in [
        "<script>alert(1)</script> 12 ms done, result of 8 bytes",
        "cool off 12 ms asleep for 2 h more",
        "mails 60 s 1 of 2 children in `mails`: 1 of 2 ended, 1 dead",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(page.contains(r#"<progress value="1" max="2">"#), "{page}");
    assert!(page.contains(r#"<a href="/queues/mails">"#), "{page}");
    let child = site.page("/queues/mails/messages/2").await;
    let parent = r#"Child of <a href="/queues/orders/messages/1">orders #1</a>"#;
    assert!(child.contains(parent), "{child}");
    let api = site.page("/api/queues/orders/messages/1").await;
    assert!(
        api.contains(r#""ended":1"#) && !api.contains("s3cret"),
        "{api}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_operator_cancels_a_job_with_its_children() {
    let site = Site::signed_in().await;
    family(&site).await;
    let page = site.page("/queues/orders/messages/1").await;
    let form = Form::of(&page, "Cancel it with its children");
    assert_eq!(form.press(&site).await.status, 303);
    let audit = words(&site.page("/audit").await);
    let outcome = "orders: 1 cancelled; mails: 1 cancelled; 1 message dead (#1)";
    assert!(
        audit.contains("cancel_family orders #1") && audit.contains(outcome),
        "{audit}"
    );
    assert_eq!(site.reliable("mails").await.depth().await.unwrap().ready, 0);
}

/// A parent may be of any name, and the page leads to it and to nothing else.
#[tokio::test(start_paused = true)]
async fn hostile_parents_and_steps_do_no_harm() {
    let site = Site::new();
    let orders = site.reliable("orders").await;
    for parent in ["\"><script>/7", "../../sign-in/8", "no number", "/9"] {
        let push = Push::new("1").with_header(Headers::PARENT, parent);
        orders.push_one(push).await.unwrap().id().unwrap();
    }
    let mut pages = Vec::new();
    for id in 1..=4 {
        let page = site.page(&format!("/queues/orders/messages/{id}")).await;
        assert!(!page.contains("<script>"), "{page}");
        pages.push(
            page.split("Child of <a href=\"")
                .nth(1)
                .map(|to| to.split('"').next().unwrap().to_owned()),
        );
    }
    let to = |to: &str| Some(to.to_owned());
    assert_eq!(
        pages,
        [
            to("/queues/%22%3E%3Cscript%3E/messages/7"),
            to("/queues/..%2F..%2Fsign-in/messages/8"),
            None,
            to("/queues//messages/9"),
        ]
    );
    let orders = site.reliable("orders").await;
    let all = std::num::NonZeroUsize::new(100).unwrap();
    assert_eq!(orders.purge(all).await.unwrap(), 4);
    wait_with(&site, Bytes::from("{\"qk-steps\":7}")).await;
    let page = site.page("/queues/orders/messages/5").await;
    assert!(page.contains("Its steps cannot be read: "), "{page}");
}

/// An operator who must not see what is in the messages sees the steps, and none of their results.
#[tokio::test(start_paused = true)]
async fn redacted_steps_have_no_results() {
    let site = Site::with(|web| web.redact(|_, _| None));
    family(&site).await;
    let page = site.page("/queues/orders/messages/1").await;
    let shown = words(&page);
    assert!(shown.contains("</script> 12 ms done cool off"), "{shown}");
    assert!(shown.contains("1 of 2 ended, 1 dead"), "{shown}");
    assert!(!page.contains("s3cret"), "{page}");
    let child = words(&site.page("/queues/mails/messages/2").await);
    assert!(child.contains("Child of orders #1"), "{child}");
}
