//! Cases of a backend as a whole: names, kinds and stored configurations.

use queue_core::*;

use crate::{
    stage::{Stage, ms, name},
    steps::*,
};

/// Opens a queue of this kind with its default configuration.
pub(super) async fn open(stage: &Stage<'_>, kind: QueueKind, queue: &str) -> Result<()> {
    let config = QueueConfig::of(kind, 5);
    let opened = stage.backend().open(&name(queue), &config).await?;
    assert_eq!(opened.kind(), kind, "the kind that was asked for");
    Ok(())
}

/// A configuration that differs from [`open`]'s in every setting of the kind.
pub(super) fn otherwise(kind: QueueKind) -> QueueConfig {
    let mut config = QueueConfig::of(kind, 9);
    if let Some(leasing) = config.leasing_mut() {
        (leasing.max_attempts, leasing.dead_letter_cap) = (2, 1);
    }
    match &mut config {
        QueueConfig::Priority(config) => config.ageing = Some(ms(20)),
        QueueConfig::Rotating(config) => config.pace = Some(ms(30)),
        _ => {}
    }
    config
}

pub(crate) async fn limits_a_bad_name_is_refused(_stage: &Stage<'_>) {
    refused(QueueName::new(""), "must not be empty");
    refused(QueueName::new("x".repeat(129)), "129 bytes");
    for wrong in [
        "two words",
        "line\n",
        "nul\0",
        "bell\u{7}",
        "{tag}",
        "ümlaut",
        "a/b",
        "a*b",
        ".",
        "..",
    ] {
        refused(QueueName::new(wrong), &format!("{wrong:?}"));
    }
}

pub(crate) async fn limits_every_allowed_name_is_its_own_queue(stage: &Stage<'_>) {
    let longest = "x".repeat(128);
    let names = [
        "a",
        "A",
        "a:",
        "a:b",
        "a.b",
        "...",
        ".a",
        "a..",
        "a-b",
        "a_b",
        "0",
        longest.as_str(),
    ];
    for queue in names {
        open(stage, stage.kinds()[0], queue).await.expect("opens");
    }
    assert_eq!(queues(stage.backend()).await.len(), names.len());
}

pub(crate) async fn r2_a_handle_that_confirms_nothing_makes_no_call(stage: &Stage<'_>) {
    let asks_for_nothing = Confirmation::replicas(0);
    refused(
        stage.backend().confirmed(asks_for_nothing).await,
        "0 replicas",
    );
    for kind in stage.kinds() {
        let config = QueueConfig::of(kind, 5);
        let opened = stage.backend().open(&name(kind.as_str()), &config).await;
        let mut called = false;
        let call = async {
            called = true;
            Ok(())
        };
        let confirmed = match opened.expect("opens") {
            AnyQueue::Rotating(ring) => ring.confirmed(|_| call).await,
            queue => {
                let queue = queue.leasing().expect("it leases");
                queue.confirmed(|_| call).await
            }
        };
        let error = confirmed.expect_err("a plain handle");
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
        assert!(!called, "{kind}: the call was made all the same");
    }
}

pub(crate) async fn configuration_a_name_is_one_queue_of_one_kind(stage: &Stage<'_>) {
    for kind in stage.kinds() {
        open(stage, kind, kind.as_str()).await.expect("opens");
        open(stage, kind, kind.as_str()).await.expect("opens again");
        for other in stage.kinds() {
            if other != kind {
                let opened = open(stage, other, kind.as_str()).await;
                let names = [kind.as_str(), other.as_str()];
                refused_as(ErrorKind::ConfigMismatch, opened, &names);
            }
        }
    }
}

