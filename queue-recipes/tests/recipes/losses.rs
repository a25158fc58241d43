//! Losses of strategies that no run of the simulator can show: it does not see what executed at the server,
//! or it lacks a client that never comes back.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::ground::{
    Ground, LONG, SOON, counts, dropping, end_live, lease_bodies, leasing, push, take,
};

/// A client that dies and stays away keeps its message.
#[tokio::test]
async fn a_private_backup_waits_for_its_client_for_ever() {
    let ground = Ground::start().await;
    let dead = ground.open(PrivateBackup::of_client("dead"), "q").await;
    push(&dead, &["m"]).await;
    take(&dead, 1).await;
    drop(dead);
    let other = ground.open(PrivateBackup::of_client("other"), "q").await;
    ground.pass(LONG * 24);
    assert!(lease_bodies(&other, 9).await.is_empty());
    let again = ground.open(PrivateBackup::of_client("dead"), "q").await;
    assert_eq!(
        lease_bodies(&again, 9).await,
        ["m"],
        "it comes back with its client"
    );
}

/// The distributor asks whether a topic has messages, and forgets the topic; a push comes between.
#[tokio::test]
async fn a_push_between_exists_and_srem_is_forgotten_by_the_distributor() {
    let ground = Ground::start().await;
    let recipe = WaitActive::default().tick(SOON);
    let mut foreign = ground.foreign();
    let _: u64 = foreign.run(&["SADD", "delay:meta:topic:wait", "delay:wait:q"]);
    assert_eq!(foreign.run::<u64>(&["EXISTS", "delay:wait:q"]), 0);
    let producer = ground.open(recipe.clone().without_distributor(), "q").await;
    push(&producer, &["m"]).await;
    let _: u64 = foreign.run(&["SREM", "delay:meta:topic:wait", "delay:wait:q"]);
    let consumer = ground.open(recipe, "q").await;
    let forgotten = leasing(&consumer).receive(1, LONG, SOON * 20).await;
    assert!(forgotten.expect("it polls").is_empty());
    assert_eq!(counts(&consumer).await, [0, 1, 0, 0], "it waits");
    push(&producer, &["another"]).await;
    assert_eq!(
        take(&consumer, 1).await.len(),
        1,
        "the next push brings it back"
    );
}

/// A producer dies between its lock and its push: repeats are refused, and the message never came.
#[tokio::test]
async fn a_lock_outlives_a_push_that_never_came() {
    let ground = Ground::start().await;
    let AnyQueue::Bounded(queue) = ground.open(KeyLock::default(), "gifts").await else {
        panic!("it is bounded");
    };
    let mut foreign = ground.foreign();
    let lock = ["SET", "{gifts}:lock:ann", "7", "NX", "PX", "60000"];
    let _: String = foreign.run(&lock);
    let gift = Push::new("gift").with_dedup("ann", Duration::from_secs(60));
    let repeat = queue.push_one(dropping(gift)).await;
    assert_eq!(
        repeat.expect("it answers"),
        Pushed::Duplicate(MessageId::new(7))
    );
    assert!(queue.recent(9).await.expect("it reads").is_empty());
}

/// Messages that are due at once are delivered in the order of their bytes, not of their pushes.
#[tokio::test]
async fn ties_of_a_sorted_set_go_by_the_bytes() {
    let ground = Ground::start().await;
    for recipe in [ZsetJson::default(), ZsetJson::default().with_processing()] {
        let queue = ground.open(recipe, "q").await;
        push(&queue, &["second"]).await;
        push(&queue, &["first"]).await;
        assert_eq!(lease_bodies(&queue, 9).await, ["first", "second"]);
    }
}

/// A consumer that polled before a defer takes the deferred message, long before it is due.
#[tokio::test]
async fn a_claim_of_a_body_that_was_deferred_meanwhile_comes_early() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let other = ground.open(ZsetJson::default().poll(SOON), "q").await;
    push(&other, &["m"]).await;
    let now = crate::ground::START.to_string();
    let query = ["ZRANGEBYSCORE", "delay_queue:q", "-inf", &now];
    assert_eq!(foreign.run::<Vec<String>>(&query), ["m"]);
    let held = take(&other, 1).await.remove(0);
    end_live(&other, Settlement::defer(held.receipt, LONG)).await;
    assert_eq!(counts(&other).await, [0, 1, 0, 0], "due in an hour");
    let claimed: u64 = foreign.run(&["ZREM", "delay_queue:q", "m"]);
    assert_eq!(claimed, 1, "and taken now");
}

/// A lease of several messages pops one by one, and another lease comes in between: the messages are in the
/// order of their pushes in neither order of the two leases.
#[tokio::test]
async fn a_lease_between_two_pops_of_another_breaks_the_order() {
    for recipe in [
        SharedBackup::default(),
        SharedBackup::default().with_checker(LONG),
    ] {
        let ground = Ground::start().await;
        let queue = ground.open(recipe, "q").await;
        push(&queue, &["m1", "m2", "m3"]).await;
        let mut several = ground.foreign();
        let pop = ["RPOPLPUSH", "q", "{q}:backup"];
        let first: String = several.run(&pop);
        let between = lease_bodies(&queue, 1).await;
        let second: String = several.run(&pop);
        assert_eq!(
            ([&*first, &*second], &*between),
            (["m1", "m3"], &["m2".into()][..])
        );
    }
}

/// An entry of a stream is claimed after the lease time of its claimer: a claimer with a longer lease time
/// waits longer than the holder's lease.
#[tokio::test]
async fn a_claimer_of_a_stream_waits_for_its_own_lease_time() {
    let ground = Ground::start().await;
    let dead = ground.open(Stream::consumer("dead").poll(SOON), "q").await;
    push(&dead, &["m"]).await;
    let short = Duration::from_millis(1);
    let held = leasing(&dead)
        .receive(1, short, crate::until::PATIENCE)
        .await;
    assert_eq!(held.expect("it takes").len(), 1);
    let other = ground.open(Stream::consumer("other").poll(SOON), "q").await;
    let late = leasing(&other).receive(1, LONG, SOON * 5).await;
    assert!(
        late.expect("it polls").is_empty(),
        "the lease of 1 ms is over"
    );
    let taken = leasing(&other)
        .receive(1, short, crate::until::PATIENCE)
        .await;
    assert_eq!(taken.expect("it polls")[0].attempt, 2);
}

/// A message of a blocked pop waits in its handle although it is the most urgent: meanwhile another handle
/// takes a less urgent one.
#[tokio::test]
async fn a_returned_message_in_a_blocked_handle_is_overtaken() {
    let ground = Ground::start().await;
    let blocked = ground.open(PriorityLists::default(), "q").await;
    let other = ground.open(PriorityLists::default(), "q").await;
    let AnyQueue::Priority(queue) = &other else {
        panic!("it has priorities");
    };
    let urgent = [Push::new("urgent").with_priority(10)];
    queue.push(&urgent).await.expect("it pushes");
    let held = take(&other, 1).await.remove(0);
    let waits = {
        let queue = leasing(&blocked);
        tokio::spawn(async move { queue.wait_for_arrival(crate::until::PATIENCE).await })
    };
    ground.until_blocked().await;
    end_live(&other, Settlement::release(held.receipt)).await;
    waits.await.expect("no panic").expect("it waits");
    push(&other, &["less urgent"]).await;
    assert_eq!(lease_bodies(&other, 9).await, ["less urgent"]);
    assert_eq!(lease_bodies(&blocked, 9).await, ["urgent"]);
}
