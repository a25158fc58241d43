//! Every setting that takes a time or a count: both ends of its range work, and an error names any value
//! beyond them.

use std::{collections::BTreeSet, fmt::Debug, fs, path::Path, time::Duration};

use queue_core::*;
use queue_recipes::*;

use crate::{
    ground::{Ground, SOON, lease_bodies, leasing, push},
    until::PATIENCE,
};

const MILLI: Duration = Duration::from_millis(1);
const TOO_SHORT: Duration = Duration::from_nanos(999_999);
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const DECADE: Duration = Duration::from_secs(3_650 * 24 * 60 * 60);
/// The refused values of a poll interval, and of a blocking pop's time.
const NO_TIMES: [Duration; 4] = [
    Duration::ZERO,
    TOO_SHORT,
    WEEK.saturating_add(MILLI),
    Duration::MAX,
];

/// The recipe opens, and its queue takes a message; a leasing queue also polls and waits.
async fn works(ground: &Ground, recipe: impl Recipe, what: &str) {
    ground.foreign().run::<String>(&["FLUSHALL"]);
    let opened = ground.try_open(recipe, "q", 3).await;
    let queue = opened.unwrap_or_else(|error| panic!("{what}: {error}"));
    match &queue {
        AnyQueue::Rotating(ring) => {
            ring.insert_one("m").await.map(drop).expect(what);
            ring.rotate(1.try_into().expect("not zero"))
                .await
                .map(drop)
                .expect(what);
            ring.wait_for_turn(SOON).await.expect(what);
        }
        AnyQueue::Bounded(_) => push(&queue, &["m"]).await,
        _ => {
            push(&queue, &["m"]).await;
            let bodies = lease_bodies(&queue, 9).await;
            assert!(bodies.len() <= 1, "{what}");
            let leases = leasing(&queue);
            let waits = leases.wait_for_arrival(SOON);
            let waited = tokio::time::timeout(PATIENCE, waits).await;
            waited.expect("a wait is no longer").expect(what);
        }
    }
}

async fn refused(ground: &Ground, recipe: impl Recipe, setting: &str, value: &str) {
    let opened = ground.try_open(recipe, "q", 3).await;
    let error = opened.expect_err(setting);
    let kind_and_outcome = (error.kind(), error.outcome());
    assert_eq!(
        kind_and_outcome,
        (ErrorKind::Invalid, Outcome::NotApplied),
        "{error}"
    );
    let text = error.to_string();
    for part in [&*format!("`{setting}` of {value}"), "is allowed"] {
        assert!(text.contains(part), "{setting}: {text}");
    }
}

fn shown(value: impl Debug) -> String {
    format!("{value:?}")
}

macro_rules! settings {
    ($($recipe:ident::$setting:ident($made:expr): $allowed:expr, not $refused:expr;)*) => {
        const TABLE: &[&str] = &[$(concat!(stringify!($recipe), "::", stringify!($setting))),*];

        #[tokio::test]
        async fn the_ends_of_each_range_work_and_beyond_them_is_refused() {
            let ground = Ground::start().await;
            $(
                for value in $allowed {
                    let what = format!("{} {value:?}", concat!(stringify!($recipe), "::", stringify!($setting)));
                    works(&ground, $made.$setting(value), &what).await;
                }
                for value in $refused {
                    refused(&ground, $made.$setting(value), stringify!($setting), &shown(value)).await;
                }
            )*
        }
    };
}

settings! {
    ZsetString::previous(ZsetString::default()): [Duration::ZERO, DECADE],
        not [DECADE + MILLI, Duration::MAX];
    ZsetString::unit(ZsetString::default()): [MILLI, WEEK], not NO_TIMES;
    ZsetString::num(ZsetString::default()): [1, usize::MAX], not [0];
    ZsetString::poll(ZsetString::default()): [MILLI, WEEK], not NO_TIMES;
    WaitActive::tick(WaitActive::default()): [MILLI, WEEK], not NO_TIMES;
    WaitActive::batch(WaitActive::default()): [1, 1_000_000], not [0, 1_000_001, usize::MAX];
    WaitActive::timeout(WaitActive::default()): [MILLI, WEEK], not NO_TIMES;
    ZsetJson::claim_timeout(ZsetJson::default().with_processing()): [Duration::ZERO, WEEK],
        not [WEEK + MILLI, Duration::MAX];
    ZsetJson::poll(ZsetJson::default()): [MILLI, WEEK], not NO_TIMES;
    BlockingList::timeout(BlockingList::default()): [MILLI, WEEK], not NO_TIMES;
    PrivateBackup::timeout(PrivateBackup::of_client("w7")): [MILLI, WEEK], not NO_TIMES;
    SharedBackup::with_checker(SharedBackup::default()): [MILLI, WEEK], not NO_TIMES;
    SharedBackup::poll(SharedBackup::default()): [MILLI, WEEK], not NO_TIMES;
    Stream::poll(Stream::consumer("w7")): [MILLI, WEEK], not NO_TIMES;
    PriorityLists::timeout(PriorityLists::default()): [MILLI, WEEK], not NO_TIMES;
    Rotation::poll(Rotation::default()): [MILLI, WEEK], not NO_TIMES;
}

/// The public settings in a source that take a time or a count.
fn settings_of(source: &str) -> Vec<String> {
    const TAKES: [&str; 7] = ["Duration", "usize", "u8", "u16", "u32", "u64", "f64"];
    let mut found = Vec::new();
    let mut owner = "";
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let rest = &source[at..];
        at += line.len();
        if let Some(begun) = line.strip_prefix("impl ") {
            owner = begun.split([' ', '<', '{']).next().unwrap_or_default();
        }
        let line = line.trim_start();
        let function = ["pub fn ", "pub const fn "]
            .iter()
            .find_map(|begin| line.strip_prefix(begin));
        let Some(name) = function.and_then(|rest| rest.split(['(', '<']).next()) else {
            continue;
        };
        let signature = rest.split('{').next().unwrap_or_default();
        if TAKES
            .iter()
            .any(|kind| signature.contains(&format!(": {kind}")))
        {
            found.push(format!("{owner}::{name}"));
        }
    }
    found
}

fn sources(folder: &Path, read: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => sources(&path, read),
            false => read(&fs::read_to_string(path).expect("a source")),
        }
    }
}

#[test]
fn each_setting_that_takes_a_time_or_a_count_is_in_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeSet::new();
    sources(&folder, &mut |source| found.extend(settings_of(source)));
    let table = TABLE.iter().map(|name| (*name).to_owned());
    assert_eq!(found, table.collect());
}

#[test]
fn a_setting_is_found_in_its_source() {
    let source = "impl Recipe for Other {}\nimpl List {\n    pub const fn poll(mut self, interval: Duration) -> Self {\n    \
                  pub fn key(mut self, key: impl Into<String>) -> Self {\n    pub fn batch(\n        mut self,\n        \
                  most: usize,\n    ) -> Self {\n    fn own(times: Duration) {}\n}\n";
    assert_eq!(settings_of(source), ["List::poll", "List::batch"]);
}
