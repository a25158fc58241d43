//! The suite on the recipes, on a real Redis and on a cluster in real time: the cases that each recipe's guarantees
//! allow.

#![cfg(unix)]

mod cluster;
mod suite;

use std::{sync::Arc, time::Duration};

use queue_conformance::{Ending, Skip, cases};
use queue_core::QueueKind;
use queue_recipes::{
    BlockingList, DistinctZset, FixedLength, KeyLock, PriorityLists, PrivateBackup, Recipe,
    RecipeBackend, Rotation, SharedBackup, Stream, WaitActive, ZsetJson, ZsetString,
};
use real_redis::Server;

use self::suite::{ANSWER, Home, RecipeHarness, plays};

impl Home for Server {
    fn address(&self) -> String {
        self.url()
    }

    fn all(&self) -> &[Server] {
        std::slice::from_ref(self)
    }
}

/// The poll interval: no case waits for longer.
const POLL: Duration = Duration::from_millis(5);
/// The time of a blocking pop. The server ends one whose client is gone.
const BLOCK: Duration = Duration::from_secs(1);

macro_rules! harness {
    (|$client:pat_param| $recipe:expr) => {{
        let make = |$client: u64| $recipe;
        let server = Server::start().unwrap_or_else(|error| panic!("{error}"));
        RecipeHarness::new(server, make(0).guarantees(), |$client, redis| {
            Arc::new(RecipeBackend::new(redis, $recipe))
        })
    }};
}

macro_rules! recipes {
    ($($name:ident: $least:literal, |$client:pat_param| $recipe:expr;)*) => {
        $(
            #[test]
            fn $name() {
                plays($least, &harness!(|$client| $recipe));
            }
        )*
    };
}

recipes! {
    zset_string: 20, |_| ZsetString::default().num(128).poll(POLL);
    // The recipe may forget a message (L7), which then ends a case early; it has 20 cases.
    wait_active: 12, |_| WaitActive::default().tick(POLL).batch(1_000).timeout(BLOCK);
    zset_json: 15, |_| ZsetJson::default().poll(POLL);
    zset_json_with_processing: 17, |_| ZsetJson::default().with_processing().poll(POLL);
    zset_json_with_claims_scored_by_their_times: 17, |_| ZsetJson::default()
        .with_processing()
        .claim_timeout(ANSWER)
        .poll(POLL);
    zset_json_with_priority: 15, |_| ZsetJson::default().with_priority().poll(POLL);
    blocking_list: 14, |_| BlockingList::default().timeout(BLOCK);
    blocking_list_in_the_other_direction: 14, |_| BlockingList::default().rpush_blpop().timeout(BLOCK);
    private_backup: 7, |client| PrivateBackup::of_client(format!("client-{client}")).timeout(BLOCK);
    shared_backup: 16, |_| SharedBackup::default().poll(POLL);
    shared_backup_with_checker: 13, |_| SharedBackup::default().with_checker(ANSWER).poll(POLL);
    stream: 16, |client| Stream::consumer(format!("consumer-{client}")).poll(POLL);
    priority_lists: 15, |_| PriorityLists::default()
        .levels([(3, "urgent"), (1, "high"), (0, "normal")])
        .timeout(BLOCK);
    fixed_length_naive: 5, |_| FixedLength::naive();
    fixed_length_newest_last: 6, |_| FixedLength::newest_last();
    fixed_length_newest_first: 6, |_| FixedLength::newest_first();
    fixed_length_trim: 6, |_| FixedLength::trim();
    fixed_length_trim_in_two: 5, |_| FixedLength::trim_in_two();
    distinct_zset: 4, |_| DistinctZset::default();
    distinct_zset_add_first: 5, |_| DistinctZset::default().add_first();
    key_lock: 6, |_| KeyLock::default();
    rotation: 5, |_| Rotation::default().poll(POLL);
}

#[test]
fn a_case_says_what_the_recipe_breaks_or_lacks() {
    let backup = harness!(|client| PrivateBackup::of_client(format!("client-{client}")));
    let case = |name: &str| {
        let name = format!("{}::{name}", backup.guarantees.kind);
        let case = cases().iter().find(|case| case.name() == name);
        let ending = backup.play(case.expect("there is such a case"));
        ending.expect("the case holds")
    };
    let ending = case("l6_a_retry_on_the_last_attempt_answers_dead");
    let Ending::Skipped(Skip::Breaks { rule, .. }) = ending else {
        panic!("{ending:?}")
    };
    assert_eq!(rule, "L6");
    for (name, lacking) in [
        ("l5_what_goes_in_comes_out_and_nothing_else", "headers"),
        ("waiting_a_push_wakes_a_consumer", "several messages"),
        ("operators_purge_goes_in_delivery_order", "purge"),
        (
            "configuration_that_differs_is_a_mismatch",
            "stored configuration",
        ),
    ] {
        let ending = case(name);
        let Ending::Skipped(Skip::Lacks(what)) = ending else {
            panic!("{name}: {ending:?}")
        };
        assert!(what.contains(lacking), "{name}: {what}");
    }
    assert_eq!(case("waiting_without_end_ends_with_a_push"), Ending::Played);
    assert_eq!(backup.guarantees.kind, QueueKind::Reliable);
}
