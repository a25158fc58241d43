//! Changes of the configuration of a queue in use: from each setting to each other, while open handles go on.

use std::collections::BTreeMap;

use queue_core::*;

use crate::{
    stage::{Stage, ms, name},
    steps::*,
};

/// A setting that differs from those of [`plain`].
type Change = fn(&mut QueueConfig);

/// The configuration that the others differ from.
fn plain(kind: QueueKind) -> QueueConfig {
    QueueConfig::of(kind, 1_000)
}

/// A change of each setting of the kind. The limits are so wide that they hold nothing up.
fn changes(kind: QueueKind) -> Vec<Change> {
    fn leasing(config: &mut QueueConfig) -> &mut LeasingConfig {
        config.leasing_mut().expect("a queue that leases")
    }
    let of_leasing: [Change; 4] = [
        |config| leasing(config).max_attempts = 7,
        |config| leasing(config).dead_letter_cap = 3,
        |config| leasing(config).at_once = Some(1_000),
        |config| leasing(config).rate = Some(LeaseRate::new(1_000_000, ms(1))),
    ];
    let of_kind: &[Change] = match kind {
        QueueKind::Priority => &[|config| {
            if let QueueConfig::Priority(config) = config {
                config.ageing = Some(ms(20));
            }
        }],
        QueueKind::Grouped => &[
            |config| {
                if let QueueConfig::Grouped(config) = config {
                    (config.order, config.per_group) = (GroupOrder::Strict, 1);
                }
            },
            |config| {
                if let QueueConfig::Grouped(config) = config {
                    config.on_death = OnDeath::Park;
                }
            },
            |config| {
                if let QueueConfig::Grouped(config) = config {
                    config.group_rate = Some(LeaseRate::new(1_000_000, ms(1)));
                }
            },
        ],
        QueueKind::Bounded => &[|config| {
            if let QueueConfig::Bounded(config) = config {
                config.capacity = 900;
            }
        }],
        QueueKind::Rotating => &[|config| {
            if let QueueConfig::Rotating(config) = config {
                config.pace = Some(ms(1));
            }
        }],
        _ => &[],
    };
    let shared = of_leasing
        .into_iter()
        .filter(|_| QueueKind::LEASING.contains(&kind));
    shared.chain(of_kind.iter().copied()).collect()
}

/// The plain configuration, one with each change, and one with all changes.
fn configs(kind: QueueKind) -> Vec<QueueConfig> {
    let changes = changes(kind);
    let with = |changes: &[Change]| {
        let mut config = plain(kind);
        changes.iter().for_each(|change| change(&mut config));
        config
    };
    let mut configs = vec![plain(kind), with(&changes)];
    configs.extend(changes.iter().map(|change| with(&[*change])));
    every_setting_changes(&configs);
    configs
}

/// A setting that is added later must be among the changes, too.
fn every_setting_changes(configs: &[QueueConfig]) {
    let fields = |config: &QueueConfig| -> BTreeMap<String, String> {
        let text = format!("{config:?}");
        let fields = text.split([',', '{', '}', '(']);
        let fields = fields.filter_map(|field| field.split_once(": "));
        let fields = fields.map(|(field, value)| (field.trim().to_owned(), value.to_owned()));
        // A limit of the handle alone, which nobody stores.
        fields.filter(|(field, _)| field != "max_body").collect()
    };
    let plain = fields(&configs[0]);
    for (field, value) in &plain {
        let differs = |other: &BTreeMap<String, String>| other.get(field) != Some(value);
        let nested = value.trim_end().ends_with("Config");
        let changed = configs.iter().map(fields).any(|other| differs(&other));
        assert!(nested || changed, "no change has another {field}");
    }
}

/// Puts two messages in, and hands both out; one of them twice.
async fn goes_on(queue: &AnyQueue, what: &str) {
    let put = queue.put(&[Push::new("a"), Push::new("b")]).await;
    put.unwrap_or_else(|error| panic!("{what}: {error}"));
    if let AnyQueue::Rotating(ring) = queue {
        let items = ring.list(Page::first(10)).await.expect("lists").entries;
        let ids: Vec<_> = items.iter().map(|item| item.id).collect();
        assert_eq!(ids.len(), 2, "{what}");
        let rotated = ring.rotate(count(2)).await.expect("rotates").items;
        assert_eq!(rotated.len(), 2, "{what}");
        assert_eq!(ring.remove(&ids).await.expect("removes"), 2, "{what}");
        return;
    }
    let leasing = queue.leasing().expect("a queue that leases");
    let held = take_one(&*leasing).await;
    extend(&*leasing, held.receipt, LONG).await;
    settle_live(&*leasing, Settlement::release(held.receipt)).await;
    assert_eq!(drain(&*leasing).await.len(), 2, "{what}");
}

pub(crate) async fn configuration_each_setting_changes_into_each_other_in_use(stage: &Stage<'_>) {
    let other = stage.connect().await;
    for kind in stage.kinds() {
        let queue = name(kind.as_str());
        let configs = configs(kind);
        let open = async |config: &QueueConfig| {
            let opened = stage.backend().open_or_reconfigure(&queue, config).await;
            opened.unwrap_or_else(|error| panic!("{config:?}: {error}"))
        };
        for from in &configs {
            let before = open(from).await;
            for to in configs.iter().filter(|to| *to != from) {
                let what = format!("{from:?} to {to:?}");
                let changed = other.reconfigure(&queue, to).await;
                let changed = changed.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(changed, "{what}");
                goes_on(&before, &what).await;
                let between = open(to).await;
                let back = other.reconfigure(&queue, from).await;
                assert!(back.expect("changes back"), "{what}, and back");
                goes_on(&between, &what).await;
                goes_on(&before, &what).await;
            }
        }
    }
}
