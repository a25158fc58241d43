//! Each page and action in Chromium.

use std::time::Duration;

use queue_core::{Leasing, LeasingExt};
use real_redis::{Aof, Server};
use tokio::time::{Instant, sleep};

use crate::{
    driver::{Browser, Driver},
    site::{Site, TOKEN, token_file},
};

const PAGES: [&str; 15] = [
    "/",
    "/dead",
    "/workers",
    "/schedules",
    "/server",
    "/audit",
    "/sign-in",
    "/queues?search=ord&sort=-ready",
    "/queues?search=none",
    "/queues/orders/dead?reason=article",
    "/queues/orders",
    "/queues/orders/dead",
    "/queues/orders/in/leased",
    "/queues/orders/in/delayed",
    "/queues/orders/messages/1",
];

/// Finds the faults of a page for somebody who cannot see it well: no title or language, headings that skip a level, fields
/// without a label, tables without heads, text of too little contrast (WCAG AA), a page that is wider than the screen.
pub(crate) const FAULTS: &str = r#"
    const faults = [];
    for (const details of document.querySelectorAll('details')) details.open = true;
    for (const picture of document.querySelectorAll('svg:not([aria-hidden])'))
        if (picture.getAttribute('role') !== 'img' || !picture.getAttribute('aria-label')) faults.push('a picture without words: ' + picture.outerHTML.slice(0, 80));
    for (const letter of document.querySelectorAll('svg text'))
        if (letter.getBoundingClientRect().height < 9) faults.push('letters that are too small: ' + letter.outerHTML);
    if (!document.title) faults.push('no title');
    if (!document.documentElement.lang) faults.push('no language');
    if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
    if (!document.querySelector('main')) faults.push('no main');
    for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
        if (!field.labels || !field.labels.length) faults.push('a field without a label: ' + field.outerHTML);
    for (const control of document.querySelectorAll('a, button'))
        if (!control.textContent.trim()) faults.push('no text: ' + control.outerHTML);
    for (const head of document.querySelectorAll('th'))
        if (!head.hasAttribute('scope')) faults.push('a head without scope: ' + head.outerHTML);
    if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
        faults.push('wider than the screen: ' + document.documentElement.scrollWidth);
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgb = (color, under) => {
        canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = ([r, g, b]) => {
        const part = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const paper = dark ? '#121212' : '#ffffff';
    for (const element of document.querySelectorAll('body *')) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        if (!own) continue;
        const style = getComputedStyle(element);
        const under = element => element ? rgb(getComputedStyle(element).backgroundColor, `rgb(${under(element.parentElement)})`)
            : rgb(paper, paper);
        const back = under(element);
        const front = rgb(style.color, `rgb(${back})`);
        const [high, low] = [light(back), light(front)].sort((a, b) => b - a);
        const contrast = (high + 0.05) / (low + 0.05);
        if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${element.outerHTML.slice(0, 80)}`);
    }
    return faults;
"#;

pub(crate) fn open(browser: &Browser, site: &Site, path: &str) {
    browser.goto(&format!("{}{path}", site.url));
}

/// Opens a page with its stylesheet, which a browser on a starved machine may give up.
pub(crate) fn open_with_style(browser: &Browser, site: &Site, path: &str) {
    let is_styled = "return Boolean(document.querySelector('link[rel=stylesheet]')?.sheet)";
    for _ in 0..5 {
        open(browser, site, path);
        if browser.ask(is_styled) == true {
            return;
        }
    }
    panic!("{path} has no stylesheet");
}

/// The text of the page; nothing while the next page replaces it.
fn text(browser: &Browser) -> String {
    let body = browser.find("body");
    body.and_then(|body| body.text()).unwrap_or_default()
}

/// Whether the page has a form that changes something.
fn acts(browser: &Browser) -> bool {
    browser.find("form[method=post]").is_ok()
}

/// Waits until the page has this text.
pub(crate) async fn until(browser: &Browser, expected: &str) {
    let begun = Instant::now();
    loop {
        let page = text(browser);
        if page.contains(expected) {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "no '{expected}': {page}"
        );
        sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the page has this element, and clicks it. A page that is read again meanwhile has another one in its
/// place, and then the click did nothing.
async fn click(browser: &Browser, selector: &str) {
    let begun = Instant::now();
    loop {
        let clicked = browser.find(selector).and_then(|found| found.click());
        match clicked {
            Ok(()) => return,
            Err(error) => assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{selector}: {error}"
            ),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Presses the button with this text.
pub(crate) async fn press(browser: &Browser, button: &str) {
    click(browser, &format!("//button[normalize-space()='{button}']")).await;
}

/// Types the token into the form of the sign-in.
async fn type_token(browser: &Browser, site: &Site, token: &str) {
    open(browser, site, "/sign-in");
    browser.find("#token").expect("a field").type_in(token);
    press(browser, "Sign in").await;
}

pub(crate) async fn sign_in(browser: &Browser, site: &Site) {
    type_token(browser, site, TOKEN).await;
    until(browser, "Sign out").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_page_can_be_read_on_a_desk_and_on_a_phone() {
    let (site, driver) = (Site::with_actions().await, Driver::start());
    site.orders().await;
    for (width, scheme) in [(1200, "dark"), (1200, "light"), (360, "light")] {
        let browser = driver.browser_with(width, true, scheme);
        let prefers = format!("return matchMedia('(prefers-color-scheme: {scheme})').matches");
        assert_eq!(browser.ask(&prefers), true, "{scheme}");
        for signed_in in [false, true] {
            if signed_in {
                sign_in(&browser, &site).await;
            }
            for path in PAGES {
                open_with_style(&browser, &site, path);
                let faults = browser.ask(FAULTS);
                assert_eq!(
                    faults.as_array().map(Vec::len),
                    Some(0),
                    "{path} at {width}, {scheme}: {faults:#}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_action_works_without_script() {
    let (site, driver) = (Site::with_actions().await, Driver::start());
    site.orders().await;
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let queue = orders.queue();
    let browser = driver.browser(1200, false);

    open(&browser, &site, "/");
    click(&browser, "//a[.='orders']").await;
    until(&browser, "#2 failed 1 ×: '402: card declined'").await;
    until(&browser, "qk why orders").await;
    assert!(!acts(&browser), "nobody is signed in");

    sign_in(&browser, &site).await;
    open(&browser, &site, "/queues/orders");
    press(&browser, "Stop handing out messages").await;
    until(&browser, "paused; 3 ready wait").await;
    assert!(queue.counters().await.unwrap().paused);
    press(&browser, "Hand out messages again").await;
    until(&browser, "Stop handing out messages").await;
    assert!(!queue.counters().await.unwrap().paused);

    open(&browser, &site, "/queues/orders/in/leased");
    until(&browser, "leased by web-1").await;
    press(&browser, "Release").await;
    until(&browser, "message #1").await;
    assert_eq!(queue.depth().await.unwrap().leased, 0);

    open(&browser, &site, "/queues/orders/messages/2");
    press(&browser, "Cancel it").await;
    until(&browser, "gone").await;

    // Both died of one cause.
    open(&browser, &site, "/queues/orders/dead");
    browser
        .find("#reason")
        .expect("a field")
        .type_in("no article");
    press(&browser, "Count them").await;
    until(&browser, "2 of 2 dead letters match").await;
    assert_eq!(queue.depth().await.unwrap().dead, 2);
    press(&browser, "Revive these 2").await;
    let begun = Instant::now();
    while queue.depth().await.unwrap().dead > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "none is revived");
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(queue.depth().await.unwrap().ready, 6);

    let delivery = queue
        .receive_one(
            std::time::Duration::from_secs(60),
            std::time::Duration::ZERO,
        )
        .await
        .unwrap();
    let buried = queue_core::Settlement::bury(delivery.unwrap().receipt, "again");
    let id = buried.receipt.id;
    assert_eq!(
        queue.settle_one(buried).await.unwrap(),
        queue_core::Settled::Dead
    );
    open(&browser, &site, &format!("/queues/orders/messages/{id}"));
    press(&browser, "Discard it").await;
    until(&browser, "gone").await;
    assert_eq!(queue.depth().await.unwrap().dead, 0);

    open(&browser, &site, "/queues/orders");
    click(&browser, "//summary[.='Add a message']").await;
    browser
        .find("#add-body")
        .expect("a field")
        .type_in("{\"order\":8}");
    browser
        .find("#add-job")
        .expect("a field")
        .type_in("cancel-unpaid");
    press(&browser, "Add it").await;
    until(&browser, "message #8").await;

    open(&browser, &site, "/audit");
    for action in [
        "push orders",
        "pause orders",
        "resume orders",
        "release orders #1",
        "cancel orders #2",
        "revive orders",
        "discard orders",
    ] {
        until(&browser, action).await;
    }

    press(&browser, "Sign out").await;
    until(&browser, "Sign in").await;
    open(&browser, &site, "/queues/orders");
    until(&browser, "qk why orders").await;
    assert!(!acts(&browser), "nobody is signed in");
}

/// Names that are no relative links.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_with_colons_are_clicked_through() {
    let (site, driver) = (Site::with_actions().await, Driver::start());
    let browser = driver.browser(1200, false);
    sign_in(&browser, &site).await;
    for name in ["jobs:mail", "https:evil.example"] {
        let queue = site.queues.reliable(name).open::<u64>().await.unwrap();
        queue.push(&1).await.unwrap();
        open(&browser, &site, "/");
        click(&browser, &format!("//a[.='{name}']")).await;
        until(&browser, &format!("qk why {name}")).await;
        press(&browser, "Stop handing out messages").await;
        until(&browser, "Hand out messages again").await;
        assert!(queue.queue().counters().await.unwrap().paused);
        click(&browser, "//a[.='ready']").await;
        until(&browser, &format!("qk peek {name} ready")).await;
        click(&browser, "//a[.='#1']").await;
        press(&browser, "Cancel it").await;
        until(&browser, "gone").await;
        assert_eq!(queue.queue().depth().await.unwrap().ready, 0);
        let at = browser.ask("return location.host");
        assert_eq!(at, site.host(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_are_shown_and_paused() {
    let (site, driver) = (Site::with_actions().await, Driver::start());
    site.orders().await;
    let steps = site.queues.grouped("steps").open::<u64>().await.unwrap();
    for order in 1..=3 {
        steps.push(&order, "busy").await.unwrap();
    }
    steps.push(&4, "a <b> & c").await.unwrap();
    steps.push(&5, b"\xff\0").await.unwrap();
    let browser = driver.browser(360, true);
    sign_in(&browser, &site).await;
    open(&browser, &site, "/queues/steps");
    until(&browser, "a <b> & c").await;
    click(&browser, "//tr[contains(., 'busy')]//button").await;
    until(&browser, "paused for").await;
    let faults = browser.ask(FAULTS);
    assert_eq!(faults.as_array().map(Vec::len), Some(0), "{faults:#}");
    let groups = steps
        .queue()
        .groups(queue_core::Page::first(10))
        .await
        .unwrap();
    let busy = groups
        .entries
        .iter()
        .find(|group| group.key == "busy")
        .unwrap();
    assert!(busy.paused.is_some() && !busy.may_run);

    open(&browser, &site, "/queues/steps/groups");
    until(&browser, "\\xff\\x00").await;
    press(&browser, "Resume").await;
    let begun = Instant::now();
    let paused = async || {
        let page = queue_core::Page::first(10);
        let groups = steps.queue().groups(page).await.unwrap().entries;
        groups.iter().any(|group| group.paused.is_some())
    };
    while paused().await {
        assert!(begun.elapsed() < Duration::from_secs(60), "it stays paused");
        sleep(Duration::from_millis(20)).await;
    }
    open(&browser, &site, "/audit");
    for action in ["pause steps 'busy'", "resume steps 'busy'"] {
        until(&browser, action).await;
    }

    let (_, listed) = site.get("/api/queues/steps/groups");
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["groups"][0]["ready"], 1, "{listed}");
    let (_, metrics) = site.get("/metrics");
    for line in [
        "queue_kit_groups{queue=\"steps\"} 3",
        "queue_kit_busiest_group_share{queue=\"steps\"} 0.6",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_token_and_another_origin_do_nothing() {
    let (site, driver) = (Site::with_actions().await, Driver::start());
    site.orders().await;
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let browser = driver.browser(1200, true);
    type_token(&browser, &site, "wrong").await;
    until(&browser, "that is not the token").await;

    sign_in(&browser, &site).await;
    // A page of another origin, with a form that leads here.
    let form = format!(
        "data:text/html,<form method=post action={}/queues/orders><input name=action value=pause><button>Win</button></form>",
        site.url
    );
    browser.goto(&form);
    press(&browser, "Win").await;
    until(&browser, "another origin").await;
    assert!(!orders.queue().counters().await.unwrap().paused);
}

/// A page that is open shows what happens, without a reload by hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_page_follows_the_queue() {
    let (site, driver) = (Site::start(&["--every-ms", "200"]).await, Driver::start());
    site.orders().await;
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let browser = driver.browser(1200, true);
    open(&browser, &site, "/queues/orders");
    until(&browser, "Rates").await;
    let faults = browser.ask(FAULTS);
    assert_eq!(faults.as_array().map(Vec::len), Some(0), "{faults:#}");
    orders.queue().pause().await.unwrap();
    until(&browser, "paused; 3 ready wait").await;
    open(&browser, &site, "/");
    orders.queue().resume().await.unwrap();
    until(&browser, "stands still for").await;
    let shown = browser.ask("return performance.getEntriesByType('navigation').length");
    assert_eq!(shown, 1, "the page was loaded once");
}

/// Writes the pictures of docs/operations.md again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it writes into docs/screens; run it after a change of the pages"]
async fn screenshots() {
    // A server that keeps what it has, as in production.
    let server = Server::builder()
        .with_aof(Aof::EverySecond)
        .start()
        .unwrap();
    let token = token_file(TOKEN).display().to_string();
    let site = Site::on(server, &["--token-file", &token, "--every-ms", "100"]).await;
    let driver = Driver::start();
    site.orders().await;
    for (queue, orders) in [("mails", 3_u64), ("exports", 0)] {
        let queue = site.queues.priority(queue).open::<u64>().await.unwrap();
        for order in 0..orders {
            queue.push(&order, 0).await.unwrap();
        }
    }
    let mails = site.queues.priority("mails").open::<u64>().await.unwrap();
    let work = tokio::spawn(async move {
        let wave = |tick: u64| 6 + (f64::from(tick as u32) / 8.0).sin().mul_add(5.0, 0.0) as u64;
        for tick in 0.. {
            let batch: Vec<(u64, i16)> = (0..wave(tick)).map(|number| (number, 0)).collect();
            mails.push_all(&batch).await.unwrap();
            let minute = Duration::from_secs(60);
            for delivery in mails
                .receive_batch(8, minute, Duration::ZERO)
                .await
                .unwrap()
            {
                delivery.ack().await.unwrap();
            }
            sleep(Duration::from_millis(50)).await;
        }
    });
    crate::jobs::write_an_hour(&site.queues, "mails").await;
    // The page reads times each half minute.
    sleep(Duration::from_secs(35)).await;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/screens");
    std::fs::create_dir_all(&folder).unwrap();
    let shots = [
        (1000, "queues", "/"),
        (1000, "queue", "/queues/orders"),
        (1000, "rates", "/queues/mails"),
        (1000, "leased", "/queues/orders/in/leased"),
        (1000, "dead", "/queues/orders/dead?reason=article"),
        (1000, "jobs", "/queues/mails#jobs"),
        (360, "phone", "/queues/mails#jobs"),
    ];
    for width in [1000, 360] {
        let browser = driver.browser(width, true);
        sign_in(&browser, &site).await;
        for (_, name, path) in shots.iter().filter(|(own, ..)| *own == width) {
            open_with_style(&browser, &site, path);
            let picture = browser.screenshot();
            std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
        }
    }
    work.abort();
}
