//! More than a page of everything: of letters, messages, groups, and queues.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    Layered, Leasing, LeasingExt, Push, QueueName, Queues, ReliableQueue, Result, Settlement,
    call::{Answer, Call, Layer, Service},
    limits,
};
use queue_memory::MemoryBackend;
use queue_ops::web::Web;

use crate::site::{Form, HOUR, Site, TOKEN, attributes, bury, push, rows};

/// Dead letters: `first` of one cause, then `second` of another.
async fn die(queue: &dyn ReliableQueue, first: usize, second: usize) {
    let mut died = 0;
    while died < first + second {
        let count = (first + second - died).min(100);
        queue.push(&vec![Push::new("x"); count]).await.unwrap();
        let leased = queue
            .lease(count.try_into().unwrap(), HOUR)
            .await
            .unwrap()
            .deliveries;
        let bury = |(nth, one): (usize, &queue_core::Delivery)| {
            let cause = if died + nth < first {
                "no article"
            } else {
                "card declined"
            };
            Settlement::bury(one.receipt, cause)
        };
        let buried: Vec<_> = leased.iter().enumerate().map(bury).collect();
        queue.settle(&buried).await.unwrap();
        died += leased.len();
    }
}

#[tokio::test(start_paused = true)]
async fn a_button_acts_on_all_letters_of_its_cause() {
    for (button, revives) in [("Revive these", true), ("Discard these", false)] {
        let site = Site::signed_in().await;
        let orders = site.reliable("orders").await;
        // The other cause begins behind the first thousand, which one call reads.
        die(&*orders, 1_050, 130).await;
        let page = site.page("/queues/orders/dead?after=1040").await;
        let form = Form::all(&page)
            .into_iter()
            .rev()
            .find(|form| form.button == button)
            .expect(button);
        let groups = rows(&page);
        assert_eq!(
            (&*groups[0][1], &*groups[1][1]),
            ("buried: card declined", "buried: no article"),
            "{groups:?}"
        );
        let first = Form::of(&page, button);
        assert_ne!(first, form);
        assert_eq!(first.press(&site).await.status, 303);
        let depth = orders.depth().await.unwrap();
        assert_eq!(
            (depth.dead, depth.ready),
            (1_050, if revives { 130 } else { 0 })
        );
        assert_eq!(form.press(&site).await.status, 303);
        let depth = orders.depth().await.unwrap();
        assert_eq!(
            (depth.dead, depth.ready),
            (0, if revives { 1_180 } else { 0 })
        );
        let audit = rows(&site.page("/audit").await);
        assert_eq!(
            (&*audit[1][2], &*audit[0][2]),
            ("130 of 130 done", "1050 of 1050 done")
        );
    }
}

