//! The content of the pages: order, filters, both sides of each condition, and text that is no markup.

use std::{sync::Arc, time::Duration};

use queue_core::{
    Backend, Bytes, Headers, Holder, KeptResult, Leasing, LeasingExt, Overflow, Push, Queues,
    Receipt, ReliableQueue, Settled, Settlement, WorkerRecord, WorkerRegistration,
};
use queue_memory::MemoryBackend;
use queue_ops::web::Web;

use crate::site::{Form, HOUR, Site, TOKEN, bury, push, rows};

/// The first cells of each row of the table with this number.
fn cells(page: &str, table: usize, from: usize, to: usize) -> Vec<Vec<String>> {
    let table = page.split("<table>").nth(table + 1).unwrap_or_default();
    let table = table.split("</table>").next().unwrap_or_default();
    rows(table)
        .into_iter()
        .map(|row| row[from..to.min(row.len())].to_vec())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn queues_with_findings_come_first_and_each_has_its_own_numbers() {
    let site = Site::new();
    for (name, ready, paused) in [
        ("b", 1, false),
        ("z", 2, true),
        ("a", 3, false),
        ("m", 4, true),
    ] {
        let queue = site.reliable(name).await;
        // Another number in each place.
        for _ in 0..3 {
            bury(&*queue, "x", "x").await;
        }
        for _ in 0..2 {
            push(&*queue, "x").await;
            let leased = queue.receive_one(HOUR, Duration::ZERO).await.unwrap();
            leased.expect("a message");
        }
        push(&*queue, "x").await;
        let late = queue
            .receive_one(HOUR, Duration::ZERO)
            .await
            .unwrap()
            .unwrap();
        let _ = queue
            .settle_one(Settlement::retry(late.receipt, HOUR))
            .await
            .unwrap();
        for _ in 0..ready {
            push(&*queue, "x").await;
        }
        if ready > 2 {
            bury(&*site.reliable("spare").await, "x", "x").await;
        }
        if paused {
            queue.pause().await.unwrap();
        }
    }
    tokio::time::advance(Duration::from_secs(5)).await;
    let page = site.page("/").await;
    let row = |finding: &str, name: &str, ready: &str| {
        [
            finding, name, "reliable", ready, "5.0 s", "1", "2", "3", "", "",
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let spare = ["", "spare", "reliable", "0", "", "0", "0", "2", "", ""]
        .map(str::to_owned)
        .to_vec();
    let expected = [
        row("paused", "m", "4"),
        row("paused", "z", "2"),
        row("", "a", "3"),
        row("", "b", "1"),
        spare,
    ];
    assert_eq!(cells(&page, 0, 0, 10), expected);
    assert!(Site::new().page("/").await.contains("There are no queues"));
}

/// Six seconds of a site that is sampled: `z-stuck` stands still, `a-busy` handles ten messages a second.
async fn sampled() -> Site {
    let site = Site::with(|web| web.sample_every(Duration::from_secs(2)));
    let busy = site.reliable("a-busy").await;
    push(&*site.reliable("z-stuck").await, "x").await;
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    for _ in 0..60 {
        push(&*busy, "x").await;
        let ack = Settlement::ack(next(&*busy).await);
        assert_eq!(busy.settle_one(ack).await.unwrap(), Settled::Done);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    site
}

#[tokio::test(start_paused = true)]
async fn samples_give_rates_and_findings() {
    let site = sampled().await;
    let page = site.page("/").await;
    let shown = cells(&page, 0, 0, 10);
    assert_eq!(
        (&*shown[0][1], &*shown[1][1]),
        ("z-stuck", "a-busy"),
        "{shown:?}"
    );
    assert!(
        shown[0][0].starts_with("stands still for ") && shown[1][0].is_empty(),
        "{shown:?}"
    );
    assert_eq!(shown[0][8..], ["0", "0"], "{shown:?}");
    for rate in &shown[1][8..] {
        let rate: f64 = rate.parse().expect("a rate");
        assert!((8.0..12.0).contains(&rate), "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn samples_draw_what_came_in_and_what_went_out() {
    let site = sampled().await;
    let own = site.page("/queues/a-busy").await;
    assert!(
        own.contains("<svg") && own.contains("class=\"pushed\" points=\""),
        "{own}"
    );
    // Each line, and each of the legend.
    let points: Vec<_> = crate::site::attributes(&own, "points");
    assert_eq!(points.len(), 6);
    let points = &points[..3];
    assert!(
        points.iter().all(|points| points.split(' ').count() >= 3),
        "{points:?}"
    );
    // As many went out as came in.
    assert_eq!(points[0], points[1]);
    // The latest is on the right, the highest on top.
    let last = points[0].split(' ').next_back().unwrap();
    assert!(
        last.starts_with("330.0,") && points[2].ends_with(",150.0"),
        "{points:?}"
    );
    // Its words, for those who cannot see it: the axes, the legend, a sentence, and a table.
    let text = crate::site::words(&own);
    for axis in ["messages a second", "60 s ago", "30 s ago", "now", "10/s"] {
        assert!(text.contains(axis), "{axis}: {text}");
    }
    let sentence = "Throughput of the last 60 s: in 10/s now, ";
    assert!(
        own.contains(sentence) && text.contains("As a table"),
        "{own}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_page_has_a_script_only_where_samples_are_taken() {
    let site = Site::with(|web| web.sample_every(Duration::from_secs(2)));
    site.reliable("orders").await;
    let page = site.page("/").await;
    assert!(page.contains("/live.js") && page.contains("data-events=\"/events\""));
    let still = Site::new();
    still.reliable("orders").await;
    for path in ["/", "/queues/orders", "/workers"] {
        assert!(
            !still.page(path).await.contains("<script"),
            "nothing is sampled: {path}"
        );
        assert!(site.page(path).await.contains("<script"), "{path}");
    }
}

/// Two messages in each place: ready 30 s ago, leased and delayed 60 s ago. Returns the tokens of the two leases.
async fn two_in_each_place(site: &Site) -> [String; 2] {
    let queue = site.reliable("orders").await;
    for body in ["one", "two", "three", "four"] {
        push(&*queue, body).await;
    }
    let mut receipts = Vec::new();
    for name in ["web-1", "web-2", "web-3", "web-4"] {
        let holder = Some(Holder::new(name).unwrap());
        let leased = queue.settle_and_lease(&[], 1.try_into().unwrap(), HOUR, holder);
        receipts.push(leased.await.unwrap().1.deliveries[0].receipt);
    }
    let settlements = [
        Settlement::retry_because(receipts[2], HOUR, "402: declined"),
        Settlement::retry_because(receipts[3], 2 * HOUR, "503: busy"),
    ];
    queue.settle(&settlements).await.unwrap();
    tokio::time::advance(Duration::from_secs(30)).await;
    push(&*queue, "five").await;
    push(&*queue, "six").await;
    tokio::time::advance(Duration::from_secs(30)).await;
    [0, 1].map(|at| receipts[at].token.to_string())
}

/// The table of the page of this place.
async fn in_place(site: &Site, place: &str) -> Vec<Vec<String>> {
    let page = site.page(&format!("/queues/orders/in/{place}")).await;
    cells(&page, 0, 0, 7)
}

/// Each place lists its own messages, in their order, each with its own facts.
#[tokio::test(start_paused = true)]
#[rustfmt::skip]
async fn a_place_shows_its_messages_and_no_others() {
    let site = Site::signed_in().await;
    two_in_each_place(&site).await;
    assert_eq!(
        in_place(&site, "ready").await,
        [
            ["#5", "ready", "0", "30 s", "job of five", "", "five"],
            ["#6", "ready", "0", "30 s", "job of six", "", "six"],
        ]
    );
    assert_eq!(
        in_place(&site, "leased").await,
        [
            ["#1", "leased by web-1 for 59 min Release", "1", "60 s", "job of one", "", "one"],
            ["#2", "leased by web-2 for 59 min Release", "1", "60 s", "job of two", "", "two"],
        ]
    );
    assert_eq!(
        in_place(&site, "delayed").await,
        [
            ["#3", "due in 59 min", "1", "60 s", "job of three", "402: declined", "three"],
            ["#4", "due in 119 min", "1", "60 s", "job of four", "503: busy", "four"],
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn each_button_of_a_lease_releases_its_own_message() {
    let site = Site::signed_in().await;
    let [_, token] = two_in_each_place(&site).await;
    let forms = Form::all(&site.page("/queues/orders/in/leased").await);
    assert_eq!(forms.len(), 2);
    assert_eq!(forms[1].to, "/queues/orders/messages/2");
    assert_eq!(forms[1].fields[1], ("token".to_owned(), token));
    forms[1].press(&site).await;
    let leased = in_place(&site, "leased").await;
    assert_eq!((leased.len(), &*leased[0][0]), (1, "#1"));
    let page = site.page("/queues/orders").await;
    assert_eq!(cells(&page, 1, 0, 3), [["web-1", "", "1"]]);
    let counts: Vec<_> = cells(&page, 0, 0, 1).into_iter().flatten().collect();
    assert_eq!(
        counts,
        ["3", "2", "1", "0", "6", "0", "2", "0", "0", "60 s"]
    );
}

/// Each number another one, so that none stands for another.
#[tokio::test(start_paused = true)]
async fn each_counter_is_named_by_its_own_name() {
    let site = Site::new();
    let queue = site.reliable("orders").await;
    let take = async |lease| {
        queue
            .receive_one(lease, Duration::ZERO)
            .await
            .unwrap()
            .unwrap()
            .receipt
    };
    for nth in 0..7 {
        let id = bury(&*queue, "x", "it failed").await;
        if nth < 3 {
            queue.discard(&[id]).await.unwrap();
        }
    }
    for _ in 0..9 {
        push(&*queue, "acked").await;
        let _ = queue
            .settle_one(Settlement::ack(take(HOUR).await))
            .await
            .unwrap();
    }
    push(&*queue, "expires").await;
    take(Duration::from_secs(1)).await;
    tokio::time::advance(Duration::from_secs(2)).await;
    for _ in 0..2 {
        let retry = Settlement::retry(take(HOUR).await, Duration::from_secs(1));
        assert_eq!(queue.settle_one(retry).await.unwrap(), Settled::Done);
        tokio::time::advance(Duration::from_secs(2)).await;
    }
    let _ = queue
        .settle_one(Settlement::ack(take(HOUR).await))
        .await
        .unwrap();
    for _ in 0..6 {
        push(&*queue, "ready").await;
    }
    tokio::time::advance(Duration::from_secs(17)).await;
    let page = site.page("/queues/orders").await;
    let text = crate::site::words(&page);
    let numbers = "ready 6 delayed 0 leased 0 dead 4 accepted 23 acked 10 retried 2 expired leases 1 died 7 oldest ready 17 s";
    assert!(text.contains(numbers), "{text}");
}

/// The result of a message is a body, too.
#[tokio::test(start_paused = true)]
async fn a_result_is_shown_as_it_may_be() {
    let open = || Site::with(|web| web);
    let closed = || Site::with(|web| web.redact(|_, _| None));
    for (site, shown) in [(open(), "done: <4242>"), (closed(), "done: (not shown)")] {
        let queue = site.reliable("orders").await;
        let id = push(&*queue, "x").await;
        let receipt = queue
            .receive_one(HOUR, Duration::ZERO)
            .await
            .unwrap()
            .unwrap()
            .receipt;
        let result = KeptResult::new(&b"<4242>"[..], HOUR);
        let _ = queue
            .settle_one(Settlement::ack_with(receipt, result))
            .await
            .unwrap();
        let page = site.page(&format!("/queues/orders/messages/{id}")).await;
        let text = crate::site::words(&page);
        assert!(
            text.contains(shown) && text.contains("Its result goes"),
            "{text}"
        );
    }
}

/// The message that comes next.
async fn next(queue: &dyn ReliableQueue) -> Receipt {
    let next = queue.receive_one(HOUR, Duration::ZERO).await;
    next.unwrap().expect("a message").receipt
}

/// A message in each state: 1 and 2 dead, 3 leased, 4 delayed, 5 acked, 6 ready.
async fn one_in_each_state(site: &Site) {
    let queue = site.reliable("orders").await;
    bury(&*queue, "dead", "402: declined").await;
    push(&*queue, "other").await;
    let bury_it = Settlement::bury(next(&*queue).await, "404: none").with_state("half");
    assert_eq!(queue.settle_one(bury_it).await.unwrap(), Settled::Dead);
    push(&*queue, "leased").await;
    next(&*queue).await;
    push(&*queue, "late").await;
    let retry = Settlement::retry_because(next(&*queue).await, HOUR, "503: busy");
    assert_eq!(queue.settle_one(retry).await.unwrap(), Settled::Done);
    push(&*queue, "acked").await;
    let ack = Settlement::ack(next(&*queue).await);
    assert_eq!(queue.settle_one(ack).await.unwrap(), Settled::Done);
    push(&*queue, "ready").await;
}

#[tokio::test(start_paused = true)]
#[rustfmt::skip]
async fn a_message_is_shown_with_its_state_and_what_comes_next() {
    let site = Site::new();
    one_in_each_state(&site).await;
    for (id, state, next) in [
        (6, "ready; pushed 0 ms ago, 0 attempts", "The next consumer"),
        (4, "due in 60 min; pushed 0 ms ago, 1 attempts; last failure: 503: busy", "when it is due"),
        (3, "leased by (without a name) for 60 min", "settles it"),
        (1, "dead after 1 attempts: 402: declined", "revived or discarded"),
        (2, "dead after 1 attempts: 404: none", "revived or discarded"),
        (5, "gone", "acked, cancelled or dropped"),
        (999, "never was", "had this id"),
    ] {
        let page = site.page(&format!("/queues/orders/messages/{id}")).await;
        let text = crate::site::words(&page).replace("buried: ", "");
        assert!(text.contains(state), "{id}: {text}");
        assert!(text.contains(next), "{id}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_offers_what_fits_its_state_to_one_who_is_signed_in() {
    let site = Site::signed_in().await;
    one_in_each_state(&site).await;
    let web = Web::new(Arc::clone(site.queues.backend()));
    let stranger = Site::of(site.queues.clone(), web.writes(TOKEN).unwrap().router());
    for (id, buttons) in [
        (6, &["Cancel it"][..]),
        (4, &["Run it now", "Cancel it"]),
        (3, &[]),
        (1, &["Revive it", "Discard it"]),
        (
            2,
            &["Revive it", "Revive it without its state", "Discard it"],
        ),
        (5, &[]),
        (999, &[]),
    ] {
        let path = format!("/queues/orders/messages/{id}");
        let forms = Form::all(&site.page(&path).await).into_iter();
        let shown: Vec<_> = forms.map(|form| form.button).collect();
        assert_eq!(shown, buttons, "{id}");
        assert!(Form::all(&stranger.page(&path).await).is_empty(), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn dead_letters_are_grouped_by_cause_the_largest_first() {
    let site = Site::new();
    let queue = site.reliable("orders").await;
    for (body, reason) in [
        ("1", "402: card declined"),
        ("2", "no article \"a\""),
        ("3", "no article \"b\""),
        ("4", "no route"),
        ("5", "no article \"c\""),
        ("6", "409: card declined"),
    ] {
        bury(&*queue, body, reason).await;
    }
    let page = site.page("/queues/orders/dead").await;
    let groups = cells(&page, 0, 0, 2);
    let expected = [
        ["3", "buried: no article \"a\""],
        ["2", "buried: 402: card declined"],
        ["1", "buried: no route"],
    ];
    assert_eq!(groups, expected.map(|row| row.map(str::to_owned).to_vec()));
    let letters: Vec<_> = cells(&page, 1, 0, 3)
        .into_iter()
        .map(|row| (row[0].clone(), row[2].clone()))
        .collect();
    let expected: Vec<_> = (1..=6)
        .map(|id| (format!("#{id}"), id.to_string()))
        .collect();
    assert_eq!(letters, expected);
    assert!(cells(&page, 1, 1, 2)[3][0].contains("no route"));
    let other = site.reliable("other").await;
    bury(&*other, "x", "no route").await;
    bury(&*other, "x", "no route").await;
    let all = cells(&site.page("/dead").await, 0, 0, 3);
    let all: Vec<_> = all
        .iter()
        .map(|row| [&*row[0], &*row[1], &*row[2]])
        .collect();
    assert_eq!(
        all,
        [
            ["3", "orders", "buried: no article \"a\""],
            ["2", "orders", "buried: 402: card declined"],
            ["2", "other", "buried: no route"],
            ["1", "orders", "buried: no route"],
        ]
    );
    assert!(
        Site::new()
            .page("/dead")
            .await
            .contains("There are no dead letters")
    );
}

#[tokio::test(start_paused = true)]
async fn workers_that_are_gone_come_first() {
    let site = Site::new();
    let backend = &**site.queues.backend();
    let beat = async |key: &str, holder: &str, queues: &[&str], next| {
        let mut record = WorkerRecord::default();
        record.holder = holder.to_owned();
        record.program = format!("shop {holder}");
        record.queues = queues.iter().map(|&name| name.to_owned()).collect();
        (
            record.slots,
            record.in_flight,
            record.uptime_ms,
            record.next_beat_ms,
        ) = (8, 3, 61_000, next);
        let mut worker = WorkerRegistration::open(backend, key.to_owned())
            .await
            .unwrap();
        worker.beat(&record).await.unwrap();
    };
    beat("1", "alive-1", &["a", "b"], 60_000).await;
    beat("2", "gone-1", &["a"], 100).await;
    beat("3", "alive-2", &[], 60_000).await;
    beat("4", "<gone>", &["a:b"], 100).await;
    tokio::time::advance(Duration::from_secs(30)).await;
    let page = site.page("/workers").await;
    let shown = cells(&page, 0, 0, 7);
    let states: Vec<_> = shown.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(states, ["gone", "gone", "works", "works"]);
    let alive = shown
        .iter()
        .find(|row| row[1] == "alive-1")
        .expect("it is there");
    assert_eq!(
        alive[2..],
        ["shop alive-1", "a, b", "3 of 8", "61 s", "30 s ago"]
    );
    assert!(
        shown
            .iter()
            .any(|row| row[1] == "<gone>" && row[0] == "gone"),
        "{shown:?}"
    );
    assert!(
        Site::new()
            .page("/workers")
            .await
            .contains("No worker registers")
    );
}

#[tokio::test(start_paused = true)]
async fn groups_show_their_own_state_and_button() {
    let mut site = Site::new();
    let steps = site
        .grouped("steps", &[b"a", b"a", b"a", b"b", b"b", b"c"])
        .await;
    let _ = steps.lease(1.try_into().unwrap(), HOUR).await.unwrap();
    use queue_core::GroupedQueueExt;
    steps.pause_group("b", HOUR).await.unwrap();
    tokio::time::advance(Duration::from_secs(20)).await;
    let find = |page: &str, key: &str| {
        cells(page, 0, 0, 6)
            .into_iter()
            .find(|row| row[0] == key)
            .expect("a group")
    };
    let page = site.page("/queues/steps/groups").await;
    assert_eq!(find(&page, "a")[1..], ["2", "20 s", "1", "", "1 is leased"]);
    assert_eq!(find(&page, "b")[1..5], ["2", "20 s", "0", ""]);
    assert!(find(&page, "b")[5].starts_with("paused for 59 min"));
    assert_eq!(find(&page, "c")[1..], ["1", "20 s", "0", "", "may run"]);
    site.sign_in("").await;
    for path in ["/queues/steps/groups", "/queues/steps"] {
        let page = site.page(path).await;
        let forms: Vec<_> = Form::all(&page)
            .into_iter()
            .filter(|form| form.fields.len() == 2)
            .collect();
        let of = |key: &str| {
            forms
                .iter()
                .find(|form| form.fields[1].1 == key)
                .expect("a form")
                .button
                .as_str()
        };
        assert_eq!(
            [of("61"), of("62"), of("63")],
            ["Pause for an hour", "Resume", "Pause for an hour"]
        );
    }
    // A queue without groups has no table of them.
    site.reliable("orders").await;
    assert!(!site.page("/queues/orders").await.contains("Groups"));
}

#[tokio::test(start_paused = true)]
async fn a_group_whose_places_are_taken_says_so() {
    let site = Site::new();
    let config = queue_core::GroupedConfig::loose(2);
    let steps = site
        .queues
        .grouped("steps")
        .config(config)
        .open::<u64>()
        .await;
    let steps = steps.unwrap();
    for key in ["a", "a", "b", "a", "b"] {
        steps.push(&1, key).await.unwrap();
    }
    let leased = steps.queue().lease(3.try_into().unwrap(), HOUR).await;
    assert_eq!(leased.unwrap().deliveries.len(), 3);
    let page = site.page("/queues/steps/groups").await;
    let mut states: Vec<_> = cells(&page, 0, 0, 6)
        .into_iter()
        .map(|row| (row[3].clone(), row[5].clone()))
        .collect();
    states.sort();
    let expected = [("1", "may run"), ("2", "its places are taken")];
    assert_eq!(
        states,
        expected.map(|(held, state)| (held.to_owned(), state.to_owned()))
    );
}

/// Markup in each text that others write, as a reader who can act sees it, so also in hidden fields.
#[tokio::test(start_paused = true)]
async fn foreign_text_is_never_markup() {
    const EVIL: &str = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'&lt;";
    let site = Site::signed_in().await;
    let queue = site.reliable("orders").await;
    bury(&*queue, EVIL, EVIL).await;
    let headers = Headers::new().with_job(EVIL);
    for _ in 0..3 {
        queue
            .push_one(Push::new(EVIL).with_headers(headers.clone()))
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    let holder = Holder::new("<script>x").ok();
    let leased = queue
        .settle_and_lease(&[], 2.try_into().unwrap(), HOUR, holder)
        .await
        .unwrap();
    let receipt = leased.1.deliveries[0].receipt;
    let _ = queue
        .settle_one(Settlement::retry_because(receipt, HOUR, EVIL))
        .await
        .unwrap();
    site.grouped("steps", &[EVIL.as_bytes(), b"\xff<script>"])
        .await;
    let mut record = WorkerRecord::default();
    (record.holder, record.program, record.queues) = (EVIL.into(), EVIL.into(), vec![EVIL.into()]);
    let list = WorkerRegistration::open(&**site.queues.backend(), EVIL.to_owned()).await;
    list.unwrap().beat(&record).await.unwrap();
    site.post("/queues/orders", &[("action", EVIL), ("group", EVIL)])
        .await;
    site.post(
        "/queues/orders/dead",
        &[("action", "revive"), ("fingerprint", EVIL)],
    )
    .await;
    let answers = [
        site.post("/queues/orders", &[("action", EVIL)]).await.text,
        site.get("/queues/orders/in/%3Cscript%3E").await.text,
        site.get("/queues/%3Cscript%3E").await.text,
    ];
    let mut pages = Vec::from(answers);
    for path in [
        "/",
        "/dead",
        "/workers",
        "/audit",
        "/queues/orders",
        "/queues/orders/dead",
        "/queues/orders/in/ready",
        "/queues/orders/in/leased",
        "/queues/orders/in/delayed",
        "/queues/orders/messages/1",
        "/queues/orders/messages/2",
        "/queues/steps",
        "/queues/steps/groups",
    ] {
        pages.push(site.page(path).await);
    }
    for page in pages {
        assert!(
            !page.contains("<script") && !page.contains("<img"),
            "{page}"
        );
    }
    let ready = cells(&site.page("/queues/orders/in/ready").await, 0, 4, 7);
    assert_eq!(
        ready[0][0],
        EVIL.split_whitespace().collect::<Vec<_>>().join(" ")
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_is_cut_at_a_character_and_shown_as_it_may_be() {
    let whole = "a".repeat(4_096);
    let (cut, split, torn) = (
        "a".repeat(4_097),
        format!("{}ü", "a".repeat(4_095)),
        format!("{}é\u{0301}", "b".repeat(4_094)),
    );
    for (body, shown) in [
        (Bytes::from(whole.clone()), whole.clone()),
        (Bytes::from(cut), format!("{whole}… (4097 bytes in all)")),
        (
            Bytes::from(split),
            format!("{}… (4097 bytes in all)", "a".repeat(4_095)),
        ),
        (
            Bytes::from(torn.clone()),
            format!("{}é… (4098 bytes in all)", "b".repeat(4_094)),
        ),
        (Bytes::from_static(b"\xff\x00\xfe"), "ff00fe".to_owned()),
        (Bytes::new(), String::new()),
    ] {
        let site = Site::new();
        let queue = site.reliable("orders").await;
        queue.push_one(Push::new(body)).await.unwrap().id().unwrap();
        let page = site.page("/queues/orders/in/ready").await;
        assert_eq!(cells(&page, 0, 6, 7)[0][0], shown);
    }
    // The host's function decides for each queue and body.
    let site = Site::with(|web| {
        web.redact(|queue, body| match (queue.as_str(), &body[..]) {
            ("open", _) => Some(body.clone()),
            (_, b"card") => Some(Bytes::from_static(b"****")),
            _ => None,
        })
    });
    for (name, body, shown) in [
        ("open", "card", "card"),
        ("orders", "card", "****"),
        ("secret", "text", "(not shown)"),
    ] {
        let queue = site.reliable(name).await;
        bury(&*queue, body, "it failed").await;
        push(&*queue, body).await;
        let of = async |path: String| site.page(&path).await;
        assert_eq!(
            cells(&of(format!("/queues/{name}/in/ready")).await, 0, 6, 7)[0][0],
            shown
        );
        assert_eq!(
            cells(&of(format!("/queues/{name}/dead")).await, 1, 2, 3)[0][0],
            shown
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_page_names_its_command_and_its_title() {
    let site = Site::new();
    let queue = site.reliable("a:b").await;
    bury(&*queue, "x", "x").await;
    site.grouped("steps", &[b"a"]).await;
    for (path, title, command) in [
        ("/", "Queues", "qk ls"),
        ("/queues", "Queues", "qk ls"),
        ("/dead", "Dead letters", "qk dead groups QUEUE"),
        ("/workers", "Workers", "qk workers"),
        ("/server", "Server", "qk check"),
        ("/audit", "Audit", "qk web"),
        ("/sign-in", "Sign in", "qk web --token-file FILE"),
        ("/queues/a:b", "a:b", "qk why a:b"),
        (
            "/queues/a:b/dead",
            "a:b: dead letters",
            "qk dead groups a:b",
        ),
        ("/queues/a:b/in/ready", "a:b: ready", "qk peek a:b ready"),
        ("/queues/a:b/in/leased", "a:b: leased", "qk peek a:b leased"),
        ("/queues/a:b/messages/1", "a:b: message #1", "qk show a:b 1"),
        ("/queues/steps/groups", "steps: groups", "qk groups steps"),
    ] {
        let page = site.page(path).await;
        assert!(
            page.contains(&format!("<title>{title} – queues</title>")),
            "{path}: {page}"
        );
        assert!(
            page.contains(&format!("<h1>{title}</h1>")),
            "{path}: {page}"
        );
        assert!(
            page.contains(&format!("<code>{command}</code></footer>")),
            "{path}: {page}"
        );
    }
    let page = site.page("/server").await;
    assert!(page.contains("The backend has no server"), "{page}");
}

/// A full queue, of another kind: its findings and its counters are its own.
#[tokio::test(start_paused = true)]
async fn a_queue_shows_its_diagnosis() {
    let queues = Queues::new(MemoryBackend::new());
    let full = queues.bounded("full", 1).open::<u64>().await.unwrap();
    full.push(&1, Overflow::Reject).await.unwrap().id().unwrap();
    let well = queues.reliable("well").open::<u64>().await.unwrap();
    well.queue().counters().await.unwrap();
    let backend: Arc<dyn Backend> = Arc::clone(queues.backend());
    let site = Site::of(
        queues.clone(),
        Web::new(backend).writes(TOKEN).unwrap().router(),
    );
    let page = site.page("/queues/full").await;
    assert!(
        page.contains("class=\"finding ") && !page.contains("class=\"finding well\""),
        "{page}"
    );
    let page = site.page("/queues/well").await;
    assert!(page.contains("class=\"finding well\""), "{page}");
    full.queue().pause().await.unwrap();
    let page = site.page("/queues/full").await;
    assert!(
        page.contains("finding standstill") && page.contains("<code>qk resume full</code>"),
        "{page}"
    );
    let missing = site.page("/queues/missing").await;
    assert!(
        missing.contains("there is no queue `missing`") && !missing.contains("Messages</h2>"),
        "{missing}"
    );
}
