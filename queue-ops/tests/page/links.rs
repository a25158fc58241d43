//! Each link, form and redirect leads to a page of this site, whatever the names are and wherever the page is.

use std::collections::BTreeSet;

use axum::Router;
use queue_core::LeasingExt;
use std::time::Duration;

use crate::site::{Form, HOUR, Site, TOKEN, attributes, bury, push};

/// Names that a relative link would take for something else.
const NAMES: [&str; 11] = [
    "orders",
    "jobs:mail",
    "https:evil.example",
    "http:80",
    "javascript:alert",
    "data:x",
    "a:b:c",
    "sign-in",
    "..a",
    "-rf",
    "_.-:Z9",
];

/// Puts the page into another router.
type Nest = fn(Router) -> Router;

async fn fill(site: &Site) {
    for name in NAMES {
        let queue = site.reliable(name).await;
        bury(&*queue, "dead", "it failed").await;
        push(&*queue, "leased").await;
        queue.receive_one(HOUR, Duration::ZERO).await.unwrap();
        push(&*queue, "ready").await;
    }
    let keys: [&[u8]; 4] = [b"a:b", b"https:evil.example", b"\"><script>", b"\xff\n"];
    site.grouped("groups:of", &keys).await;
}

/// Whether an address leads to this site, below this path.
fn is_own(address: &str, base: &str) -> bool {
    let Some(path) = address
        .strip_prefix(base)
        .and_then(|rest| rest.strip_prefix('/'))
    else {
        return false;
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%/?=&".contains(&byte);
    !path.starts_with('/') && !address.starts_with("//") && path.bytes().all(allowed)
}

/// Reads each page that a link leads to, and presses each button. Returns the number of pages.
async fn crawl(site: &Site, base: &str, start: &str, acts: bool) -> usize {
    let (mut open, mut seen) = (vec![start.to_owned()], BTreeSet::new());
    let mut forms = Vec::new();
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let answer = site.get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        for attribute in ["href", "src", "data-events", "action"] {
            for to in attributes(&answer.text, attribute) {
                assert!(is_own(&to, base), "{path}: {attribute}={to}");
                if attribute == "href" {
                    open.push(to);
                }
            }
        }
        forms.extend(Form::all(&answer.text));
    }
    if !acts {
        // The sign-in alone, if there is one.
        assert!(
            forms.iter().all(|form| form.button == "Sign in"),
            "{forms:?}"
        );
        return seen.len();
    }
    assert!(forms.len() > 3 * NAMES.len(), "{}", forms.len());
    for form in forms {
        let answer = form.press(site).await;
        // An action may come too late, since another one was there before.
        let to = answer.header("location");
        assert!(
            answer.status == 303 && is_own(to, base),
            "{form:?}: {answer:?}"
        );
        let next = site.get(to).await;
        assert_eq!(next.status, 200, "{to}: {next:?}");
    }
    seen.len()
}

#[tokio::test(start_paused = true)]
async fn every_link_form_and_redirect_stays_on_the_site() {
    let mut seen = Vec::new();
    let nested: [(&str, &str, Nest); 5] = [
        ("", "/", |page| page),
        ("/ops", "/ops", |page| Router::new().nest("/ops", page)),
        ("/a/b-c", "/a/b-c", |page| {
            Router::new().nest("/a", Router::new().nest("/b-c", page))
        }),
        ("/svc", "/svc/", |page| {
            Router::new().nest_service("/svc", page)
        }),
        ("/t:1", "/t:1", |page| Router::new().nest("/{tenant}", page)),
    ];
    for (base, start, nest) in nested {
        let mut site = Site::new().behind(nest);
        fill(&site).await;
        // With the page of the sign-in, whose link only strangers have.
        let read = crawl(&site, base, start, false).await;
        site.sign_in(base).await;
        seen.push(crawl(&site, base, start, true).await);
        assert_eq!(read, seen[0] + 1);
    }
    let read_only = Site::with(|web| web);
    fill(&read_only).await;
    assert_eq!(crawl(&read_only, "", "/", false).await, seen[0]);
    // The pages are the same everywhere.
    assert!(
        seen.windows(2).all(|two| two[0] == two[1]) && seen[0] > 8 * NAMES.len(),
        "{seen:?}"
    );
}

/// A proxy takes the path of the public address away.
#[tokio::test(start_paused = true)]
async fn links_begin_with_the_path_of_the_public_address() {
    let site = Site::with(|web| {
        web.writes(TOKEN)
            .unwrap()
            .public_url("https://ops.example/q/x/")
            .unwrap()
    });
    let queue = site.reliable("jobs:mail").await;
    push(&*queue, "body").await;
    for path in [
        "/",
        "/queues/jobs%3Amail",
        "/queues/jobs:mail/in/ready",
        "/queues/none/dead",
    ] {
        let page = site.get(path).await.text;
        for attribute in ["href", "src", "action"] {
            for to in attributes(&page, attribute) {
                assert!(is_own(&to, "/q/x"), "{path}: {to}");
            }
        }
    }
}

/// A page that failed has links and the reader of every other.
#[tokio::test(start_paused = true)]
async fn an_error_is_a_page_of_the_site() {
    let mut site = Site::new().behind(|page| Router::new().nest("/ops", page));
    site.reliable("orders").await;
    site.sign_in("/ops").await;
    for (path, status) in [
        ("/ops/queues/%7Bbad%7D", 400),
        ("/ops/queues/none/dead", 400),
        ("/ops/queues/orders/in/nowhere", 400),
        ("/ops/queues/orders/groups", 400),
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(
            answer.text.contains("role=\"alert\"")
                && answer.text.contains("action=\"/ops/sign-out\""),
            "{answer:?}"
        );
        assert!(
            attributes(&answer.text, "href")
                .iter()
                .all(|to| is_own(to, "/ops")),
            "{answer:?}"
        );
    }
}
