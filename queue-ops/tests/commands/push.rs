//! `qk push`: each option on each kind.

use queue_core::*;

use crate::site::Site;

/// The options of a push, and the kinds that have them. Any other kind refuses.
const OPTIONS: [(&str, &[QueueKind]); 3] = [
    (
        "--delay-ms=3600000",
        &[
            QueueKind::Reliable,
            QueueKind::Delay,
            QueueKind::Priority,
            QueueKind::Grouped,
            QueueKind::Bounded,
        ],
    ),
    ("--group=customer 7", &[QueueKind::Grouped]),
    ("--priority=-3", &[QueueKind::Priority]),
];

async fn open(site: &Site, kind: QueueKind, number: usize) -> String {
    let name = format!("{number}-{}", format!("{kind:?}").to_lowercase());
    let config = QueueConfig::of(kind, 5);
    let queue = QueueName::new(&*name).unwrap();
    site.queues.backend().open(&queue, &config).await.unwrap();
    name
}

/// Plays each set of options on each kind: a push has all of its options, and a refused push does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_option_is_kept_or_refused_by_each_kind() {
    let site = Site::start().await;
    for kind in QueueKind::ALL {
        for chosen in 0..8_usize {
            let queue = open(&site, kind, chosen).await;
            let has = |option: usize| chosen & 1 << option != 0;
            let options = || {
                (0..3)
                    .filter(|option| has(*option))
                    .map(|option| OPTIONS[option])
            };
            let command = ["push", &queue, "order 7", "--job=ship", "--header=a=b"];
            let given: Vec<_> = options().map(|(option, _)| option).collect();
            let said = site.qk(&[&command[..], &given].concat());
            if kind == QueueKind::Rotating {
                let words = format!("qk: `{queue}` is a ring: its items come from its programs");
                assert_eq!((said.all(), said.status), (words, 2), "{given:?}");
                continue;
            }
            // The error names the priority before the group.
            let refused = options().rfind(|(_, kinds)| !kinds.contains(&kind));
            if let Some((option, kinds)) = refused {
                let option = option.split('=').next().unwrap();
                let words = format!(
                    "qk: queue {queue}: a push with a {} on a {kind} queue, which has none: leave it out, or use a {} queue",
                    option.trim_start_matches('-'),
                    kinds[0]
                );
                assert_eq!((said.all(), said.status), (words, 2), "{given:?}");
                let depth = site.leasing(&queue).await.counters().await.unwrap();
                assert_eq!(depth.accepted, 0, "{kind} {given:?}");
                continue;
            }
            assert_eq!(
                (said.out.as_str(), said.status),
                ("1\n", 0),
                "{kind} {given:?}"
            );
            let place = if has(0) { Place::Delayed } else { Place::Ready };
            let page = site.leasing(&queue).await.peek(place, Page::first(9)).await;
            let shown = &page.unwrap().entries[0];
            assert_eq!(&*shown.message.body, b"order 7");
            assert_eq!(shown.message.headers.job(), Some("ship"));
            let own = shown.message.headers.iter().find(|(name, _)| *name == "a");
            assert_eq!(own.map(|(_, value)| value), Some("b"));
            assert_eq!(shown.priority, if has(2) { -3 } else { 0 });
            let usual = (kind == QueueKind::Grouped).then_some("-");
            let group = if has(1) { Some("customer 7") } else { usual };
            assert_eq!(shown.group.as_deref(), group.map(str::as_bytes));
            if let Standing::Delayed { due_in, .. } = shown.standing {
                let near = 3_590..=3_600;
                assert!(near.contains(&due_in.as_secs()), "{due_in:?}");
            }
        }
    }
}

/// A value that was given is given, also if it is the usual one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_usual_value_is_refused_as_any_other() {
    let site = Site::start().await;
    let queue = open(&site, QueueKind::Reliable, 0).await;
    for option in ["--priority=0", "--group=-"] {
        assert_eq!(
            site.qk(&["push", &queue, "1", option]).status,
            2,
            "{option}"
        );
    }
    assert!(site.state(&queue).await.unwrap().ready.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_takes_nothing_and_json_has_the_id() {
    let site = Site::start().await;
    let queue = open(&site, QueueKind::Bounded, 0).await;
    for id in 1..=5 {
        let said = site.qk(&["--json", "push", &queue, "1"]);
        assert_eq!((said.json()["id"].as_u64(), said.status), (Some(id), 0));
    }
    let said = site.qk(&["push", &queue, "1"]);
    assert_eq!(
        (said.all().as_str(), said.status),
        ("full: nothing was pushed", 1)
    );
    assert_eq!(site.state(&queue).await.unwrap().ready, [1, 2, 3, 4, 5]);
    assert_eq!(
        site.qk(&["push", &queue, "1", "--header", "no value"])
            .status,
        2
    );
    assert_eq!(
        site.qk(&["push", &queue, "1", "--delay-ms", "soon"]).status,
        2
    );
}

/// As `jq -c '.[]' | qk push orders -` does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_a_pipe_are_messages() {
    let site = Site::start().await;
    let queue = open(&site, QueueKind::Bounded, 0).await;
    let said = site.qk_from(&["push", &queue, "-", "--job=ship"], b"one\n\n\xfftwo");
    assert_eq!((said.all().as_str(), said.status), ("1\n2", 0));
    let said = site.qk_from(&["push", &queue, "-", "--whole", "--json"], b"one\n\ntwo\n");
    assert_eq!(said.all(), r#"{"id":3}"#);
    // The queue has room for two more.
    let said = site.qk_from(&["push", &queue, "-"], "x\n".repeat(300).as_bytes());
    assert_eq!((&*said.out, said.status), ("4\n5\n", 1));
    assert_eq!(said.err, "qk: full: 2 were pushed, and the next was not\n");
    let leasing = site.leasing(&queue).await;
    let page = leasing.peek(Place::Ready, Page::first(9)).await;
    let bodies = page.unwrap().entries;
    let bodies: Vec<&[u8]> = bodies.iter().map(|one| &*one.message.body).collect();
    assert_eq!(
        bodies,
        [&b"one"[..], b"\xfftwo", b"one\n\ntwo\n", b"x", b"x"]
    );
    // More than one call takes.
    let large = open(&site, QueueKind::Reliable, 0).await;
    let said = site.qk_from(&["push", &large, "-"], "x\n".repeat(1_000).as_bytes());
    assert_eq!((said.out.lines().count(), said.status), (1_000, 0));
}
