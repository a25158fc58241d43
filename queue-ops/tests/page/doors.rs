//! The doors of the page: hosts, origins, tokens, sessions.

use axum::{Router, http::StatusCode};
use queue_core::Leasing;
use queue_memory::MemoryBackend;
use queue_ops::web::Web;
use std::{sync::Arc, time::Duration};

use crate::site::{Answer, Site, TOKEN, push};

#[test]
fn a_weak_token_is_refused_by_the_library() {
    for weak in [
        "",
        " ",
        "short",
        "0123456789 abcdef",
        "aaaaaaaaaaaaaaaaaaaa",
        "0123456789abcdef\n",
    ] {
        let error = Web::new(Arc::new(MemoryBackend::new()))
            .writes(weak)
            .unwrap_err();
        assert!(
            error.to_string().contains("openssl rand -hex 16"),
            "{error}"
        );
    }
}

/// Pauses the queue `orders` with these headers. Returns the status, and whether the queue is paused.
async fn pause(site: &Site, headers: &[(&str, &str)]) -> (StatusCode, bool) {
    let orders = site.reliable("orders").await;
    let form = ("content-type", "application/x-www-form-urlencoded");
    let headers = [&[form], headers].concat();
    let answer = site
        .ask("POST", "/queues/orders", &headers, "action=pause")
        .await;
    let paused = orders.counters().await.unwrap().paused;
    orders.resume().await.unwrap();
    (answer.status, paused)
}

#[tokio::test(start_paused = true)]
async fn an_action_needs_a_session_or_the_token() {
    let site = Site::signed_in().await;
    let session = site.cookie().split_once('=').unwrap().1.to_owned();
    assert!(session.len() >= 32 && !session.contains(TOKEN), "{session}");
    let named = |value: &str| format!("qk-session={value}");
    let cookies = [
        (named(&session), true),
        (format!("a=b; {}; c=d", named(&session)), true),
        (format!("a=b;{}", named(&session)), true),
        // Another page of the host has a cookie of the same name.
        (format!("{}; {}", named("x"), named(&session)), true),
        (format!("{}; {}", named(&session), named("x")), true),
        (named(""), false),
        ("qk-session".to_owned(), false),
        (named(TOKEN), false),
        (format!("qk-token={TOKEN}"), false),
        ("qk-token=".to_owned(), false),
        (format!("xqk-session={session}"), false),
        (format!("qk-session-x={session}"), false),
        (format!("QK-SESSION={session}"), false),
        (named(&session[1..]), false),
        (named(&session[..session.len() - 1]), false),
        (named(&format!("{session}0")), false),
        (named(&session.to_uppercase()), false),
    ];
    for (cookie, acts) in &cookies {
        let expected = if *acts {
            (StatusCode::SEE_OTHER, true)
        } else {
            (StatusCode::UNAUTHORIZED, false)
        };
        assert_eq!(
            pause(&site, &[("cookie", cookie)]).await,
            expected,
            "{cookie}"
        );
    }
    for (value, acts) in [
        (format!("Bearer {TOKEN}"), true),
        (format!("bearer {TOKEN}"), true),
        (TOKEN.to_owned(), false),
        (format!("Basic {TOKEN}"), false),
        (format!("Bearer {session}"), false),
        ("Bearer ".to_owned(), false),
        ("Bearer".to_owned(), false),
        (format!("Bearer {TOKEN}0"), false),
        (format!("Bearer {}", &TOKEN[1..]), false),
        (format!("Bearer  {TOKEN}"), false),
    ] {
        let from = site.from("127.0.0.1:5000");
        let (status, paused) = pause(&from, &[("authorization", &value)]).await;
        assert_eq!((status == 303, paused), (acts, acts), "{value}: {status}");
        tokio::time::advance(Duration::from_secs(600)).await;
    }
    assert_eq!(pause(&site, &[]).await, (StatusCode::UNAUTHORIZED, false));
}

