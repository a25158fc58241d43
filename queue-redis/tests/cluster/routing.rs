//! How a client recognises a cluster, and the cost of a call to it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use queue_core::*;
use real_redis::{Cluster, Server};

use super::{PATIENCE, Test, connect, errors::assert_lasts, open::open, patient::patient, slot_of};

/// Calls of scripts, redirections and other refusals, on each server.
fn counts(cluster: &Cluster) -> Vec<(u64, u64)> {
    let servers = cluster.servers().iter();
    let counts = servers.map(|server| {
        let calls = server.command_counts().expect("it answers").of("evalsha");
        let errors: String = server.ask(&["INFO", "errorstats"]).expect("it answers");
        let errors = errors.matches("errorstat_").count();
        (calls, errors as u64)
    });
    counts.collect()
}

#[tokio::test]
async fn a_call_goes_straight_to_the_node_that_has_its_queue() -> Test {
    let cluster = Cluster::start(3, 0, Server::builder())?;
    let backend = connect(&cluster).await?;
    let mut owners = BTreeSet::new();
    for number in 0..12 {
        let name = format!("q{number}");
        let queue = open(&backend, &name).await?;
        let owner = cluster.owner(slot_of(&cluster, &name))?;
        owners.insert(owner);
        let before = counts(&cluster);
        let _ = queue.push_one("work").await?;
        let after = counts(&cluster);
        for (server, (before, after)) in before.iter().zip(&after).enumerate() {
            let own = u64::from(server == owner);
            assert_eq!(after.0 - before.0, own, "calls to {server} for {name}");
            assert_eq!(after.1, before.1, "refusals by {server}");
        }
    }
    assert_eq!(owners.len(), 3, "the queues are all over the cluster");
    let most = std::num::NonZeroUsize::new(100).expect("positive");
    let listed = backend.queues(None, most).await?;
    assert_eq!(listed.len(), 12);
    assert!(listed.iter().all(|queue| {
        queue
            .counters
            .is_some_and(|counters| counters.depth.ready == 1)
    }));
    backend.ping().await?;
    assert!(backend.health().is_up());
    Ok(())
}

/// The messages that the servers have sent each other for publications since they started.
fn published(cluster: &Cluster) -> u64 {
    let sent = cluster.servers().iter().map(|server| {
        let info: String = server.ask(&["CLUSTER", "INFO"]).expect("it tells");
        let mut lines = info.lines();
        let sent = lines.find_map(|line| line.strip_prefix("cluster_stats_messages_publish_sent:"));
        // The line is missing before the first of these messages.
        sent.map_or(0, |sent| sent.trim().parse::<u64>().expect("a number"))
    });
    sent.sum()
}

#[tokio::test]
async fn a_wake_up_costs_one_message_to_each_other_node() -> Test {
    const ROUNDS: u64 = 10;
    let cluster = Cluster::start(3, 0, Server::builder())?;
    let (here, elsewhere) = (connect(&cluster).await?, connect(&cluster).await?);
    let (waiting, pushing) = (open(&here, "q").await?, open(&elsewhere, "q").await?);
    for _ in 0..ROUNDS {
        let consumer = tokio::spawn({
            let waiting = Arc::clone(&waiting);
            async move { waiting.receive_one(PATIENCE, PATIENCE).await }
        });
        // The consumer waits by then. If it is late, it finds the message without a wake-up.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let _ = pushing.push_one("work").await?;
        let receipt = consumer.await??.expect("it comes").receipt;
        waiting.ack(receipt).await?;
    }
    let sent = published(&cluster);
    assert!((2..=2 * ROUNDS).contains(&sent), "{sent}");
    assert_eq!(sent % 2, 0, "as many to each of the two others");
    Ok(())
}

#[tokio::test]
async fn a_cluster_and_a_single_server_are_distinguished() -> Test {
    let cluster = Cluster::start(2, 0, Server::builder())?;
    let node = cluster.servers()[0].tcp_url().expect("it has a port");
    let alone = Server::builder().with_tcp().start()?;
    let alone = alone.tcp_url().expect("it has a port");
    for (url, way_out) in [
        (node, "redis+cluster://"),
        (alone.replace("redis://", "redis+cluster://"), "redis://"),
    ] {
        let error = patient(&url).connect().await.expect_err(&url);
        assert_lasts(&error, &[way_out]);
    }
    Ok(())
}

