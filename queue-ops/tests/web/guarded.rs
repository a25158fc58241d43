//! The rights to read and to act.

use std::{
    io::{Read, Write},
    time::Duration,
};

use serde_json::json;
use ureq::http::StatusCode;

use crate::site::{Site, TOKEN, token_file};

fn status(result: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> StatusCode {
    result.expect("an answer").status()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_token_the_page_is_read_only() {
    let site = Site::start(&[]).await;
    site.orders().await;
    assert_eq!(site.get("/queues/orders").0, 200);
    let pause = format!("{}/queues/orders", site.url);
    assert_eq!(
        status(site.agent.post(&pause).send_form([("action", "pause")])),
        403
    );
    // Nor by a token that somebody made up.
    let bearer = site
        .agent
        .post(&pause)
        .header("authorization", format!("Bearer {TOKEN}"));
    assert_eq!(status(bearer.send_form([("action", "pause")])), 403);
    assert!(
        !site.get("/queues/orders").1.contains("<form"),
        "no form that cannot work"
    );
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    assert!(!orders.queue().counters().await.unwrap().paused);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_needs_the_token_and_the_same_origin() {
    let site = Site::with_actions().await;
    site.orders().await;
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let paused = async || orders.queue().counters().await.unwrap().paused;
    let pause = |headers: &[(&str, String)]| {
        let mut request = site.agent.post(format!("{}/queues/orders", site.url));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        status(request.send_form([("action", "pause")]))
    };
    // Signing in makes a session. Neither the token nor another name of a session is one.
    let sign_in = site.agent.post(format!("{}/sign-in", site.url));
    let signed_in = sign_in.send_form([("token", TOKEN)]).unwrap();
    assert_eq!(signed_in.status(), 303);
    let set = signed_in.headers()["set-cookie"].to_str().unwrap();
    let session = set.split(';').next().unwrap().split_once('=').unwrap().1;
    assert!(!set.contains(TOKEN), "{set}");
    let cookie = |session: &str| ("cookie", format!("a=b; qk-session={session}; c=d"));
    assert_eq!(pause(&[]), 401);
    for none in [TOKEN, "", &session[1..], &format!("{session}0")] {
        assert_eq!(pause(&[cookie(none)]), 401);
    }
    // Another site makes a browser send a form; the browser says from where.
    let evil = ("origin", "http://evil.example".to_owned());
    assert_eq!(pause(&[cookie(session), evil]), 403);
    // Another name that leads to this address.
    let rebound = ("host", "evil.example".to_owned());
    assert_eq!(pause(&[cookie(session), rebound.clone()]), 421);
    let read = site
        .agent
        .get(&site.url)
        .header(rebound.0, rebound.1)
        .call();
    assert_eq!(status(read), 421);
    assert!(!paused().await);
    // An action is no link.
    assert_eq!(site.get("/queues/orders?action=pause").0, 200);
    assert!(!paused().await);

    let origin = ("origin", site.url.clone());
    assert_eq!(pause(&[cookie(session), origin]), 303);
    assert!(paused().await);
    let resume = site
        .agent
        .post(format!("{}/api/queues/orders/actions", site.url));
    let resume = resume.header("authorization", format!("Bearer {TOKEN}"));
    let mut answer = resume.send_json(json!({ "action": "resume" })).unwrap();
    assert_eq!(
        answer.body_mut().read_to_string().unwrap(),
        r#"{"outcome":"resumed"}"#
    );
    assert!(!paused().await);
    // Allowed actions are written down; refused requests are not.
    let (_, audit) = site.get("/audit");
    let (resumed, paused) = (audit.find("resume orders"), audit.find("pause orders"));
    assert!(resumed.is_some() && resumed < paused, "{audit}");
}

/// The page that takes tokens is known by its whole path: a queue may have its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_name_of_a_queue_opens_the_door() {
    let site = Site::with_actions().await;
    let queue = site.queues.reliable("sign-in").open::<u64>().await.unwrap();
    let pause = site.agent.post(format!("{}/queues/sign-in", site.url));
    assert_eq!(status(pause.send_form([("action", "pause")])), 401);
    assert!(!queue.queue().counters().await.unwrap().paused);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_forbid_scripts_of_others_frames_and_caches() {
    let site = Site::start(&[]).await;
    for path in ["/", "/nowhere", "/api/queues", "/queues/none"] {
        let response = site
            .agent
            .get(format!("{}{path}", site.url))
            .call()
            .unwrap();
        let policy = response.headers()["content-security-policy"]
            .to_str()
            .unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'") && policy.contains("script-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "no inline script: {policy}");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    }
    let (status, page) = site.get("/queues/none");
    assert_eq!(status, 200);
    assert!(page.contains("there is no queue `none`"), "{page}");
}

#[test]
fn a_token_that_is_easily_guessed_is_refused() {
    let file = token_file("short");
    let server = real_redis::Server::start().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_qk"))
        .args([
            "--url",
            &server.url(),
            "web",
            "--listen",
            "127.0.0.1:0",
            "--token-file",
        ])
        .arg(file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("16 at least") && said.contains("openssl rand") && !said.contains("short"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2));
}

/// A browser that shows a page keeps a connection for its events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_ends_though_a_page_is_open() {
    let mut site = Site::start(&["--every-ms", "100"]).await;
    let mut events = site
        .agent
        .get(format!("{}/events", site.url))
        .call()
        .unwrap();
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let mut first = [0; 6];
    std::io::Read::read_exact(&mut events.body_mut().as_reader(), &mut first).unwrap();
    assert_eq!(&first, b"data: ");
    assert!(site.ends().await.success());
}

/// A supervisor may stop the program as soon as it says that it listens: it then ends by its own will, not by the
/// signal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_stopped_at_once_ends_well() {
    for _ in 0..20 {
        let mut site = Site::start(&[]).await;
        let status = site.ends().await;
        assert!(status.success(), "{status}");
    }
}

/// A client that says half of a request, or nothing, keeps no connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_requests_end_and_do_not_keep_others_out() {
    let site = Site::with_actions().await;
    let connect = || std::net::TcpStream::connect(site.host()).unwrap();
    let host = site.host();
    let halves = [
        String::new(),
        format!("GET / HTTP/1.1\r\nhost: {host}\r\nx: "),
        // A whole head, and the beginning of a body.
        format!("POST /sign-in HTTP/1.1\r\nhost: {host}\r\ncontent-length: 100\r\n\r\ntoken="),
        // A whole request, and no other one after it.
        format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n\r\n"),
    ];
    let mut open: Vec<_> = (0..300)
        .map(|nth| {
            let mut stream = connect();
            stream
                .write_all(halves[nth % halves.len()].as_bytes())
                .unwrap();
            stream
        })
        .collect();
    assert_eq!(site.get("/healthz").0, 200, "300 of them keep nobody out");
    for (nth, stream) in open.iter_mut().enumerate() {
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut said = String::new();
        let ended = stream.read_to_string(&mut said);
        assert!(ended.is_ok(), "{nth} is open after a minute: {ended:?}");
        assert_eq!(said.contains("200 OK"), nth % halves.len() == 3, "{said}");
        assert_eq!(said.contains(" 408 "), nth % halves.len() == 2, "{said}");
    }
}

/// More connections than the page takes wait for room, and get it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_bounded_in_number() {
    let site = Site::start(&[]).await;
    let open: Vec<_> = (0..600)
        .map(|_| std::net::TcpStream::connect(site.host()).unwrap())
        .collect();
    let pid = site.process_id();
    let descriptors = || {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .count()
    };
    let begun = std::time::Instant::now();
    while descriptors() < 512 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{}",
            descriptors()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    // Its own files and its server are some more.
    assert!(descriptors() < 512 + 50, "{}", descriptors());
    assert_eq!(
        site.get("/healthz").0,
        200,
        "those that say nothing make room"
    );
    drop(open);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_events_are_bounded_in_number() {
    let site = Site::start(&["--every-ms", "100"]).await;
    let open = || {
        site.agent
            .get(format!("{}/events", site.url))
            .call()
            .unwrap()
    };
    let mut streams: Vec<_> = (0..128).map(|_| open()).collect();
    assert!(streams.iter().all(|stream| stream.status() == 200));
    assert_eq!(open().status(), 503);
    assert_eq!(site.get("/").0, 200);
    streams.truncate(100);
    let begun = std::time::Instant::now();
    while open().status() != 200 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "a page that is gone keeps its place"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
