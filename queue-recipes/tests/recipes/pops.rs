//! Blocking pops: they run while a caller waits, over one connection.

use queue_core::*;
use queue_recipes::*;
use tokio::time::Instant;

use crate::{
    ground::{Ground, LONG, SOON, counts, lease_bodies, leasing},
    recipes,
    until::until,
};

/// A handle without a waiting caller leaves the messages to other handles.
#[tokio::test]
async fn a_handle_pops_no_more_once_nobody_waits() {
    let ground = Ground::start().await;
    let recipe = BlockingList::default().timeout(SOON);
    let waited = leasing(&ground.open(recipe.clone(), "jobs").await);
    let other = ground.open(recipe, "jobs").await;
    // The wait is dropped while its pop is under way.
    tokio::select! {
        waited = waited.wait_for_arrival(LONG) => panic!("{waited:?}"),
        () = ground.until_blocked() => {}
    }
    let info = || ground.foreign().run::<String>(&["INFO", "clients"]);
    until("the pop ends", || info().contains("blocked_clients:0\r\n")).await;
    // Within a round trip another pop could start.
    assert_eq!(counts(&other).await, [0; 4]);
    let _: u64 = ground.foreign().run(&["LPUSH", "jobs", "here"]);
    assert_eq!(lease_bodies(&other, 9).await, ["here"]);
}

#[tokio::test]
async fn pops_that_end_without_a_message_keep_their_connection() {
    let ground = Ground::start().await;
    let recipe = BlockingList::default().timeout(SOON);
    let jobs = ground.open(recipe, "jobs").await;
    let pops = || {
        let counts = ground.server.command_counts().expect("it counts");
        counts.of("brpop")
    };
    let connection = || {
        let clients: String = ground.foreign().run(&["CLIENT", "LIST"]);
        let pop = clients.lines().find(|line| line.contains("cmd=brpop"));
        pop.and_then(|line| Some(line.split_once(' ')?.0.to_owned()))
    };
    let waits = tokio::spawn({
        let jobs = leasing(&jobs);
        async move { jobs.wait_for_arrival(LONG).await }
    });
    until("it pops", || pops() >= 1).await;
    let first = connection();
    until("it pops again and again", || pops() >= 5).await;
    assert!(first.is_some());
    assert_eq!(connection(), first);
    waits.abort();
}

/// A handle without a waiting caller sends nothing.
#[tokio::test]
async fn a_wait_for_nothing_takes_its_time() {
    for (_ground, made) in recipes::leasing().await {
        let (name, queue) = (made.guarantees.name, leasing(&made.open().await));
        let began = Instant::now();
        queue.wait_for_arrival(SOON).await.expect(name);
        assert!(began.elapsed() >= SOON, "{name}");
        let leased = queue.lease(1.try_into().expect("not zero"), LONG).await;
        assert!(leased.expect(name).next >= Some(SOON), "{name}");
    }
}
