//! Users with few rights: what `qk` shows them, and how it says what they lack.

use queue_schedule::Schedules;
use real_redis::Server;

use crate::site::{Said, Site};

/// Makes the user `viewer`, with the password `secret`.
fn make_viewer(server: &Server, rules: &str) {
    let mut user = vec!["ACL", "SETUSER", "viewer", "reset", "on", ">secret"];
    user.extend(rules.split(' '));
    let done: String = server.ask(&user).unwrap();
    assert_eq!(done, "OK");
}

fn as_viewer(site: &Site, command: &str) -> Said {
    let url = site.server.url_as("viewer", "secret");
    let words = command.split(' ');
    site.qk(&["--url", &url].into_iter().chain(words).collect::<Vec<_>>())
}

const LOOKS: [&str; 10] = [
    "ls",
    "why",
    "why orders",
    "stats orders",
    "consumers orders",
    "workers",
    "peek orders leased",
    "show orders 1",
    "dead ls orders",
    "dead groups orders",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_only_read_looks_and_changes_nothing() {
    let site = Site::start().await;
    let before = site.ten("orders").await;
    Schedules::open(&site.queues, "schedules").await.unwrap();
    let rules = site.run("acl --read-only").all();
    assert_eq!(rules, queue_redis::read_only_rules("qk"));
    make_viewer(&site.server, &rules);
    for command in LOOKS {
        let (whole, said) = (site.run(command), as_viewer(&site, command));
        assert_eq!(
            (&*said.err, said.status),
            ("", whole.status),
            "{command}: {said:?}"
        );
        let lines = |said: &Said| said.out.lines().count();
        // It may not call INFO, and so knows nothing of the server.
        assert!(
            lines(&said).abs_diff(lines(&whole)) <= 2,
            "{command}: {said:?} {whole:?}"
        );
    }
    for command in ["pause orders", "push orders 1", "cancel orders 8"] {
        let said = as_viewer(&site, command);
        let is_refused = said.status == 2 && said.err.contains("has no permissions");
        assert!(is_refused, "{command}: {said:?}");
    }
    assert_eq!(site.state("orders").await, Some(before));
    // Its refused calls are no findings of others.
    let said = site.run("why orders");
    assert!(!said.out.contains("viewer"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_a_reader_lacks_is_named() {
    let site = Site::start().await;
    site.ten("orders").await;
    let rules = queue_redis::read_only_rules("qk");
    for (right, name) in [("+eval_ro", "eval_ro"), ("+time", "time")] {
        make_viewer(&site.server, &rules.replace(right, ""));
        let said = as_viewer(&site, "why orders");
        assert_eq!(said.status, 2, "{said:?}");
        let reading = said.err.split("to look only").nth(1).expect("it says so");
        assert!(reading.to_lowercase().contains(name), "{said:?}");
    }
    // A right that only some calls need.
    make_viewer(&site.server, &format!("{rules} -zcount"));
    let said = as_viewer(&site, "why orders");
    assert!(
        said.status != 0 && said.all().to_lowercase().contains("zcount"),
        "{said:?}"
    );
}
