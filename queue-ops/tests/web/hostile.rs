//! Hostile or large data is shown as text, and cut.

use queue_core::{Headers, LeasingExt, Push, QueueConfig, QueueName, ReliableConfig, Settlement};
use std::time::Duration;

use crate::site::Site;

const MARKUP: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markup_in_names_bodies_headers_and_reasons_is_text() {
    let site = Site::start(&[]).await;
    let name = QueueName::new("markup").unwrap();
    let config = ReliableConfig::default();
    let queue = site
        .queues
        .backend()
        .open_reliable(&name, &config)
        .await
        .unwrap();
    let headers = Headers::new().with_job(MARKUP);
    let id = queue
        .push_one(Push::new(MARKUP).with_headers(headers.clone()))
        .await
        .unwrap()
        .id()
        .unwrap();
    queue
        .push_one(Push::new(&b"\xff\x00\xfe"[..]))
        .await
        .unwrap()
        .id()
        .unwrap();
    let delivery = queue
        .receive_one(Duration::from_secs(60), Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    let settled = queue
        .settle_one(Settlement::bury(delivery.receipt, MARKUP))
        .await
        .unwrap();
    assert_eq!(settled, queue_core::Settled::Dead);
    queue
        .push_one(Push::new(MARKUP).with_headers(headers))
        .await
        .unwrap()
        .id()
        .unwrap();

    let pages = [
        "".to_owned(),
        "/dead".to_owned(),
        "/in/ready".to_owned(),
        format!("/messages/{id}"),
    ];
    for page in pages {
        let (status, text) = site.get(&format!("/queues/markup{page}"));
        assert_eq!(status, 200, "{page}: {text}");
        // The script of the page itself has its own address, and no text.
        let own = r#"<script src="/live.js" data-events="/events"></script>"#;
        let text = text.replacen(own, "", 1);
        assert!(
            !text.contains("<script") && !text.contains("<img"),
            "{page}: {text}"
        );
    }
    let (_, ready) = site.get("/queues/markup/in/ready");
    assert!(
        ready.contains("ff00fe") && ready.contains("&lt;script&gt;"),
        "{ready}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_eight_mebibytes_is_cut_and_no_body_is_shown_if_asked() {
    let site = Site::start(&[]).await;
    let queue = site
        .queues
        .reliable("large")
        .config(large())
        .open::<String>()
        .await
        .unwrap();
    let body = "ü".repeat(4 * 1024 * 1024 - 200);
    queue
        .queue()
        .push_one(Push::new(body))
        .await
        .unwrap()
        .id()
        .unwrap();
    let (status, page) = site.get("/queues/large/in/ready");
    assert_eq!(status, 200);
    assert!(
        page.len() < 20_000 && page.contains("bytes in all)"),
        "{} bytes",
        page.len()
    );

    let secret = Site::start(&["--no-bodies"]).await;
    secret.orders().await;
    for path in [
        "/queues/orders/in/ready",
        "/queues/orders/dead",
        "/queues/orders/in/leased",
    ] {
        let (_, page) = secret.get(path);
        assert!(
            page.contains("(not shown)") && !page.contains("&quot;order&quot;"),
            "{page}"
        );
    }
}

fn large() -> ReliableConfig {
    let mut config = ReliableConfig::default();
    config.leasing.max_body = queue_core::limits::MAX_BATCH_BYTES;
    let _: QueueConfig = config.clone().into();
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_or_hangs_under_the_page_is_named() {
    let site = Site::start(&[]).await;
    site.orders().await;
    assert_eq!(site.get("/readyz").0, 200);
    site.server.freeze().unwrap();
    let (status, page) = site.get("/queues/orders/in/ready");
    assert_eq!(status, 503, "{page}");
    site.server.thaw().unwrap();
    site.server.kill().unwrap();
    for path in [
        "/",
        "/queues/orders",
        "/queues/orders/dead",
        "/server",
        "/api/queues",
        "/metrics",
        "/readyz",
    ] {
        let (status, page) = site.get(path);
        let is_named = status == 503 || (path == "/queues/orders" && page.contains("standstill"));
        assert!(is_named, "{path}: {status} {page}");
    }
    assert_eq!(site.get("/healthz").0, 200);
    site.server.start_again().unwrap();
    let begun = std::time::Instant::now();
    while site.get("/readyz").0 != 200 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it does not come back"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