#[tokio::test]
async fn one_server_of_the_url_is_enough() -> Test {
    let cluster = Cluster::start(3, 0, Server::builder().with_password("secret"))?;
    let last = cluster.servers()[2].port().expect("it has a port");
    let nobody = "127.0.0.1:1";
    let url = format!("redis+cluster://:secret@{nobody},127.0.0.1:{last}/0?prefix=shop");
    let backend = patient(&url).connect().await?;
    for number in 0..6 {
        let name = format!("q{number}");
        let _ = open(&backend, &name).await?.push_one("work").await?;
    }
    let wrong = url.replace("secret", "other");
    let error = patient(&wrong)
        .connect()
        .await
        .expect_err("a wrong password");
    assert_lasts(&error, &[]);
    assert!(!error.to_string().contains("other@"), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_absent_node_allows_a_connect_and_an_unfit_node_refuses_it() -> Test {
    let cluster = Cluster::start(3, 0, Server::builder())?;
    let server = &cluster.servers()[2];
    server.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"])?;
    let error = connect(&cluster).await.expect_err("a node drops messages");
    assert_lasts(&error, &["allkeys-lru"]);
    server.kill()?;
    let backend = connect(&cluster).await?;
    assert!(!backend.health().is_up(), "the others serve their queues");
    Ok(())
}

/// Since 7.0, Redis can be configured to name no host: then each node has the host of the node that was
/// asked.
#[tokio::test]
async fn nodes_that_name_no_host_are_where_they_were_asked() -> Test {
    let cluster = Cluster::start(3, 0, Server::builder())?;
    for server in cluster.servers() {
        let setting = ["cluster-preferred-endpoint-type", "unknown-endpoint"];
        if let Err(error) = server.ask::<()>(&["CONFIG", "SET", setting[0], setting[1]]) {
            eprintln!("skipped: this server always names its host: {error}");
            return Ok(());
        }
    }
    let backend = connect(&cluster).await?;
    let queue = open(&backend, "q").await?;
    let _ = queue.push_one("before").await?;
    let slot = slot_of(&cluster, "q");
    let from = cluster.owner(slot)?;
    cluster.migrate(slot, from, (from + 1) % 3)?;
    // The old owner names only the port of the new one.
    let _ = queue.push_one("after").await?;
    assert_eq!(queue.depth().await?.ready, 2);
    let health = backend.health();
    assert!(health.is_up(), "{health:?}");
    Ok(())
}

/// How many calls all servers refused for this reason.
fn refused(cluster: &Cluster, code: &str) -> u64 {
    let servers = cluster.servers().iter();
    let counts = servers.map(|server| {
        let errors: String = server.ask(&["INFO", "errorstats"]).expect("it answers");
        let field = format!("errorstat_{code}:count=");
        let mut lines = errors.lines();
        let count = lines.find_map(|line| line.strip_prefix(&field)?.trim().parse::<u64>().ok());
        count.unwrap_or(0)
    });
    counts.sum()
}

/// The slot's owner redirects a single call to the node that takes the slot over; that node would redirect
/// the next call back.
#[tokio::test]
async fn a_slot_that_is_on_its_way_stays_with_its_owner() -> Test {
    const CALLS: u64 = 5;
    let cluster = Cluster::start(2, 0, Server::builder())?;
    let backend = connect(&cluster).await?;
    open(&backend, "q").await?;
    // The list of queues is one key, so a call for it can be served half-way.
    let slot: u16 = cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", "qk:queues"])?;
    let from = cluster.owner(slot)?;
    cluster.begin_to_migrate(slot, from, 1 - from, usize::MAX)?;
    let most = std::num::NonZeroUsize::MIN;
    for call in 1..=CALLS {
        assert_eq!(backend.queues(None, most).await?.len(), 1);
        assert_eq!(refused(&cluster, "ASK"), call);
    }
    assert_eq!(refused(&cluster, "MOVED"), 0);
    cluster.migrate(slot, from, 1 - from)?;
    for _ in 0..CALLS {
        assert_eq!(backend.queues(None, most).await?.len(), 1);
    }
    assert!(refused(&cluster, "MOVED") <= 1, "the new owner is known");
    Ok(())
}
