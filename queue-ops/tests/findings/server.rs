//! Findings about the server.

use std::{collections::BTreeSet, time::Duration};

use queue_core::*;
use queue_ops::{Finding, Problem, Severity};

use crate::told::{Site, Told};

/// The findings about a server, on an empty queue.
async fn about(change: impl FnOnce(&mut ServerFacts)) -> Vec<Finding> {
    let mut server = ServerFacts::default();
    server.address = "127.0.0.1:6379".to_owned();
    change(&mut server);
    let mut backend = Told::new();
    backend.server = Some(server);
    let site = Site::on(backend);
    site.queues.reliable("orders").open::<u64>().await.unwrap();
    let found = site.why().await.findings.into_iter();
    found.filter(|one| one.problem != Problem::Empty).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_well_has_no_finding() {
    assert_eq!(about(|_| {}).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_full_memory_is_told_from_another_refusal() {
    for (memory, limit, said) in [
        (
            99,
            Some(100),
            "the server refuses writes: it is loading: `qk check`",
        ),
        (
            100,
            Some(100),
            "the server refuses pushes: it is loading; consumers can drain it: `qk check`",
        ),
        (
            101,
            Some(100),
            "the server refuses pushes: it is loading; consumers can drain it: `qk check`",
        ),
        (
            101,
            None,
            "the server refuses writes: it is loading: `qk check`",
        ),
    ] {
        let found = about(|server| {
            server.memory = memory;
            server.memory_limit = limit;
            server.refuses_writes = Some("it is loading".to_owned());
        });
        let found = found.await;
        assert_eq!(found[0].to_string(), said);
        assert_eq!(found[0].severity, Severity::Standstill);
        assert_eq!(found.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_present_for_a_minute_old_after_an_hour_and_the_latest_counts() {
    for (millis, severity) in [
        (59_999, Some(Severity::Standstill)),
        (60_000, Some(Severity::Note)),
        (3_599_999, Some(Severity::Note)),
        (3_600_000, None),
    ] {
        let found = about(|server| {
            let old = Duration::from_secs(86_400 * 3);
            let latest = denied("shop", "ZREM", Duration::from_millis(millis));
            server.denied = vec![latest, denied("other", "ZREM", old)];
        });
        let found = found.await;
        let told: Vec<_> = found.iter().map(|one| one.severity).collect();
        assert_eq!(told, Vec::from_iter(severity), "{millis}");
        if let Some(first) = found.first() {
            let said = first.to_string();
            let begins = "user `shop` lacks the right to ZREM (refused 3 ×, last ";
            assert!(
                said.starts_with(begins) && said.ends_with(" ago): `qk acl`"),
                "{said}"
            );
        }
    }
}

/// Another queue's user has no part in it, and a present cause comes before a refusal.
#[tokio::test(start_paused = true)]
async fn a_refusal_accuses_users_of_this_queue_below_a_present_cause() {
    let elsewhere = "the key qk:{others}:ready";
    let found = about(|server| server.denied = vec![denied("shop", elsewhere, Duration::ZERO)]);
    assert_eq!(found.await, []);

    let mut server = ServerFacts::default();
    server.denied = vec![denied("shop", "the key qk:{orders}:ready", Duration::ZERO)];
    let mut backend = Told::new();
    backend.server = Some(server);
    let site = Site::on(backend);
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push(&1).await.unwrap();
    site.at(2_000).await;
    let expected = [Problem::NoConsumer, Problem::RightMissing];
    assert_eq!(site.problems().await, expected);
}

fn denied(user: &str, what: &str, age: Duration) -> Denied {
    Denied::new(user.to_owned(), what.to_owned(), 3, age)
}

#[tokio::test(start_paused = true)]
async fn a_move_and_each_warning_are_named_the_worst_first() {
    let found = about(|server| {
        server.warnings = vec!["no appendonly".to_owned(), "it swaps".to_owned()];
        server.moving_to = Some("127.0.0.1:7001".to_owned());
        server.refuses_writes = Some("it is loading".to_owned());
    });
    let found: Vec<_> = found
        .await
        .into_iter()
        .map(|one| (one.problem, one.severity, one.sentence))
        .collect();
    let note = |text: &str| (Problem::ServerWarning, Severity::Note, text.to_owned());
    let stop = |problem, text: &str| (problem, Severity::Standstill, text.to_owned());
    let moving = "its slot is moving to 127.0.0.1:7001: calls wait while its keys move";
    assert_eq!(
        found,
        [
            stop(Problem::Moving, moving),
            stop(
                Problem::RefusesWrites,
                "the server refuses writes: it is loading"
            ),
            note("no appendonly"),
            note("it swaps"),
        ]
    );
}

/// The server's own facts say more than the error of a call.
#[tokio::test(start_paused = true)]
async fn of_a_queue_that_cannot_be_read_the_server_is_shown() {
    for (kind, problem) in [
        (ErrorKind::Unavailable, Problem::Unreachable),
        (ErrorKind::Configuration, Problem::RightMissing),
        (ErrorKind::Internal, Problem::Unreadable),
    ] {
        let mut server = ServerFacts::default();
        server.refuses_writes = Some("it is loading".to_owned());
        let mut backend = Told::new();
        (backend.server, backend.refuses) = (Some(server), Some(kind));
        let why = Site::on(backend).why().await;
        let found: BTreeSet<_> = why.findings.iter().map(|one| one.problem).collect();
        let expected = BTreeSet::from([problem, Problem::RefusesWrites]);
        assert_eq!(found, expected, "{kind:?}");
        assert!(why.numbers.is_none());
    }
}
