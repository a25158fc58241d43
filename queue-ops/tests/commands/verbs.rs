//! Commands that act on a queue and its messages.

use queue_core::*;

use crate::site::{Site, State};

type Change = fn(&mut State);

/// A command on a queue `Q` of ten messages, its status, its words, and its change.
struct Case(&'static str, i32, &'static str, Change);

const NOTHING: Change = |_| {};

const CASES: [Case; 45] = [
    Case(
        "pause Q",
        0,
        "Q hands out nothing until `qk resume Q`",
        |q| q.paused = true,
    ),
    Case("resume Q", 0, "Q hands out messages", NOTHING),
    Case(
        "purge Q",
        1,
        "would remove 4 messages of Q: say --yes",
        NOTHING,
    ),
    Case("purge Q --yes", 0, "4 messages removed", |q| {
        q.ready.clear();
        q.delayed.clear();
    }),
    Case(
        "remove Q",
        1,
        "would remove Q with 7 messages, 3 of them leased, and 3 dead letters: say --yes",
        NOTHING,
    ),
    Case(
        "remove Q --even-if-leased",
        1,
        "would remove Q with 7 messages, 3 of them leased, and 3 dead letters: say --yes",
        NOTHING,
    ),
    Case("remove Q --yes", 2, "qk: queue Q: …", NOTHING),
    Case(
        "release Q 5",
        1,
        "would release 1 leased message (#5), whose holders lose their leases: say --yes",
        NOTHING,
    ),
    Case("release Q 5 --yes", 0, "1 of 1 done", |q| {
        q.leased = vec![6, 7];
        q.ready.insert(0, 5);
    }),
    Case(
        "release Q --holder web-1",
        1,
        "would release 2 leased messages (#5, #6), whose holders lose their leases: say --yes",
        NOTHING,
    ),
    Case("release Q --holder web-1 --yes", 0, "2 of 2 done", |q| {
        q.leased = vec![7];
        q.ready.splice(0..0, [5, 6]);
    }),
    Case(
        "release Q --holder web --yes",
        1,
        "`web` has no message of Q: `qk consumers Q` lists who has",
        NOTHING,
    ),
    Case(
        "release Q 8 --yes",
        1,
        "no such message is leased: `qk peek Q leased` lists those that are",
        NOTHING,
    ),
    Case(
        "release Q 6 8 --yes",
        1,
        "8: not leased\n1 of 1 done",
        |q| {
            q.leased = vec![5, 7];
            q.ready.insert(0, 6);
        },
    ),
    Case(
        "release Q 6 8",
        1,
        "8: not leased\nwould release 1 leased message (#6), whose holders lose their leases: say --yes",
        NOTHING,
    ),
    Case("release Q", 2, "…<IDS>...…", NOTHING),
    Case(
        "release Q 5 --holder web-1 --yes",
        2,
        "…cannot be used with…",
        NOTHING,
    ),
    Case(
        "ack Q 5",
        1,
        "would ack 1 leased message (#5), whose holders lose their leases: say --yes",
        NOTHING,
    ),
    Case("ack Q 5 7 --yes", 0, "2 of 2 done", |q| q.leased = vec![6]),
    Case("ack Q --holder web-1 --yes", 0, "2 of 2 done", |q| {
        q.leased = vec![7];
    }),
    Case(
        "retry Q 5",
        1,
        "would retry 1 leased message (#5), whose holders lose their leases: say --yes",
        NOTHING,
    ),
    Case("retry Q 5 --yes", 0, "1 of 1 done", |q| {
        q.leased = vec![6, 7];
        q.ready.push(5);
    }),
    Case(
        "bury Q --holder web-1",
        1,
        "would bury 2 leased messages (#5, #6), whose holders lose their leases: say --yes",
        NOTHING,
    ),
    Case("bury Q 6 --yes", 0, "1 of 1 done", |q| {
        q.leased = vec![5, 7];
        q.dead.push(6);
    }),
    Case("cancel Q 8", 0, "8: cancelled", |q| q.ready = vec![9, 10]),
    Case("cancel Q 1 9", 0, "1: cancelled\n9: cancelled", |q| {
        q.delayed.clear();
        q.ready = vec![8, 10];
    }),
    Case(
        "cancel Q 8 5 2 99",
        1,
        "8: cancelled\n5: too late: it is leased, done or dead\n2: too late: it is leased, done or dead\n99: never was",
        |q| q.ready = vec![9, 10],
    ),
    Case(
        "cancel Q 8 5",
        1,
        "8: cancelled\n5: too late: it is leased, done or dead",
        |q| q.ready = vec![9, 10],
    ),
    Case("cancel Q 99", 1, "99: never was", NOTHING),
    Case("cancel Q", 2, "…<IDS>...…", NOTHING),
    Case("run Q 1", 0, "1 of 1 due now", |q| {
        q.delayed.clear();
        q.ready.push(1);
    }),
    Case(
        "run Q 1 5 8 2 99",
        1,
        "5: too late: it is not delayed\n8: too late: it is not delayed\n2: too late: it is not delayed\n99: too late: it is not delayed\n1 of 5 due now",
        |q| {
            q.delayed.clear();
            q.ready.push(1);
        },
    ),
    Case(
        "run Q --all-delayed",
        1,
        "would make 1 delayed message due now: say --yes",
        NOTHING,
    ),
    Case("run Q --all-delayed --yes", 0, "1 of 1 due now", |q| {
        q.delayed.clear();
        q.ready.push(1);
    }),
    Case(
        "run Q --all-delayed --reason another --yes",
        1,
        "no such message is delayed",
        NOTHING,
    ),
    Case("run Q --reason another", 2, "…--all-delayed…", NOTHING),
    Case("run Q", 2, "…<IDS>...…", NOTHING),
    Case(
        "reconfigure Q max_attempts=7 dead_letter_cap=9",
        0,
        "Q: max_attempts 5 → 7, dead_letter_cap 10000 → 9\na program that opens it with another value …",
        |q| {
            let leasing = q.config.leasing_mut().unwrap();
            (leasing.max_attempts, leasing.dead_letter_cap) = (7, 9);
        },
    ),
    Case(
        "reconfigure Q at_once=2 rate=10/60000",
        0,
        "Q: at_once none → 2, rate none → 10/60000\na program …",
        |q| {
            let leasing = q.config.leasing_mut().unwrap();
            leasing.at_once = Some(2);
            leasing.rate = Some(LeaseRate::new(10, std::time::Duration::from_secs(60)));
        },
    ),
    Case(
        "reconfigure Q max_attempts=5",
        1,
        "Q: max_attempts 5 → 5",
        NOTHING,
    ),
    Case(
        "reconfigure Q capacity=5",
        2,
        "qk: a reliable queue has no setting `capacity`",
        NOTHING,
    ),
    Case(
        "reconfigure Q max_attempts=7 capacity=5",
        2,
        "qk: a reliable queue has no setting `capacity`",
        NOTHING,
    ),
    Case(
        "reconfigure Q rate=10",
        2,
        "qk: a rate without a time: write it as rate=100/60000, in ms",
        NOTHING,
    ),
    Case(
        "reconfigure Q max_attempts=5/3",
        2,
        "…only a rate has a time…",
        NOTHING,
    ),
    Case("reconfigure Q", 2, "…<SETTINGS>...…", NOTHING),
];