/// Follows the links to more entries. Returns the first cell of each row, and the number of pages.
async fn follow(site: &Site, start: &str, table: usize) -> (Vec<String>, usize) {
    let (mut path, mut cells, mut pages) = (start.to_owned(), Vec::new(), 0);
    loop {
        let page = site.page(&path).await;
        pages += 1;
        assert!(pages < 10, "{path} leads to itself");
        let tables: Vec<&str> = page.split("<table>").skip(1).collect();
        let shown = rows(tables[table]);
        assert!(
            !shown.is_empty() && shown.len() <= 100,
            "{path}: {} rows",
            shown.len()
        );
        cells.extend(shown.into_iter().map(|row| row.join("|")));
        let next = attributes(&page, "href")
            .into_iter()
            .filter(|to| to.contains("?after="))
            .collect::<Vec<_>>();
        match &next[..] {
            [] => return (cells, pages),
            [next] => path.clone_from(next),
            more => panic!("{path}: {more:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_entry_is_on_exactly_one_page() {
    let site = Site::new();
    for (name, count) in [("exact", 200), ("one:more", 201), ("few", 3)] {
        let queue = site.reliable(name).await;
        die(&*queue, count, 0).await;
        for _ in 0..count {
            push(&*queue, "leased").await;
        }
        let leased = queue
            .lease(100.try_into().unwrap(), HOUR)
            .await
            .unwrap()
            .deliveries;
        let mut leased = leased.len();
        while leased < count {
            let more = (count - leased).min(100).try_into().unwrap();
            leased += queue.lease(more, HOUR).await.unwrap().deliveries.len();
        }
        for _ in 0..count {
            push(&*queue, "ready").await;
        }
        let ids = |cells: &[String]| -> Vec<u64> {
            let id = |cell: &String| {
                cell.split('|')
                    .next()
                    .unwrap()
                    .trim_start_matches('#')
                    .parse()
                    .unwrap()
            };
            cells.iter().map(id).collect()
        };
        let from = |first: usize| -> Vec<u64> { (first as u64..(first + count) as u64).collect() };
        let pages = count.div_ceil(100);
        for (place, table, first) in [
            ("dead", 1, 1),
            ("in/leased", 0, count + 1),
            ("in/ready", 0, 2 * count + 1),
        ] {
            let path = format!("/queues/{}/{place}", name.replace(':', "%3A"));
            let (cells, read) = follow(&site, &path, table).await;
            assert_eq!(ids(&cells), from(first), "{path}");
            assert!(read == pages || read == pages + 1, "{path}: {read} pages");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_queue_and_every_group_is_on_a_page() {
    let site = Site::new();
    let names: Vec<String> = (0..250)
        .map(|number| format!("queue:{number:03}"))
        .collect();
    for name in &names {
        site.reliable(name).await;
    }
    // A queue with a finding is the first of its page; the next page begins where the names go on.
    site.reliable(&names[99]).await.pause().await.unwrap();
    let (cells, pages) = follow(&site, "/", 0).await;
    let shown: Vec<_> = cells
        .iter()
        .map(|row| row.split('|').nth(1).unwrap())
        .collect();
    let first = [&names[99..100], &names[..99]].concat();
    assert_eq!(shown[..100], first);
    assert_eq!(shown[100..], names[100..]);
    assert_eq!(pages, 3);
    let listed = site.page("/api/queues?after=queue:197").await;
    let listed: Vec<serde_json::Value> = serde_json::from_str(&listed).unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed, &names[198..250]);
    let listed: Vec<serde_json::Value> =
        serde_json::from_str(&site.page("/api/queues").await).unwrap();
    assert_eq!(listed.len(), 100);

    let keys: Vec<String> = (0..205).map(|number| format!("g{number:03}")).collect();
    let bytes: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    site.grouped("steps", &bytes).await;
    let (cells, _) = follow(&site, "/queues/steps/groups", 0).await;
    let shown: BTreeSet<_> = cells
        .iter()
        .map(|row| row.split('|').next().unwrap().to_owned())
        .collect();
    assert_eq!((cells.len(), shown), (205, keys.into_iter().collect()));
    // The page of the queue shows the first ten, and says that there are more.
    let page = site.page("/queues/steps").await;
    assert!(
        page.contains("All groups") && page.contains("g000") && !page.contains("g010"),
        "{page}"
    );
    let mut walked = 0;
    let mut next = "/api/queues/steps/groups".to_owned();
    loop {
        let listed: serde_json::Value = serde_json::from_str(&site.page(&next).await).unwrap();
        walked += listed["groups"].as_array().unwrap().len();
        match listed["next"].as_u64() {
            Some(after) => next = format!("/api/queues/steps/groups?after={after}"),
            None => break,
        }
    }
    assert_eq!(walked, 205);
    let few: [&[u8]; 10] = [b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9"];
    site.grouped("few", &few).await;
    assert!(!site.page("/queues/few").await.contains("All groups"));
}

#[tokio::test(start_paused = true)]
async fn every_queue_has_its_gauges() {
    let site = Site::new();
    let names: Vec<String> = (0..2_050).map(|number| format!("q{number:04}")).collect();
    for name in &names {
        site.reliable(name).await;
    }
    let text = site.page("/metrics").await;
    let gauges = text.lines().filter_map(|line| {
        let name = line.strip_prefix("queue_kit_paused{queue=\"")?;
        name.strip_suffix("\"} 0")
    });
    assert_eq!(gauges.collect::<Vec<_>>(), names);
    for most in [1, 999, 1_000, 1_001, 2_000, 2_049, usize::MAX] {
        let listed = queue_ops::list_queues(&**site.queues.backend(), most).await;
        let listed = listed.unwrap();
        let listed: Vec<_> = listed.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(listed, names[..names.len().min(most)], "{most}");
    }
}

/// Letters that die again while the button works come behind the others. They are not touched again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_on_a_cause_ends_beside_letters_that_die_again() {
    let site = Site::signed_in().await;
    let orders = site.reliable("orders").await;
    die(&*orders, 1_100, 0).await;
    let again = std::sync::Arc::clone(&orders);
    let worker = tokio::spawn(async move {
        loop {
            let Some(one) = again.receive_one(HOUR, HOUR).await.unwrap() else {
                continue;
            };
            let _ = again
                .settle_one(Settlement::bury(one.receipt, "no article"))
                .await
                .unwrap();
        }
    });
    let form = Form::of(&site.page("/queues/orders/dead").await, "Revive these");
    let pressed = tokio::time::timeout(Duration::from_secs(60), form.press(&site)).await;
    assert_eq!(pressed.expect("it ends").status, 303);
    worker.abort();
    let audit = rows(&site.page("/audit").await);
    assert_eq!(audit[0][2], "1100 of 1100 done");
}

/// A consumer that buries at once whatever is revived. It stops after a while, so that an action ends that would not.
#[derive(Debug, Default)]
struct BuriesAgain(AtomicU64);

#[async_trait]
impl Layer for BuriesAgain {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let is_revival = matches!(call, Call::Revive(..));
        let answer = queue.call(call).await?;
        if is_revival && self.0.fetch_add(1, Ordering::Relaxed) < 30 {
            let most = limits::MAX_BATCH.try_into().unwrap();
            let Answer::Leased(leased) = queue.call(Call::Lease(most, HOUR)).await? else {
                panic!("a lease")
            };
            let buried = leased.deliveries.iter();
            let buried = buried.map(|one| Settlement::bury(one.receipt, "no article"));
            queue.call(Call::Settle(buried.collect())).await?;
        }
        Ok(answer)
    }
}

#[tokio::test(start_paused = true)]
async fn letters_that_die_again_at_once_are_not_revived_again() {
    let queues = Queues::new(MemoryBackend::new());
    let layered = Layered::new(BuriesAgain::default(), Arc::clone(queues.backend()));
    let web = Web::new(Arc::new(layered)).writes(TOKEN).unwrap();
    let mut site = Site::of(queues, web.router());
    site.sign_in("").await;
    let orders = site.reliable("orders").await;
    die(&*orders, 1_100, 0).await;
    let form = Form::of(&site.page("/queues/orders/dead").await, "Revive these");
    assert_eq!(form.press(&site).await.status, 303);
    let audit = rows(&site.page("/audit").await);
    assert_eq!(audit[0][2], "1100 of 1100 done");
    let counters = orders.counters().await.unwrap();
    assert_eq!((counters.died, counters.depth.dead), (2_200, 1_100));
}

/// The page of all dead letters takes the queues that have the most.
#[tokio::test(start_paused = true)]
async fn all_dead_letters_begin_with_the_largest_cause() {
    let site = Site::new();
    for number in 0..23 {
        let queue = site.reliable(&format!("q{number:02}")).await;
        for _ in 0..=number {
            bury(&*queue, "body", "it failed").await;
        }
    }
    site.reliable("empty").await;
    let page = site.page("/dead").await;
    let shown: Vec<_> = rows(&page)
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let expected: Vec<_> = (3..23)
        .rev()
        .map(|number| ((number + 1).to_string(), format!("q{number:02}")))
        .collect();
    assert_eq!(shown, expected);
    assert!(page.contains("Of 23 queues, these have the most"), "{page}");
    // A count of a part says so.
    let many = site.reliable("many").await;
    for _ in 0..130 {
        bury(&*many, "body", "it failed").await;
    }
    let page = site.page("/dead").await;
    let first = &rows(&page)[0];
    assert_eq!(
        (&*first[0], &*first[1]),
        ("100 of the first 100 of 130", "many")
    );
}
