//! A part of the reasons of dead letters: a count before anything is done, then the same letters revived or discarded.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use queue_core::{
    Cursor, Layered, Leasing, Page, QueueName, Queues, Result,
    call::{Answer, Call, Layer, Service},
};
use queue_memory::MemoryBackend;
use queue_ops::web::Web;

use crate::site::{Form, Site, TOKEN, bury, dead, rows, words};

const NASTY: &str = "no \"article\" <b>&</b> 100 % / ?x=1#y 'ü'";

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn fill(site: &Site) {
    let queue = site.reliable("orders").await;
    for nth in 0..1_040 {
        bury(&*queue, "x", &format!("order {nth}: {NASTY}")).await;
    }
    for _ in 0..3 {
        bury(&*queue, "x", "402: card declined").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_count_changes_nothing_and_its_buttons_do_what_it_counted() {
    for (button, ready) in [("Revive these 1,040", 1_040), ("Discard these 1,040", 0)] {
        let site = Site::signed_in().await;
        fill(&site).await;
        let queue = site.reliable("orders").await;
        let path = format!("/queues/orders/dead?reason={}", encoded(NASTY));
        let page = site.page(&path).await;
        let text = words(&page);
        assert!(text.contains("1,040 of 1,043 dead letters match"), "{text}");
        assert!(
            rows(&page).len() == 100 && text.contains("The first 100"),
            "{text}"
        );
        assert!(text.contains("qk dead revive orders --reason"), "{text}");
        assert_eq!(queue.depth().await.unwrap().dead, 1_043, "it only counts");
        let answer = Form::of(&page, button).press(&site).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("location")),
            (303, "/queues/orders/dead")
        );
        let depth = queue.depth().await.unwrap();
        assert_eq!((depth.dead, depth.ready), (3, ready));
        assert!(
            dead(&*queue)
                .await
                .iter()
                .all(|letter| letter.why().contains("card declined"))
        );
        let audit = rows(&site.page("/audit").await);
        assert!(
            audit[0][1].contains(NASTY) && audit[0][2] == "1040 of 1040 done",
            "{audit:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_reason_means_no_letter() {
    let site = Site::signed_in().await;
    fill(&site).await;
    let queue = site.reliable("orders").await;
    for reason in ["", "   "] {
        let answer = site
            .post(
                "/queues/orders/dead",
                &[("action", "discard"), ("reason", reason)],
            )
            .await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.words().contains("which dead letters"), "{answer:?}");
        let page = site
            .page(&format!("/queues/orders/dead?reason={}", encoded(reason)))
            .await;
        assert!(!page.contains("match."), "{page}");
    }
    let none = words(&site.page("/queues/orders/dead?reason=another").await);
    assert!(none.contains("0 of 1,043 dead letters match"), "{none}");
    assert!(!none.contains("Revive these"), "{none}");
    assert_eq!(queue.depth().await.unwrap().dead, 1_043);
}

/// A backend whose dead letters never end: each page is a thousand of one letter.
#[derive(Debug, Default)]
struct Endless(Arc<AtomicU64>);

#[async_trait]
impl Layer for Endless {
    async fn call(
        &self,
        _: &QueueName,
        queue: &Arc<dyn Service>,
        mut call: Call,
    ) -> Result<Answer> {
        if let Call::DeadLetters(page) = &mut call {
            *page = Page::first(1);
        }
        let mut answer = queue.call(call).await?;
        if let Answer::DeadLetters(page) = &mut answer {
            let pages = self.0.fetch_add(1, Ordering::Relaxed);
            page.entries = vec![page.entries[0].clone(); 1_000];
            page.next = Some(Cursor::new(pages));
        }
        Ok(answer)
    }
}

/// A reader counts, and has no button; a count is of a bounded number of letters.
#[tokio::test(start_paused = true)]
async fn a_reader_counts_and_a_count_is_bounded() {
    let queues = Queues::new(MemoryBackend::new());
    let layer = Endless::default();
    let pages = Arc::clone(&layer.0);
    let layered = Layered::new(layer, Arc::clone(queues.backend()));
    let site = Site::of(queues, Web::new(Arc::new(layered)).router());
    bury(&*site.reliable("orders").await, "x", "it failed").await;
    let page = site.page("/queues/orders/dead?reason=failed").await;
    let text = words(&page);
    assert!(
        text.contains("10,000 of the first 10,000 dead letters match"),
        "{text}"
    );
    assert!(
        Form::all(&page).is_empty() && rows(&page).len() == 100,
        "{page}"
    );
    assert_eq!(pages.load(Ordering::Relaxed), 10);
}

/// Reasons that are hidden are not found by what they say.
#[tokio::test(start_paused = true)]
async fn a_hidden_reason_is_not_found_by_its_text() {
    let mut site = Site::with(|web| web.writes(TOKEN).unwrap().redact(|_, _| None));
    let queue = site.reliable("orders").await;
    bury(&*queue, "body of s3cret", "customer s3cret has no card").await;
    bury(&*queue, "body of s3cret", "no route").await;
    site.sign_in("").await;
    for guess in ["s3cret", "card", "s3", "route", "body"] {
        let text = words(
            &site
                .page(&format!("/queues/orders/dead?reason={guess}"))
                .await,
        );
        assert!(
            text.contains("0 of 2 dead letters match"),
            "{guess}: {text}"
        );
        let answer = site
            .post(
                "/queues/orders/dead",
                &[("action", "discard"), ("reason", guess)],
            )
            .await;
        assert_eq!(answer.status, 303);
    }
    assert_eq!(queue.depth().await.unwrap().dead, 2);
    // The letters that stand for a reason find it.
    let shown = rows(&site.page("/queues/orders/dead").await);
    let letters = shown.last().unwrap()[1]
        .rsplit("(not shown: ")
        .next()
        .unwrap()
        .trim_end_matches(')')
        .to_owned();
    let text = words(
        &site
            .page(&format!("/queues/orders/dead?reason={letters}"))
            .await,
    );
    assert!(text.contains("1 of 2 dead letters match"), "{text}");
}