pub(crate) async fn operators_queues_lists_what_exists_by_name(stage: &Stage<'_>) {
    let kinds = stage.kinds();
    let list = async |after: Option<&str>, limit| {
        let after = after.map(name);
        stage
            .backend()
            .queues(after.as_ref(), count(limit))
            .await
            .expect("lists")
    };
    assert_eq!(list(None, 10).await, []);
    let names = ["q-3", "q-1", "Q", "q-2", "q-10", "r"];
    for (queue, kind) in names.iter().zip(kinds.iter().cycle()) {
        open(stage, *kind, queue).await.expect("opens");
    }
    let all = list(None, 1_000).await;
    let sorted: Vec<&str> = all.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(
        sorted,
        ["Q", "q-1", "q-10", "q-2", "q-3", "r"],
        "in the order of their bytes"
    );
    for info in &all {
        let opened = names.iter().position(|name| *name == info.name.as_str());
        let opened = opened.expect("was opened");
        assert_eq!(info.kind, kinds[opened % kinds.len()], "{info:?}");
    }
    for limit in 1..=7 {
        let mut seen: Vec<QueueInfo> = Vec::new();
        loop {
            let after = seen.last().map(|info| info.name.to_string());
            let page = list(after.as_deref(), limit).await;
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            seen.extend(page);
        }
        assert_eq!(seen, all, "in pages of {limit}");
    }
    assert_eq!(
        list(Some("q-15"), 1).await[0].name,
        name("q-2"),
        "after a name that is not there"
    );
    assert_eq!(list(Some("r"), 5).await, []);
    refused(stage.backend().queues(None, count(1_001)).await, "1001");
}

pub(crate) async fn operators_the_list_tells_depth_and_pause(stage: &Stage<'_>) {
    for kind in stage.kinds() {
        let config = QueueConfig::of(kind, 5);
        let opened = stage.backend().open(&name(kind.as_str()), &config).await;
        let queue = opened.expect("opens");
        let bodies = ["a", "b", "c"].map(Push::new);
        queue.put(&bodies).await.expect("puts");
        if let Some(queue) = queue.leasing() {
            assert_eq!(take(&*queue, 1).await.len(), 1);
            queue.pause().await.expect("pauses");
        }
    }
    stage.advance(30).await;
    for info in queues(stage.backend()).await {
        let ring = info.kind == QueueKind::Rotating;
        let expected = Depth::new(if ring { 3 } else { 2 }, 0, if ring { 0 } else { 1 }, 0);
        let counters = info.counters.expect("it can be read");
        assert_eq!(counters.depth, expected, "{}", info.kind);
        let is_old = counters.oldest_ready >= Some(ms(30));
        assert_eq!((is_old, counters.paused), (!ring, !ring), "{}", info.kind);
    }
}

pub(crate) async fn configuration_a_stored_queue_is_opened_as_it_is(stage: &Stage<'_>) {
    let other = stage.connect().await;
    for kind in stage.kinds() {
        let (queue, config) = (name(kind.as_str()), otherwise(kind));
        let absent = stage.backend().open_stored(&queue).await;
        assert!(absent.expect("an answer").is_none(), "{kind}: not made yet");
        let small = config.clone().with_max_body(9);
        let opened = stage.backend().open(&queue, &small).await.expect("opens");
        let stored = other.open_stored(&queue).await.expect("an answer");
        let stored = stored.expect("it is there");
        assert_eq!(stored.config, config, "all but the handle's own limit");
        assert_eq!(stored.queue.kind(), kind);
        stored
            .queue
            .put(&[Push::new("more than nine")])
            .await
            .expect("puts");
        let counters = opened.counters().await.expect("reads");
        assert_eq!(counters.depth.ready, 1, "{kind}: one queue");
    }
    let listed = queues(&other).await.len();
    assert_eq!(listed, stage.kinds().len(), "nothing else was made");
}