/// Whether a text has all parts of the pattern, in order; `…` stands for anything.
fn fits(text: &str, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('…').collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return false;
    };
    if parts.len() == 1 {
        return text == pattern;
    }
    let mut rest = match text.strip_prefix(first) {
        Some(rest) if text.ends_with(last) => rest,
        _ => return false,
    };
    parts[1..].iter().all(|part| {
        let at = rest.find(part);
        rest = at.map_or("", |at| &rest[at + part.len()..]);
        at.is_some()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_command_says_what_it_does_and_changes_nothing_else() {
    let site = Site::start().await;
    for (number, Case(command, status, words, change)) in CASES.iter().enumerate() {
        let queue = format!("queue-{number}");
        let mut state = site.ten(&queue).await;
        // A queue like it, which the command does not name.
        let other = site.ten(&format!("{queue}.other")).await;
        let said = site.run(&command.replace('Q', &queue));
        let words = words.replace('Q', &queue);
        assert!(
            fits(&said.all(), &words),
            "{command}: {said:?}, not {words}"
        );
        assert_eq!(said.status, *status, "{command}: {said:?}");
        change(&mut state);
        assert_eq!(site.state(&queue).await, Some(state), "{command}");
        let after = site.state(&format!("{queue}.other")).await;
        assert_eq!(after, Some(other), "{command}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_is_removed_and_is_gone() {
    let site = Site::start().await;
    site.ten("orders").await;
    let said = site.run("remove orders --even-if-leased --yes");
    assert_eq!((said.all().as_str(), said.status), ("removed", 0));
    assert_eq!(site.state("orders").await, None);
    let said = site.run("remove orders --yes");
    assert_eq!(
        (said.all().as_str(), said.status),
        ("there was no such queue", 1)
    );
    let idle = site.queues.reliable("idle").open::<u64>().await.unwrap();
    idle.push(&1).await.unwrap();
    let said = site.run("remove idle");
    let would =
        "would remove idle with 1 messages, 0 of them leased, and 0 dead letters: say --yes";
    assert_eq!((said.all().as_str(), said.status), (would, 1));
    assert_eq!(site.run("remove idle --yes").status, 0);
    assert_eq!(site.state("idle").await, None);
}

/// The reasons that operators give, and those that stand in for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reasons_are_kept() {
    let site = Site::start().await;
    site.ten("orders").await;
    for (command, show, words) in [
        (
            "retry orders 5 --yes",
            "show orders 5",
            "ready; pushed … ago, 1 attempt; last failure: retried by an operator",
        ),
        (
            "retry orders 6 --reason late --yes",
            "show orders 6",
            "ready; pushed … ago, 1 attempt; last failure: late",
        ),
        (
            "bury orders 7 --yes",
            "show orders 7",
            "dead after 1 attempt: buried: buried by an operator",
        ),
    ] {
        assert_eq!(site.run(command).status, 0, "{command}");
        let said = site.run(show);
        assert!(fits(&said.all(), words), "{command}: {said:?}");
        assert_eq!(said.status, 0);
    }
    site.ten("others").await;
    assert_eq!(site.run("bury others 7 --reason spam --yes").status, 0);
    assert_eq!(
        site.run("show others 7").all(),
        "dead after 1 attempt: buried: spam"
    );
}

/// More than one batch, more than one page, and both paused and resumed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_messages_are_settled_and_removed() {
    const COUNT: usize = 2_300;
    let site = Site::start().await;
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push_all(&vec![1; COUNT]).await.unwrap();
    let holder = || Some(Holder::new("vm").unwrap());
    let mut left = COUNT;
    while left > 0 {
        let most = std::num::NonZeroUsize::new(left.min(128)).unwrap();
        let leased = orders
            .queue()
            .settle_and_lease(&[], most, crate::site::HOUR, holder());
        left -= leased.await.unwrap().1.deliveries.len();
    }
    let said = site.run("retry orders --holder vm --yes");
    assert_eq!((said.all().as_str(), said.status), ("2300 of 2300 done", 0));
    let state = site.state("orders").await.unwrap();
    assert_eq!(
        (state.leased.len(), state.ready.len()),
        (0, 1_000),
        "a page of them"
    );
    assert_eq!(site.run("pause orders").status, 0);
    assert!(site.state("orders").await.unwrap().paused);
    assert_eq!(site.run("resume orders").status, 0);
    assert!(!site.state("orders").await.unwrap().paused);
    assert_eq!(
        site.run("purge orders --yes").all(),
        "2300 messages removed"
    );
}

/// Each setting of each kind, there and back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_setting_of_each_kind_is_changed_and_the_others_stay() {
    const LEASING: [(&str, &str, &str); 5] = [
        ("max_attempts=9", "max_attempts=5", "max_attempts 5 → 9"),
        (
            "dead_letter_cap=70",
            "dead_letter_cap=10000",
            "dead_letter_cap 10000 → 70",
        ),
        ("at_once=3", "at_once=0", "at_once none → 3"),
        ("at_once=1", "at_once=0", "at_once none → 1"),
        ("rate=5/2000", "rate=0", "rate none → 5/2000"),
    ];
    let site = Site::start().await;
    for kind in QueueKind::ALL {
        let queue = format!("{kind}-queue").replace(' ', "-");
        let config = QueueConfig::of(kind, 100);
        let name = QueueName::new(&*queue).unwrap();
        site.queues.backend().open(&name, &config).await.unwrap();
        let stored = async || {
            let stored = site.queues.backend().open_stored(&name).await;
            stored.unwrap().unwrap().config
        };
        let own = match kind {
            QueueKind::Bounded => Some(("capacity=60", "capacity=100", "capacity 100 → 60")),
            QueueKind::Rotating => Some(("pace_ms=50", "pace_ms=0", "pace_ms none → 50")),
            QueueKind::Priority => Some(("ageing_ms=50", "ageing_ms=0", "ageing_ms none → 50")),
            QueueKind::Grouped => Some((
                "group_rate=5/2000",
                "group_rate=none",
                "group_rate none → 5/2000",
            )),
            _ => None,
        };
        let leasing = LEASING
            .iter()
            .copied()
            .filter(|_| kind != QueueKind::Rotating);
        for (there, back, words) in leasing.chain(own) {
            let said = site.qk(&["reconfigure", &queue, there]);
            let line = said.out.lines().next().map(str::to_owned);
            assert_eq!(line, Some(format!("{queue}: {words}")), "{kind}: {said:?}");
            assert_eq!(said.status, 0);
            assert_ne!(stored().await, config, "{kind} {there}");
            assert_eq!(site.qk(&["reconfigure", &queue, back]).status, 0);
            assert_eq!(stored().await, config, "{kind} {back}");
        }
        for (setting, of) in [
            ("capacity=60", QueueKind::Bounded),
            ("pace_ms=50", QueueKind::Rotating),
            ("ageing_ms=50", QueueKind::Priority),
            ("group_rate=5/2000", QueueKind::Grouped),
            ("at_once=3", kind),
        ] {
            let has = of == kind && !(setting == "at_once=3" && kind == QueueKind::Rotating);
            if has {
                continue;
            }
            let said = site.qk(&["reconfigure", &queue, setting]);
            let setting = setting.split('=').next().unwrap();
            let words = format!("qk: a {kind} queue has no setting `{setting}`");
            assert_eq!((said.all(), said.status), (words, 2));
        }
        assert_eq!(stored().await, config, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_and_a_queue_that_is_not_there_are_named() {
    let site = Site::start().await;
    site.queues.rotating("ring").open::<u64>().await.unwrap();
    for command in [
        "pause Q",
        "resume Q",
        "purge Q --yes",
        "peek Q ready",
        "show Q 1",
        "cancel Q 1",
        "release Q 1 --yes",
        "ack Q 1 --yes",
        "retry Q 1 --yes",
        "bury Q 1 --yes",
        "dead ls Q",
        "dead groups Q",
        "dead revive Q 1",
        "dead discard Q 1 --yes",
        "consumers Q",
        "groups Q",
        "push Q 1",
        "export Q",
    ] {
        let said = site.run(&command.replace('Q', "ring"));
        assert!(
            said.err.contains("ring") && said.status == 2,
            "{command}: {said:?}"
        );
        let said = site.run(&command.replace('Q', "nothing"));
        assert!(
            said.err.contains("nothing") && said.status == 2,
            "{command}: {said:?}"
        );
    }
    assert_eq!(site.run("remove nothing --yes").status, 1);
    let names: Vec<_> = site
        .run("--json ls")
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].clone())
        .collect();
    assert_eq!(names, ["ring"]);
}