/// All actions of the page, by their routes.
const ACTIONS: [(&str, &str, &str); 10] = [
    (
        "/queues/orders",
        "application/x-www-form-urlencoded",
        "action=pause",
    ),
    (
        "/queues/orders/dead",
        "application/x-www-form-urlencoded",
        "action=discard&fingerprint=x",
    ),
    (
        "/queues/orders/groups",
        "application/x-www-form-urlencoded",
        "action=pause&group=x",
    ),
    (
        "/queues/orders/messages/1",
        "application/x-www-form-urlencoded",
        "action=cancel",
    ),
    (
        "/queues/orders/messages",
        "application/x-www-form-urlencoded",
        "body=x",
    ),
    (
        "/queues/orders/dead",
        "application/x-www-form-urlencoded",
        "action=discard&reason=failed",
    ),
    (
        "/workers",
        "application/x-www-form-urlencoded",
        "action=drain&worker=x",
    ),
    (
        "/queues/sign-in",
        "application/x-www-form-urlencoded",
        "action=pause",
    ),
    (
        "/api/queues/orders/actions",
        "application/json",
        r#"{"action":"pause"}"#,
    ),
    #[cfg(feature = "schedules")]
    (
        "/schedules",
        "application/x-www-form-urlencoded",
        "action=run&name=x",
    ),
    #[cfg(not(feature = "schedules"))]
    (
        "/queues/orders",
        "application/x-www-form-urlencoded",
        "action=resume",
    ),
];