pub(crate) async fn configuration_a_live_queue_is_reconfigured(stage: &Stage<'_>) {
    let other = stage.connect().await;
    for kind in stage.kinds() {
        let (queue, old) = (name(kind.as_str()), QueueConfig::of(kind, 7));
        let new = otherwise(kind);
        let absent = other.reconfigure(&queue, &new).await;
        assert!(!absent.expect("an answer"), "{kind}: not made yet");
        let opened = stage.backend().open(&queue, &old).await.expect("opens");
        let changed = other.reconfigure(&queue, &new).await;
        assert!(changed.expect("changes"), "{kind}");
        let again = other.reconfigure(&queue, &new).await;
        assert!(again.expect("changes nothing"), "{kind}");
        let stored = other.open_stored(&queue).await.expect("an answer");
        assert_eq!(stored.expect("it is there").config, new);
        let refused_open = open_as(stage, &queue, &old).await;
        refused_as(ErrorKind::ConfigMismatch, refused_open, &["reconfigure"]);
        open_as(stage, &queue, &new).await.expect("opens as stored");
        opened
            .put(&[Push::new("a")])
            .await
            .expect("the old handle goes on");
        if let Some(leasing) = opened.leasing() {
            for attempt in 1..=2 {
                let delivery = take_one(&*leasing).await;
                assert_eq!(delivery.attempt, attempt);
                let retry = Settlement::retry(delivery.receipt, ms(0));
                let settled = settle(&*leasing, retry).await;
                let dead = attempt == 2;
                assert_eq!(settled == Settled::Dead, dead, "by the new attempts");
            }
        }
        for wrong in stage.kinds().into_iter().filter(|wrong| *wrong != kind) {
            let changed = other.reconfigure(&queue, &QueueConfig::of(wrong, 7)).await;
            let names = [kind.as_str(), wrong.as_str()];
            refused_as(ErrorKind::ConfigMismatch, changed, &names);
        }
    }
}

async fn open_as(stage: &Stage<'_>, queue: &QueueName, config: &QueueConfig) -> Result<()> {
    stage.backend().open(queue, config).await.map(drop)
}

pub(crate) async fn operators_two_clients_see_the_same_queues(stage: &Stage<'_>) {
    for kind in stage.kinds() {
        open(stage, kind, kind.as_str()).await.expect("opens");
    }
    let other = stage.connect().await;
    let ours = queues(stage.backend()).await;
    assert_eq!(queues(&other).await, ours);
    assert_eq!(ours.len(), stage.kinds().len());
}

pub(crate) async fn configuration_an_open_may_reconfigure(stage: &Stage<'_>) {
    let other = stage.connect().await;
    for kind in stage.kinds() {
        let (queue, old, new) = (
            name(kind.as_str()),
            QueueConfig::of(kind, 7),
            otherwise(kind),
        );
        for config in [&old, &new, &new, &old] {
            let opened = other.open_or_reconfigure(&queue, config).await;
            let opened = opened.unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(opened.kind(), kind);
            let stored = stage
                .backend()
                .open_stored(&queue)
                .await
                .expect("an answer");
            assert_eq!(stored.expect("it is there").config, *config);
        }
        let opened = stage.backend().open(&queue, &old).await;
        let opened = opened.expect("opens as stored");
        opened.put(&[Push::new("a")]).await.expect("puts");
        for wrong in stage.kinds().into_iter().filter(|wrong| *wrong != kind) {
            let refused = other
                .open_or_reconfigure(&queue, &QueueConfig::of(wrong, 7))
                .await;
            refused_as(
                ErrorKind::ConfigMismatch,
                refused,
                &[kind.as_str(), wrong.as_str()],
            );
        }
        let counters = opened.counters().await.expect("reads");
        assert_eq!(counters.depth.ready, 1, "{kind}: one queue");
    }
}

pub(crate) async fn configuration_a_pace_is_stored(stage: &Stage<'_>) {
    if !stage.kinds().contains(&QueueKind::Rotating) {
        return;
    }
    stage.needs(Feature::Stored);
    let open = async |config: RotatingConfig| {
        stage
            .backend()
            .open_rotating(&name("ring"), &config)
            .await
            .map(drop)
    };
    let paced = |pace| RotatingConfig::default().with_pace(ms(pace));
    refused(open(paced(0)).await, "pace of 0 ms");
    refused(open(paced(365 * 86_400_000 + 1)).await, "of 31536000001 ms");
    refused(
        open(RotatingConfig::default().with_max_body(0)).await,
        "0 bytes",
    );
    open(paced(100)).await.expect("opens");
    let mismatch = ErrorKind::ConfigMismatch;
    refused_as(
        mismatch,
        open(paced(101)).await,
        &["pace", "100 ms", "101 ms"],
    );
    let none = open(RotatingConfig::default()).await;
    refused_as(mismatch, none, &["pace", "100 ms", "none"]);
    open(paced(100).with_max_body(7))
        .await
        .expect("max_body is the handle's own");
}
