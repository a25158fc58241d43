//! Bodies on the pages: JSON is laid out, and whatever they have is text.

use queue_core::{KeptResult, Leasing, LeasingExt, Push, Settlement};
use std::time::Duration;

use crate::site::{HOUR, Site, bury, push, words};

const JSON: &str =
    r#"{"customer":{"name":"<b>Ann</b> & \"co\"","id":12345678901234567890},"items":[1.50,null]}"#;
const LAID_OUT: &str = "{\n  &quot;customer&quot;: {\n    &quot;name&quot;: &quot;&lt;b&gt;Ann&lt;/b&gt; &amp; \\&quot;co\\&quot;&quot;,\n    &quot;id&quot;: 12345678901234567890\n  },\n  &quot;items&quot;: [\n    1.50,\n    null\n  ]\n}";

#[tokio::test(start_paused = true)]
async fn json_is_laid_out_wherever_a_body_is_shown() {
    let site = Site::new();
    let queue = site.reliable("orders").await;
    bury(&*queue, JSON, "it failed").await;
    let done = push(&*queue, "x").await;
    let one = queue
        .receive_one(HOUR, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    let result = KeptResult::new(JSON, HOUR);
    let _ = queue
        .settle_one(Settlement::ack_with(one.receipt, result))
        .await
        .unwrap();
    push(&*queue, JSON).await;
    for path in [
        "/in/ready",
        "/dead",
        "/dead?reason=failed",
        &format!("/messages/{done}"),
    ] {
        let page = site.page(&format!("/queues/orders{path}")).await;
        assert!(
            page.contains(&format!("<pre>{LAID_OUT}</pre>")),
            "{path}: {page}"
        );
    }
    // The whole body is behind its first characters.
    let ready = site.page("/queues/orders/in/ready").await;
    assert!(
        ready.contains("<summary><code>{&quot;customer&quot;:{"),
        "{ready}"
    );
    // A short one stays on its line.
    push(&*queue, r#"{"order":7}"#).await;
    let ready = site.page("/queues/orders/in/ready").await;
    assert!(
        ready.contains("<code>{&quot;order&quot;:7}</code></td>"),
        "{ready}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_large_body_is_cut_and_its_size_is_named() {
    let site = Site::new();
    let queue = site.reliable("orders").await;
    for numbers in [3_000, 30_000] {
        let body = format!("[{}]", vec!["12345678"; numbers].join(","));
        let size = body.len();
        queue.push_one(Push::new(body)).await.unwrap().id().unwrap();
        let page = site.page("/queues/orders/in/ready").await;
        assert!(page.contains(&format!("… ({size} bytes in all)")), "{page}");
        assert!(page.len() < 20_000, "{} bytes", page.len());
        queue.purge(100.try_into().unwrap()).await.unwrap();
    }
}

/// What the host's function returns is laid out, and nothing else is shown.
#[tokio::test(start_paused = true)]
async fn a_body_is_hidden_before_it_is_laid_out() {
    let site = Site::with(|web| {
        web.redact(|_, _| {
            Some(
                r#"{"shown":["some of it",["and no more","than this is to be seen"]],"more":0}"#
                    .into(),
            )
        })
    });
    let queue = site.reliable("orders").await;
    queue.push_one(Push::new(JSON)).await.unwrap().id().unwrap();
    bury(&*site.reliable("dead").await, JSON, "it failed").await;
    for path in ["/queues/orders/in/ready", "/queues/dead/dead"] {
        let page = site.page(path).await;
        assert!(
            page.contains("<pre>{\n  &quot;shown&quot;: [") && !page.contains("Ann"),
            "{page}"
        );
    }
    let hidden = Site::with(|web| web.redact(|_, _| None));
    push(&*hidden.reliable("orders").await, JSON).await;
    assert!(words(&hidden.page("/queues/orders/in/ready").await).contains("(not shown)"));
}
