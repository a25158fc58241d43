//! Commands about groups.

use std::time::Duration;

use queue_core::*;
use serde_json::json;

use crate::site::Site;

const HOSTILE: &str = "x'; touch F; echo '\u{202e}\n\u{9b}y";

async fn group(site: &Site, queue: &str, key: &str) -> Option<Group> {
    let open =
        queue_ops::open_grouped(&**site.queues.backend(), &QueueName::new(queue).unwrap()).await;
    let groups = open
        .unwrap()
        .groups(Page::first(100))
        .await
        .unwrap()
        .entries;
    groups
        .into_iter()
        .find(|group| &*group.key == key.as_bytes())
}

/// A queue with a message in each of four groups.
async fn four_groups(site: &Site) {
    let config = GroupedConfig::loose(9);
    let orders = site.queues.grouped("orders").config(config);
    let orders = orders.open::<u64>().await.unwrap();
    for key in ["a", "b", "-c", HOSTILE] {
        orders.push(&1, key).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_is_paused_and_resumed_and_others_are_not() {
    let site = Site::start().await;
    four_groups(&site).await;
    for (arguments, words, paused) in [
        (
            &["pause", "orders", "--group", "a", "--for-ms", "3600000"][..],
            "a is paused for 60 min, or until `qk resume orders --group a`",
            Some("a"),
        ),
        (
            &["resume", "orders", "--group", "a"],
            "orders hands out messages of a",
            None,
        ),
        (
            &["pause", "orders", "--group=-c", "--for-ms", "3600000"],
            "-c is paused for 60 min, or until `qk resume orders --group=-c`",
            Some("-c"),
        ),
        (
            &["resume", "orders", "--group=-c"],
            "orders hands out messages of -c",
            None,
        ),
        (
            &["pause", "orders", "--group", HOSTILE, "--for-ms", "3600000"],
            "x\\'; touch F; echo \\'\\xe2\\x80\\xae\\n\\xc2\\x9by is paused for 60 min, or until `qk resume orders --group \
             \"$(printf 'x\\047\\073 touch F\\073 echo \\047\\342\\200\\256\\012\\302\\233y')\"`",
            Some(HOSTILE),
        ),
        (
            &["resume", "orders", "--group", HOSTILE],
            "orders hands out messages of x\\'; touch F; echo \\'\\xe2\\x80\\xae\\n\\xc2\\x9by",
            None,
        ),
    ] {
        let said = site.qk(arguments);
        assert_eq!(
            (said.all().as_str(), said.status),
            (words, 0),
            "{arguments:?}"
        );
        for key in ["a", "b", "-c", HOSTILE] {
            let is_paused = group(&site, "orders", key).await.unwrap().is_paused();
            assert_eq!(is_paused, paused == Some(key), "{arguments:?}: {key:?}");
        }
        assert!(
            !site.state("orders").await.unwrap().paused,
            "the queue goes on"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_gets_a_rule_and_others_do_not() {
    let site = Site::start().await;
    four_groups(&site).await;
    let said = site.qk(&[
        "rule",
        "orders",
        "a",
        "--weight",
        "3",
        "--at-once",
        "2",
        "--for-ms",
        "3600000",
    ]);
    let words = "a has weight 3, at most 2 at once for 60 min, or until `qk rule orders a --end`";
    assert_eq!((said.all().as_str(), said.status), (words, 0));
    let ruled = group(&site, "orders", "a").await.unwrap();
    assert_eq!((ruled.weight, ruled.at_once), (3, 2));
    let said = site.qk(&["rule", "orders", "--for-ms", "3600000", "--", "-c"]);
    let words = "-c has weight 1 for 60 min, or until `qk rule --end -- orders -c`";
    assert_eq!((said.all().as_str(), said.status), (words, 0));
    let other = group(&site, "orders", "b").await.unwrap();
    assert_eq!((other.weight, other.at_once, other.rule_ends), (1, 9, None));
    let said = site.run("rule orders a --end");
    assert_eq!((said.all().as_str(), said.status), ("a has no rule", 0));
    let freed = group(&site, "orders", "a").await.unwrap();
    assert_eq!((freed.weight, freed.at_once, freed.rule_ends), (1, 9, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rate_of_a_group_is_set_and_shown() {
    let site = Site::start().await;
    four_groups(&site).await;
    let said = site.run("rule orders a --rate 1/7200000 --for-ms 3600000");
    let words = "a has weight 1, a rate of 1 in 2 h for 60 min, or until `qk rule orders a --end`";
    assert_eq!((said.all().as_str(), said.status), (words, 0));
    let queue = site.queues.grouped("orders").loose(9);
    let orders = queue.open::<u64>().await.unwrap();
    orders.push(&2, "a").await.unwrap();
    let taken = orders.receive_batch(9, Duration::from_secs(3_600), Duration::ZERO);
    assert_eq!(taken.await.unwrap().len(), 4, "one of each group");
    let shown = site.run("--json groups orders").json();
    let all = shown.as_array().unwrap();
    let a = all.iter().find(|group| group["key"] == "a").unwrap();
    assert_eq!(a["rate"], json!({ "most": 1, "per_ms": 7_200_000 }));
    assert!(a["next_token_ms"].as_u64().unwrap() > 7_100_000, "{a}");
    let b = all.iter().find(|group| group["key"] == "b").unwrap();
    assert_eq!(
        (&b["rate"], &b["next_token_ms"]),
        (&json!(null), &json!(null))
    );
    let said = site.run("groups orders");
    for words in [
        "weight 1, 9 at once, 1 in 2 h, for 59 min",
        "for a token of its rate of 1 in 2 h",
    ] {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
    let said = site.run("reconfigure orders group_rate=7/60000");
    assert_eq!(said.status, 0, "{said:?}");
    assert!(said.out.contains("group_rate none → 7/60000"), "{said:?}");
    let said = site.run("--json why orders").json();
    let rated = said["findings"].as_array().unwrap().iter();
    let mut rated = rated.filter(|finding| finding["problem"] == "groups_rated");
    let rated = rated.next().expect("the rate keeps a message");
    let evidence = &rated["evidence"];
    assert_eq!(
        (&evidence["group"], &evidence["groups"]),
        (&json!("a"), &json!(1))
    );
    for (wrong, words) in [
        ("rule orders a --rate 5 --for-ms 5", "is no rate"),
        (
            "rule orders a --rate 0/5 --for-ms 5",
            "a group's rate of 0 messages",
        ),
        (
            "rule orders a --rate 1/86400001 --for-ms 5",
            "a group's rate's time of 86400001 ms",
        ),
        ("rule orders a --rate 1/5 --end", "cannot be used with"),
        (
            "reconfigure orders group_rate=5",
            "a group_rate without a time",
        ),
        ("reconfigure orders per_group=5/9", "only a rate has a time"),
    ] {
        let said = site.run(wrong);
        assert!(said.err.contains(words) && said.status == 2, "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_or_pause_of_a_group_that_says_too_little_or_too_much_is_refused() {
    let site = Site::start().await;
    four_groups(&site).await;
    for command in [
        "pause orders --group a",
        "pause orders --for-ms 5",
        "rule orders a",
        "rule orders a --end --weight 2",
        "rule orders a --end --for-ms 5",
        "rule orders a --weight 0 --for-ms 5",
    ] {
        assert_eq!(site.run(command).status, 2, "{command}");
    }
    assert_eq!(group(&site, "orders", "a").await.unwrap().rule_ends, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_at_once_is_refused_in_strict_order_and_groups_on_other_kinds() {
    let site = Site::start().await;
    let orders = site.queues.grouped("orders").open::<u64>().await.unwrap();
    orders.push(&1, "a").await.unwrap();
    let said = site.run("rule orders a --at-once 2 --for-ms 5000");
    assert!(
        said.err.contains("2 at once, in strict order") && said.status == 2,
        "{said:?}"
    );
    assert_eq!(group(&site, "orders", "a").await.unwrap().rule_ends, None);
    site.queues.reliable("plain").open::<u64>().await.unwrap();
    for command in [
        "groups plain",
        "pause plain --group a --for-ms 5",
        "resume plain --group a",
        "rule plain a --end",
    ] {
        let said = site.run(command);
        let words = "qk: `plain` is a reliable queue: only grouped queues have groups";
        assert_eq!((said.all().as_str(), said.status), (words, 2), "{command}");
    }
}

/// Keys are data in JSON, and one line in a table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_are_listed_with_their_keys_as_they_are() {
    let site = Site::start().await;
    let orders = site.queues.grouped("orders").open::<u64>().await.unwrap();
    orders
        .push_all(&[(1, HOSTILE), (2, HOSTILE), (3, "b")])
        .await
        .unwrap();
    orders
        .queue()
        .pause_group("b", Duration::from_secs(3_600))
        .await
        .unwrap();
    let said = site.run("--json groups orders");
    assert!(!said.out.trim_end().contains(is_unprintable));
    let shown = said.json();
    assert_eq!(
        (&shown[0]["key"], &shown[0]["ready"], &shown[0]["may_run"]),
        (&json!(HOSTILE), &json!(2), &json!(true))
    );
    assert_eq!(
        (&shown[1]["key"], &shown[1]["ready"], &shown[1]["may_run"]),
        (&json!("b"), &json!(1), &json!(false))
    );
    let said = site.run("groups orders");
    assert_eq!(said.out.lines().count(), 3);
    assert!(
        said.out.lines().all(|line| !line.contains(is_unprintable)),
        "{said:?}"
    );
    let ready = site.run("--json peek orders ready").json();
    assert!(
        ready
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["group"] == HOSTILE)
    );
}
