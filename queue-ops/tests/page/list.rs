//! The list of queues: searched, sorted, added up, in pages of one size.

use std::time::Duration;

use queue_core::{Leasing, Overflow, Queues};

use crate::site::{Site, TOKEN, attributes, bury, push, rows, words};

/// Three queues of which each comes first by another column.
async fn fill(site: &Site) {
    for (name, ready, dead) in [
        ("Mail:in", 3, 1_200),
        ("orders", 1_500, 0),
        ("x-mail", 40, 7),
    ] {
        let queue = site.reliable(name).await;
        for _ in 0..dead {
            bury(&*queue, "x", "it failed").await;
        }
        for _ in 0..ready {
            push(&*queue, "x").await;
        }
    }
    site.reliable("orders").await.pause().await.unwrap();
}

async fn names(site: &Site, path: &str) -> Vec<String> {
    let shown = rows(&site.page(path).await);
    shown.into_iter().map(|row| row[1].clone()).collect()
}

/// A page that samples, and one that reads when it is asked. Only samples show that a queue stands still.
fn sites() -> [(Site, u64); 2] {
    let sampled = Site::with(|web| web.sample_every(Duration::from_secs(5)));
    [(sampled, 3), (Site::new(), 1)]
}

#[tokio::test(start_paused = true)]
async fn the_list_is_sorted_by_each_column_in_both_directions() {
    for (site, findings) in sites() {
        fill(&site).await;
        tokio::time::sleep(Duration::from_secs(11)).await;
        for (sort, first) in [
            (
                "finding",
                if findings == 3 {
                    ["Mail:in", "orders", "x-mail"]
                } else {
                    ["orders", "Mail:in", "x-mail"]
                },
            ),
            ("name", ["Mail:in", "orders", "x-mail"]),
            ("-name", ["x-mail", "orders", "Mail:in"]),
            ("ready", ["orders", "x-mail", "Mail:in"]),
            ("-ready", ["Mail:in", "x-mail", "orders"]),
            ("dead", ["Mail:in", "x-mail", "orders"]),
            // Queues that are alike stay in the order of their names.
            ("kind", ["Mail:in", "orders", "x-mail"]),
            ("-kind", ["Mail:in", "orders", "x-mail"]),
            ("leased", ["Mail:in", "orders", "x-mail"]),
        ] {
            assert_eq!(
                names(&site, &format!("/?sort={sort}")).await,
                first,
                "{sort}"
            );
        }
        let page = site.page("/?sort=ready").await;
        assert!(page.contains("aria-sort=\"descending\""), "{page}");
        let links = attributes(&page, "href");
        // The column that sorts leads to its other direction.
        assert!(
            links.contains(&"/queues?sort=-ready".to_owned()),
            "{links:?}"
        );
        for (_, name) in [("Oldest", "oldest"), ("In/s", "in"), ("Out/s", "out")] {
            assert!(links.contains(&format!("/queues?sort={name}")), "{links:?}");
            assert_eq!(names(&site, &format!("/?sort={name}")).await.len(), 3);
        }
        let wrong = site.get("/?sort=colour").await;
        assert_eq!(wrong.status, 400);
        assert!(
            wrong
                .words()
                .contains("no column `colour` to sort by: finding, name"),
            "{wrong:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_finds_names_in_either_case_and_keeps_the_order() {
    for (site, _) in sites() {
        fill(&site).await;
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert_eq!(names(&site, "/?search=MAIL").await, ["Mail:in", "x-mail"]);
        assert_eq!(names(&site, "/?search=l:i").await, ["Mail:in"]);
        assert_eq!(
            names(&site, "/?search=mail&sort=ready").await,
            ["x-mail", "Mail:in"]
        );
        let page = site.page("/?search=mail&sort=ready").await;
        // Other orders and a new search keep what was asked for.
        let links = attributes(&page, "href");
        assert!(
            links.contains(&"/queues?search=mail&sort=dead".to_owned()),
            "{links:?}"
        );
        assert!(page.contains("name=\"sort\" value=\"ready\""), "{page}");
        for evil in ["%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "a%26b%20c%23d"] {
            let page = site.page(&format!("/?search={evil}")).await;
            assert!(
                page.contains("No queue has") && !page.contains("<script>alert"),
                "{page}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn totals_are_of_all_queues_that_match_with_separators() {
    for (site, findings) in sites() {
        fill(&site).await;
        tokio::time::sleep(Duration::from_secs(11)).await;
        let totals = async |path: &str| {
            let page = site.page(path).await;
            let list = page.split("<ul class=\"tiles\"").nth(1).expect("totals");
            words(&format!(
                "<ul{}",
                list.split("</ul>").next().expect("a list")
            ))
        };
        let all = totals("/").await;
        let expected =
            format!("3 queues {findings} with findings 1,543 ready 0 delayed 0 leased 1,207 dead");
        assert!(all.starts_with(&expected), "{all}");
        let some = totals("/?search=mail").await;
        let expected = format!("2 queues {} with findings 43 ready", findings - 1);
        assert!(some.starts_with(&expected), "{some}");
        let shown = rows(&site.page("/?search=orders").await);
        assert_eq!((&*shown[0][0], &*shown[0][3]), ("paused", "1,500"));
    }
}

#[tokio::test(start_paused = true)]
async fn lists_for_operators_come_last_and_are_not_added_up() {
    for (site, findings) in sites() {
        fill(&site).await;
        let workers = site.queues.bounded("qk-workers", 10);
        let workers = workers.open::<u64>().await.unwrap();
        for number in 0..5 {
            let _pushed = workers.push(&number, Overflow::Reject).await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(11)).await;
        for sort in ["finding", "name", "-name", "-ready", "oldest"] {
            let shown = names(&site, &format!("/?sort={sort}")).await;
            assert_eq!((shown.len(), &*shown[3]), (4, "qk-workers"), "{sort}");
        }
        let page = words(&site.page("/").await);
        let totals = format!("3 queues {findings} with findings 1,543 ready");
        assert!(page.contains(&totals), "{page}");
    }
}

#[tokio::test(start_paused = true)]
async fn thousands_of_queues_are_sampled_in_turns_and_shown_in_pages() {
    let site = Site::with(|web| web.sample_every(Duration::from_secs(5)));
    let open = async |queues: &Queues, number: usize| {
        queues
            .reliable(&format!("queue:{number:04}"))
            .open::<u64>()
            .await
            .unwrap()
    };
    for number in 0..2_345 {
        open(&site.queues, number).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let page = site.page("/").await;
    let text = words(&page);
    assert!(
        text.contains("2,345 queues") && text.contains("Page 1 of 24"),
        "{text}"
    );
    assert_eq!(rows(&page).len(), 100);
    let last = site.page("/queues?page=24").await;
    let shown = rows(&last);
    assert_eq!((shown.len(), &*shown[44][1]), (45, "queue:2344"));
    let links = attributes(&last, "href");
    assert!(
        links.contains(&"/queues?page=23".to_owned())
            && !links.iter().any(|to| to.contains("page=25")),
        "{links:?}"
    );
    assert_eq!(rows(&site.page("/queues?page=999999999999").await).len(), 0);
    // A later pass sees what has changed in each part, and what is gone.
    let late = open(&site.queues, 2_300).await;
    late.push(&1).await.unwrap();
    let gone = "queue:0007".parse().unwrap();
    site.queues
        .backend()
        .remove(&gone, queue_core::Removal::UnlessLeased)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let text = words(&site.page("/?sort=ready").await);
    assert!(
        text.contains("2,344 queues 1 with findings 1 ready")
            || text.contains("2,344 queues 0 with findings 1 ready"),
        "{text}"
    );
    assert_eq!(names(&site, "/?sort=ready").await[0], "queue:2300");
}

/// Samples that are old do not stand for the queues.
#[tokio::test(start_paused = true)]
async fn a_page_whose_samples_are_old_reads_the_queues() {
    let site = Site::with(|web| {
        web.writes(TOKEN)
            .unwrap()
            .sample_every(Duration::from_secs(86_400))
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(site.page("/").await.contains("There are no queues"));
    site.reliable("orders").await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(names(&site, "/").await, ["orders"]);
}