#[tokio::test(start_paused = true)]
async fn each_route_of_an_action_asks_for_the_right_and_writes_nothing_down_otherwise() {
    for (writes, expected) in [(false, 403), (true, 401)] {
        let site = Site::with(|web| {
            if writes {
                web.writes(TOKEN).unwrap()
            } else {
                web
            }
        });
        site.reliable("sign-in").await;
        let orders = site.reliable("orders").await;
        let id = push(&*orders, "body").await;
        for (path, kind, body) in ACTIONS {
            let answer = site
                .ask("POST", path, &[("content-type", kind)], body)
                .await;
            assert_eq!(answer.status, expected, "{path}: {answer:?}");
        }
        let signed_in = site.post("/sign-in", &[("token", TOKEN)]).await;
        assert_eq!(signed_in.status, if writes { 303 } else { 403 });
        assert_eq!(signed_in.cookie().is_some(), writes);
        assert_eq!(id.get(), 1);
        let counters = orders.counters().await.unwrap();
        assert!(!counters.paused && counters.depth.ready == 1);
        assert_eq!(
            crate::site::rows(&site.page("/audit").await),
            Vec::<Vec<String>>::new()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_form_comes_from_the_page_itself() {
    let site = Site::signed_in().await;
    let cookie = ("cookie", site.cookie());
    for (host, origin, taken) in [
        ("localhost", None, true),
        ("localhost", Some("http://localhost"), true),
        ("localhost", Some("https://localhost"), true),
        ("LocalHost:7700", Some("http://localhost:7700"), true),
        ("localhost:7700", Some("http://localhost:7700"), true),
        ("[::1]:7700", Some("http://[::1]:7700"), true),
        ("localhost:7700", Some("http://localhost"), false),
        ("localhost:7700", Some("http://localhost:77000"), false),
        ("localhost:7700", Some("http://localhost:770"), false),
        (
            "localhost:7700",
            Some("http://localhost:7700.evil.example"),
            false,
        ),
        ("localhost", Some("http://localhost.evil.example"), false),
        ("localhost", Some("http://localhost@evil.example"), false),
        ("localhost", Some("http://evil.example/localhost"), false),
        ("localhost", Some("http://evil-localhost"), false),
        ("localhost", Some("http://xlocalhost"), false),
        ("localhost", Some("http://127.0.0.1"), false),
        ("localhost", Some("http://evil.example"), false),
        ("localhost", Some("chrome-extension://localhost"), false),
        ("localhost", Some("localhost"), false),
        ("localhost", Some("null"), false),
        ("localhost", Some(""), false),
    ] {
        let mut headers = vec![cookie, ("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let expected = if taken {
            (StatusCode::SEE_OTHER, true)
        } else {
            (StatusCode::FORBIDDEN, false)
        };
        assert_eq!(pause(&site, &headers).await, expected, "{host} {origin:?}");
    }
    let two = [
        cookie,
        ("origin", "http://localhost"),
        ("origin", "http://evil.example"),
    ];
    assert_eq!(pause(&site, &two).await.0, 403);
    // The sign-in is a form, too.
    let evil = [
        ("origin", "http://evil.example"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    for path in ["/sign-in", "/sign-out"] {
        let answer = site
            .ask("POST", path, &evil, &format!("token={TOKEN}"))
            .await;
        assert_eq!((answer.status.as_u16(), answer.cookie()), (403, None));
    }
}

#[tokio::test(start_paused = true)]
async fn only_listed_hosts_are_served_and_without_a_list_this_machine() {
    let listed =
        || Site::with(|web| web.hosts(["ops.example".to_owned(), "10.0.0.7:7700".to_owned()]));
    let public = || Site::with(|web| web.public_url("https://pub.example/x").unwrap());
    let both = || {
        Site::with(|web| {
            web.public_url("https://pub.example")
                .unwrap()
                .hosts(["ops.example".to_owned()])
        })
    };
    for (host, none, list, url, two) in [
        ("localhost", true, false, true, false),
        ("127.0.0.1:7700", true, false, true, false),
        ("ops.example", false, true, false, true),
        ("ops.example:7700", false, true, false, true),
        ("10.0.0.7:7700", false, true, false, false),
        ("10.0.0.7:7701", false, false, false, false),
        ("pub.example", false, false, true, true),
        ("pub.example:8443", false, false, false, false),
        ("evil.example", false, false, false, false),
        ("localhost.evil.example", false, false, false, false),
        ("ops.example.evil.example", false, false, false, false),
        ("", false, false, false, false),
    ] {
        for (site, served) in [
            (Site::new(), none),
            (listed(), list),
            (public(), url),
            (both(), two),
        ] {
            for path in [
                "/",
                "/api/queues",
                "/metrics",
                "/healthz",
                "/readyz",
                "/style.css",
                "/nowhere",
            ] {
                let answer = site.ask("GET", path, &[("host", host)], "").await;
                let found = if path == "/nowhere" { 404 } else { 200 };
                assert_eq!(
                    answer.status,
                    if served { found } else { 421 },
                    "{host} {path}: {answer:?}"
                );
            }
        }
    }
    let twice = [("host", "localhost"), ("host", "localhost")];
    assert_eq!(Site::new().ask("GET", "/", &twice, "").await.status, 421);
}

/// The attributes of the cookie that a sign-in sets.
async fn set_cookie(site: &Site, path: &str) -> (String, Vec<String>) {
    let answer = site.post(path, &[("token", TOKEN)]).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let mut parts = answer.header("set-cookie").split("; ").map(str::to_owned);
    (parts.next().expect("a cookie"), parts.collect())
}

#[tokio::test(start_paused = true)]
async fn the_cookie_is_kept_from_scripts_other_sites_and_other_paths() {
    let nested = |site: Site| site.behind(|page| Router::new().nest("/ops/q", page));
    let public = |url| Site::with(|web| web.writes(TOKEN).unwrap().public_url(url).unwrap());
    for (site, at, path, secure) in [
        (Site::new(), "/sign-in", "/", false),
        (nested(Site::new()), "/ops/q/sign-in", "/ops/q", false),
        (public("https://localhost"), "/sign-in", "/", true),
        (public("https://pub.example/x/"), "/sign-in", "/x", true),
        (public("http://pub.example/x"), "/sign-in", "/x", false),
    ] {
        // The public page's forms come from there.
        let site = match path {
            "/x" => {
                let scheme = if secure { "https" } else { "http" };
                let origin = format!("{scheme}://pub.example");
                let headers = [
                    ("origin", &*origin),
                    ("content-type", "application/x-www-form-urlencoded"),
                ];
                let answer = site
                    .ask("POST", at, &headers, &format!("token={TOKEN}"))
                    .await;
                assert_eq!(answer.header("location"), "/x/queues");
                check(&answer, path, secure);
                continue;
            }
            _ => site,
        };
        if secure {
            // Over plain HTTP, a form of that page may be anybody's.
            assert_eq!(site.post(at, &[("token", TOKEN)]).await.status, 403);
            continue;
        }
        let (_, attributes) = set_cookie(&site, at).await;
        assert_eq!(
            attributes,
            [
                &format!("Path={path}"),
                "Max-Age=43200",
                "HttpOnly",
                "SameSite=Strict"
            ]
        );
    }
}

fn check(answer: &Answer, path: &str, secure: bool) {
    let set = answer.header("set-cookie");
    let mut expected = format!("; Path={path}; Max-Age=43200; HttpOnly; SameSite=Strict");
    if secure {
        expected.push_str("; Secure");
    }
    assert_eq!(
        set.find(';').map(|at| &set[at..]),
        Some(&*expected),
        "{set}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_after_twelve_hours_and_by_signing_out() {
    let mut site = Site::signed_in().await;
    let first = site.cookie().to_owned();
    site.sign_in("").await;
    let second = site.cookie().to_owned();
    assert_ne!(first, second);
    let acts = async |cookie: &str| pause(&site, &[("cookie", cookie)]).await.1;
    assert!(acts(&first).await && acts(&second).await);

    let out = site
        .ask("POST", "/sign-out", &[("cookie", &first)], "")
        .await;
    assert_eq!(
        (out.status.as_u16(), out.header("location")),
        (303, "/queues")
    );
    let set = out.header("set-cookie");
    assert!(
        set.starts_with("qk-session=;") && set.contains("Path=/; Max-Age=0;"),
        "{set}"
    );
    assert!(!acts(&first).await, "the name is worth nothing any more");
    assert!(acts(&second).await, "the other one goes on");
    // A link signs nobody out.
    assert_eq!(site.get("/sign-out").await.status, 405);

    tokio::time::advance(Duration::from_secs(12 * 3_600 - 1)).await;
    assert!(acts(&second).await);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!acts(&second).await, "it is over, though it was in use");
}

#[tokio::test(start_paused = true)]
async fn the_page_offers_what_its_reader_can_do() {
    let mut site = Site::new();
    let orders = site.reliable("orders").await;
    push(&*orders, "body").await;
    for path in ["/", "/queues/orders", "/sign-in", "/audit", "/queues/none"] {
        let read_only = Site::with(|web| web)
            .page(if path == "/queues/orders" { "/" } else { path })
            .await;
        assert!(
            !read_only.contains("Sign out") && !read_only.contains("href=\"/sign-in\""),
            "{path}"
        );
        let stranger = site.page(path).await;
        assert!(
            stranger.contains("href=\"/sign-in\"") && !stranger.contains("Sign out"),
            "{path}"
        );
    }
    assert!(!site.page("/queues/orders").await.contains("<form"));
    site.sign_in("").await;
    for path in ["/", "/queues/orders", "/sign-in", "/audit", "/queues/none"] {
        let operator = site.page(path).await;
        assert!(
            !operator.contains("href=\"/sign-in\"") && operator.contains("action=\"/sign-out\""),
            "{path}"
        );
    }
    assert!(
        site.page("/queues/orders")
            .await
            .contains("value=\"pause\"")
    );
}

#[tokio::test(start_paused = true)]
async fn wrong_tokens_slow_down_their_address_alone() {
    let site = Site::new();
    let (thief, operator) = (site.from("192.0.2.1:1000"), site.from("192.0.2.2:1000"));
    let status = async |site: &Site, token: &str| {
        site.post("/sign-in", &[("token", token)])
            .await
            .status
            .as_u16()
    };
    for _ in 0..3 {
        assert_eq!(status(&thief, "wrong").await, 401);
    }
    let waits = thief.post("/sign-in", &[("token", TOKEN)]).await;
    assert_eq!(
        (waits.status.as_u16(), waits.cookie()),
        (429, None),
        "the token is not looked at"
    );
    let seconds: u64 = waits.header("retry-after").parse().unwrap();
    assert!((1..=9).contains(&seconds), "{seconds}");
    // Neither another port nor another name of the header helps.
    assert_eq!(status(&site.from("192.0.2.1:2000"), TOKEN).await, 429);
    let claimed = [
        ("x-forwarded-for", "192.0.2.3"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let answer = thief
        .ask("POST", "/sign-in", &claimed, &format!("token={TOKEN}"))
        .await;
    assert_eq!(answer.status, 429);
    // A program at this address goes on, others sign in meanwhile.
    assert_eq!(
        thief.api("orders", "{}").await.status,
        422,
        "the token is right"
    );
    assert_eq!(status(&operator, TOKEN).await, 303);
    assert_eq!(site.api("orders", "{}").await.status, 422);
    tokio::time::advance(Duration::from_secs(seconds)).await;
    assert_eq!(
        status(&thief, TOKEN).await,
        303,
        "nobody is locked out for long"
    );

    // The header is a way to try tokens, too.
    let headers = |token: &str| {
        [
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/json".into()),
        ]
    };
    let mut last = StatusCode::OK;
    for _ in 0..5 {
        let [one, two] = headers("0123456789abcdef9999");
        let sent = [(one.0, &*one.1), (two.0, &*two.1)];
        last = thief
            .ask(
                "POST",
                "/api/queues/orders/actions",
                &sent,
                "{\"action\":\"pause\"}",
            )
            .await
            .status;
    }
    assert_eq!(last, 429);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_token_is_said_and_the_form_is_offered_again() {
    let site = Site::new();
    let answer = site
        .post("/sign-in", &[("token", "0123456789abcdef9999")])
        .await;
    assert_eq!(answer.status, 401);
    assert!(
        answer.text.contains("that is not the token") && answer.text.contains("href=\"/sign-in\""),
        "{answer:?}"
    );
    assert_eq!(answer.cookie(), None);
    // A token that was pasted with its line break is right.
    assert_eq!(
        site.post("/sign-in", &[("token", &format!(" {TOKEN}\n"))])
            .await
            .status,
        303
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_is_bounded_in_size_and_time() {
    let site = Site::signed_in().await;
    let long = "x".repeat(70_000);
    let answer = site.post("/queues/orders", &[("action", &long)]).await;
    assert_eq!(answer.status, 413);
    let slow = axum::body::Body::from_stream(futures_util::stream::pending::<
        Result<queue_core::Bytes, std::io::Error>,
    >());
    let request = axum::http::Request::post("/sign-in")
        .header("host", "localhost")
        .body(slow)
        .unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(site.send(request).await.status, 408);
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn each_response_forbids_scripts_frames_and_caches() {
    let site = Site::signed_in().await;
    for path in [
        "/",
        "/nowhere",
        "/api/queues",
        "/queues/none",
        "/queues/none/dead",
        "/style.css",
        "/metrics",
        "/healthz",
    ] {
        for host in ["localhost", "evil.example"] {
            let answer = site.ask("GET", path, &[("host", host)], "").await;
            let policy = answer.header("content-security-policy");
            for rule in [
                "default-src 'none'",
                "style-src 'self'",
                "script-src 'self'",
                "connect-src 'self'",
                "form-action 'self'",
                "frame-ancestors 'none'",
                "base-uri 'none'",
            ] {
                assert!(
                    policy.split("; ").any(|one| one == rule),
                    "{path}: {rule}: {policy}"
                );
            }
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("referrer-policy"), "same-origin");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_follows_the_samples_for_ten_minutes_at_most() {
    let site = Site::with(|web| web.sample_every(Duration::from_secs(7)));
    let begun = tokio::time::Instant::now();
    let answer = site.get("/events").await;
    assert_eq!(begun.elapsed(), Duration::from_secs(600));
    let events = answer.text.matches("data: ").count();
    assert!((80..=86).contains(&events), "{events}");
    assert_eq!(
        Site::new().get("/events").await.status,
        404,
        "nothing is sampled"
    );
}
