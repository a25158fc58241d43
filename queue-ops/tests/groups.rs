//! The page about groups is true: `qk groups` gives the output that it shows.

#![cfg(all(unix, feature = "cli"))]

use std::{num::NonZeroUsize, process::Command, time::Duration};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::Server;

const LEASE: Duration = Duration::from_secs(3600);
const PAGE: &str = include_str!("../../docs/groups.md");

/// The output that the page shows for its only command.
fn shown() -> Vec<&'static str> {
    let (_, block) = PAGE
        .split_once("$ qk groups order-steps\n")
        .expect("the command");
    let (output, _) = block.split_once("```").expect("its end");
    output.lines().collect()
}

fn qk(server: &Server, arguments: &[&str]) -> (bool, String) {
    let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"));
    let output = qk.args(arguments).env("QUEUE_URL", server.url()).output();
    let output = output.expect("qk runs");
    let text = [&*output.stdout, &*output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8(text).expect("text"),
    )
}

/// A server with the queue `order-steps` of the page.
async fn order_steps() -> (Server, RedisBackend) {
    let server = Server::start().expect("a server");
    let backend = RedisBackend::connect(&server.url()).await;
    let backend = backend.expect("connects");
    let name = QueueName::new("order-steps").expect("a name");
    let steps = backend.open_grouped(&name, &GroupedConfig::default()).await;
    let steps = steps.expect("opens");
    let keys = ["order-1", "order-1", "order-2"].map(|key| Push::from("step").with_group(key));
    steps.push(&keys).await.expect("pushes");
    let two = NonZeroUsize::new(2).expect("not zero");
    let leased = steps.lease(two, LEASE).await.expect("leases").deliveries;
    let retry = Settlement::retry(leased[1].receipt, LEASE);
    steps.settle(&[retry]).await.expect("settles");
    let keys = ["order-3", "order-3"].map(|key| Push::from("step").with_group(key));
    steps.push(&keys).await.expect("pushes");
    (server, backend)
}

fn groups(server: &Server) -> Vec<serde_json::Value> {
    let (_, text) = qk(server, &["groups", "order-steps", "--json"]);
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn qk_shows_groups_as_the_page_does() {
    let (server, _backend) = order_steps().await;
    let (is_well, text) = qk(&server, &["groups", "order-steps"]);
    assert!(is_well, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let shown = shown();
    assert_eq!(lines.len(), shown.len(), "{text}");
    for (line, shown) in lines.iter().zip(&shown) {
        // How long messages have waited differs from run to run.
        let mut rest = *line;
        for part in shown.split('…') {
            let at = rest.find(part);
            let at = at.unwrap_or_else(|| panic!("the page has {shown:?}, qk says {line:?}"));
            rest = &rest[at + part.len()..];
        }
    }
    let groups = groups(&server);
    assert_eq!(groups[0]["key"], "order-3");
    assert_eq!(groups[2]["held_by"], 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn qk_pauses_and_rules_a_group_as_the_page_says() {
    let (server, backend) = order_steps().await;
    let qk = |command: &str| qk(&server, &command.split(' ').collect::<Vec<_>>());
    let state = || {
        let mut group = groups(&server).into_iter();
        let group = group.find(|group| group["key"] == "order-3");
        let group = group.expect("the group");
        (group["weight"].clone(), group["may_run"].clone())
    };
    let (is_well, text) = qk("pause order-steps --group order-3 --for-ms 7200000");
    let words = "order-3 is paused for 2 h";
    assert!(is_well && text.contains(words), "{text}");
    let (is_well, text) = qk("rule order-steps order-3 --weight 4 --for-ms 3600000");
    assert!(is_well && text.contains("weight 4 for 60 min"), "{text}");
    assert_eq!(state(), (4.into(), false.into()));
    assert!(qk("resume order-steps --group order-3").0);
    assert!(qk("rule order-steps order-3 --end").0);
    assert_eq!(state(), (1.into(), true.into()));

    let (is_well, text) = qk("rule order-steps order-3 --at-once 2 --for-ms 1000");
    assert!(!is_well && text.contains("strict order"), "{text}");
    let (is_well, _) = qk("pause order-steps --group order-3");
    assert!(!is_well, "for how long?");
    let mails = QueueName::new("mails").expect("a name");
    let config = ReliableConfig::default();
    let mails = backend.open_reliable(&mails, &config).await;
    mails.expect("opens");
    let (is_well, text) = qk("groups mails");
    assert!(!is_well && text.contains("a reliable queue"), "{text}");
}
