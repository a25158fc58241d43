//! The rights to read and to act.

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
    let orders = site.queues.reliable::<u64>("orders").await.unwrap();
    assert!(!orders.queue().counters().await.unwrap().paused);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_needs_the_token_and_the_same_origin() {
    let site = Site::with_actions().await;
    site.orders().await;
    let orders = site.queues.reliable::<u64>("orders").await.unwrap();
    let paused = async || orders.queue().counters().await.unwrap().paused;
    let pause = |headers: &[(&str, String)]| {
        let mut request = site.agent.post(format!("{}/queues/orders", site.url));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        status(request.send_form([("action", "pause")]))
    };
    let cookie = |token: &str| ("cookie", format!("a=b; qk-token={token}; c=d"));
    assert_eq!(pause(&[]), 401);
    assert_eq!(pause(&[cookie("0123456789abcdef0124")]), 401);
    assert_eq!(pause(&[cookie("")]), 401);
    // Another site makes a browser send a form; the browser says from where.
    let evil = ("origin", "http://evil.example".to_owned());
    assert_eq!(pause(&[cookie(TOKEN), evil]), 403);
    // Another name that leads to this address.
    let rebound = ("host", "evil.example".to_owned());
    assert_eq!(pause(&[cookie(TOKEN), rebound.clone()]), 421);
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
    assert_eq!(pause(&[cookie(TOKEN), origin]), 303);
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
    let queue = site.queues.reliable::<u64>("sign-in").await.unwrap();
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
        said.contains("16 at least") && !said.contains("short"),
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
