//! Lists as work queues: other programs and our queues on the same keys.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::{
    foreign::Foreign,
    ground::{
        Ground, LONG, SOON, bodies, end, end_live, lease_bodies, leasing, name, push, take,
        take_all_and_ack, taking,
    },
    until::PATIENCE,
};

#[tokio::test]
async fn a_blocking_list_takes_and_removes_messages_that_others_push() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground.open(BlockingList::default(), "jobs").await;
    let _: u64 = foreign.run(&["LPUSH", "jobs", "first"]);
    let _: u64 = foreign.run(&["LPUSH", "jobs", "second"]);
    assert_eq!(take_all_and_ack(&jobs, 2).await, ["first", "second"]);
    ground.holds(&[]);
}

#[tokio::test]
async fn a_wait_on_a_blocking_list_ends_with_a_push_inside_multi() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground.open(BlockingList::default(), "jobs").await;
    let receiver = taking(&jobs);
    ground.until_blocked().await;
    let _: String = foreign.run(&["MULTI"]);
    let _: String = foreign.run(&["LPUSH", "jobs", "one"]);
    let _: String = foreign.run(&["LPUSH", "jobs", "two"]);
    let lengths: Vec<u64> = foreign.run(&["EXEC"]);
    assert_eq!(lengths, [1, 2]);
    let first = receiver.await.expect("no panic");
    assert_eq!(first[0].body, "one");
    assert_eq!(ground.dump(), ["list jobs: two"], "one wait pops one");
    assert_eq!(bodies(&take(&jobs, 1).await), ["two"]);
    assert_eq!(lease_bodies(&jobs, 9).await, [] as [Bytes; 0]);
}

#[tokio::test]
async fn others_pop_messages_that_a_blocking_list_pushes() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground
        .open(BlockingList::default().key("work"), "jobs")
        .await;
    push(&jobs, &["first", "second"]).await;
    ground.holds(&["list work: second | first"]);
    let popped: (String, String) = foreign.run(&["BRPOP", "work", "5"]);
    assert_eq!(popped, ("work".to_owned(), "first".to_owned()));
}

/// Other programs push on the right and pop on the left: our queue takes and puts back at the same ends.
#[tokio::test]
async fn a_blocking_list_goes_in_the_other_direction_too() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let recipe = BlockingList::default().rpush_blpop();
    let jobs = ground.open(recipe, "jobs").await;
    let receiver = taking(&jobs);
    ground.until_blocked().await;
    let _: u64 = foreign.run(&["RPUSH", "jobs", "first", "second"]);
    let first = receiver.await.expect("no panic").remove(0);
    assert_eq!(first.body, "first");
    push(&jobs, &["third"]).await;
    ground.holds(&["list jobs: second | third"]);
    end_live(&jobs, Settlement::release(first.receipt)).await;
    ground.holds(&["list jobs: first | second | third"]);
    let again = take(&jobs, 1).await.remove(0);
    end_live(&jobs, Settlement::retry(again.receipt, Duration::ZERO)).await;
    ground.holds(&["list jobs: second | third | first"]);
    assert_eq!(take_all_and_ack(&jobs, 2).await, ["second", "third"]);
    let popped: (String, String) = foreign.run(&["BLPOP", "jobs", "5"]);
    assert_eq!(popped.1, "first");
}

/// A message that a blocked pop got for a caller who has gone away goes to the next one.
#[tokio::test]
async fn a_dropped_wait_loses_nothing() {
    let ground = Ground::start().await;
    let jobs = ground.open(BlockingList::default(), "jobs").await;
    let receiver = taking(&jobs);
    ground.until_blocked().await;
    receiver.abort();
    assert!(receiver.await.is_err(), "it was dropped");
    let _: u64 = ground.foreign().run(&["LPUSH", "jobs", "here"]);
    ground.until_there_is(&[]).await;
    assert_eq!(bodies(&take(&jobs, 1).await), ["here"]);
}

#[tokio::test]
async fn a_private_backup_is_shared_with_others_of_the_same_client() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    // Another program with the same client name died with a message.
    let _: u64 = foreign.run(&["LPUSH", "jobs", "old"]);
    let _: String = foreign.run(&["RPOPLPUSH", "jobs", "{jobs}:backup:w7"]);
    let _: u64 = foreign.run(&["LPUSH", "jobs", "new"]);
    let jobs = ground.open(PrivateBackup::of_client("w7"), "jobs").await;
    let old = take(&jobs, 9).await;
    assert_eq!(
        bodies(&old),
        ["old"],
        "its own backup first, and one at a time"
    );
    ground.holds(&["list jobs: new", "list {jobs}:backup:w7: old"]);
    assert_eq!(
        lease_bodies(&jobs, 9).await,
        [] as [Bytes; 0],
        "one is in flight"
    );
    end_live(&jobs, Settlement::ack(old[0].receipt)).await;
    ground.holds(&["list jobs: new"]);
    assert_eq!(take_all_and_ack(&jobs, 1).await, ["new"]);
    ground.holds(&[]);
}

#[tokio::test]
async fn a_private_backup_of_ours_is_taken_over_by_others() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground.open(PrivateBackup::of_client("w7"), "jobs").await;
    push(&jobs, &["a", "b"]).await;
    ground.holds(&["list jobs: b | a"]);
    assert_eq!(bodies(&take(&jobs, 1).await), ["a"]);
    drop(jobs);
    let again: String = foreign.run(&["RPOPLPUSH", "{jobs}:backup:w7", "{jobs}:backup:w7"]);
    assert_eq!(again, "a");
    let removed: u64 = foreign.run(&["LREM", "{jobs}:backup:w7", "1", "a"]);
    assert_eq!(
        (removed, ground.dump()),
        (1, vec!["list jobs: b".to_owned()])
    );
}

/// A caller that waits while another's message is in flight gets the next message when that one is settled.
#[tokio::test]
async fn the_end_of_what_is_in_flight_lets_the_next_caller_in() {
    let ground = Ground::start().await;
    let jobs = ground.open(PrivateBackup::of_client("w7"), "jobs").await;
    push(&jobs, &["a", "b"]).await;
    let a = take(&jobs, 1).await;
    let (b, ended) = tokio::join!(take(&jobs, 1), end(&jobs, Settlement::ack(a[0].receipt)));
    assert_eq!((bodies(&b), ended), (vec!["b".into()], Settled::Done));
}

/// The blocked pop of a wait moves one message into the backup, however many there are.
#[tokio::test]
async fn ours_waits_with_a_private_backup() {
    let ground = Ground::start().await;
    let jobs = ground.open(PrivateBackup::of_client("w7"), "jobs").await;
    let receiver = taking(&jobs);
    ground.until_blocked().await;
    let _: u64 = ground.foreign().run(&["LPUSH", "jobs", "late", "later"]);
    let late = receiver.await.expect("no panic");
    ground.holds(&["list jobs: later", "list {jobs}:backup:w7: late"]);
    end_live(&jobs, Settlement::ack(late[0].receipt)).await;
    ground.holds(&["list jobs: later"]);
    // A wait that got a message does not keep the next call from waiting.
    assert_eq!(take_all_and_ack(&jobs, 1).await, ["later"]);
    let _receiver = taking(&jobs);
    ground.until_blocked().await;
}

#[tokio::test]
async fn a_shared_backup_is_shared_with_others() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground
        .open(SharedBackup::default().poll(SOON), "jobs")
        .await;
    let _: u64 = foreign.run(&["LPUSH", "jobs", "theirs"]);
    let theirs = take(&jobs, 5).await;
    push(&jobs, &["ours"]).await;
    let ours: String = foreign.run(&["RPOPLPUSH", "jobs", "{jobs}:backup"]);
    assert_eq!((&*theirs[0].body, &*ours), (&b"theirs"[..], "ours"));
    ground.holds(&["list {jobs}:backup: ours | theirs"]);
    end_live(&jobs, Settlement::ack(theirs[0].receipt)).await;
    let removed: u64 = foreign.run(&["LREM", "{jobs}:backup", "1", "ours"]);
    assert_eq!((removed, ground.dump()), (1, vec![]));

    // A message that another program removed from the backup has no holder any more.
    push(&jobs, &["m", "n"]).await;
    let taken = take(&jobs, 2).await;
    foreign.run::<u64>(&["DEL", "{jobs}:backup"]);
    for settlement in [
        Settlement::ack(taken[0].receipt),
        Settlement::release(taken[1].receipt),
    ] {
        assert_eq!(end(&jobs, settlement).await, Settled::LeaseLost);
    }
    ground.holds(&[]);
}

#[tokio::test]
async fn the_checker_puts_back_what_stays_in_the_backup_and_nothing_younger() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let minute = Duration::from_secs(60);
    // The checker polls four times in this real time; it compares times by the test's clock.
    let quick = Duration::from_millis(40);
    let recipe = SharedBackup::default().poll(SOON).with_checker(quick);
    let _jobs = ground.open(recipe, "jobs").await;
    let _: u64 = foreign.run(&["LPUSH", "{jobs}:backup", "stale", "too", "and this"]);
    let polls = || {
        ground
            .server
            .command_counts()
            .expect("it counts")
            .of("lrange")
    };
    crate::until::until("the checker polls twice", || polls() >= 2).await;
    ground.holds(&["list {jobs}:backup: and this | too | stale"]);
    ground.pass(minute);
    ground
        .until_there_is(&["list jobs: and this | too | stale"])
        .await;
}

/// Another program pushes on each list of priorities.
fn push_on_each_level(foreign: &mut Foreign) {
    for (list, body) in [
        ("low", "l"),
        ("normal", "n1"),
        ("normal", "n2"),
        ("high", "h"),
    ] {
        let _: u64 = foreign.run(&["LPUSH", &format!("{{jobs}}:{list}"), body]);
    }
}

#[tokio::test]
async fn priority_lists_take_from_the_most_urgent_list_down() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground.open(PriorityLists::default(), "jobs").await;
    push_on_each_level(&mut foreign);
    assert_eq!(take_all_and_ack(&jobs, 2).await, ["h", "n1"]);
    ground.holds(&["list {jobs}:low: l", "list {jobs}:normal: n2"]);
    assert_eq!(take_all_and_ack(&jobs, 2).await, ["n2", "l"]);
    ground.holds(&[]);
}

/// If a less urgent list cannot be popped, no message of the lists before it is lost.
#[tokio::test]
async fn priority_lists_hand_out_what_they_popped_before_an_error() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground.open(PriorityLists::default(), "jobs").await;
    let _: String = foreign.run(&["SET", "{jobs}:normal", "no list"]);
    let _: u64 = foreign.run(&["LPUSH", "{jobs}:high", "h"]);
    assert_eq!(lease_bodies(&jobs, 9).await, ["h"]);
    let again = leasing(&jobs).receive(9, LONG, Duration::ZERO).await;
    assert!(again.is_err(), "the error comes again");
}

/// If the server cannot pop from several lists, as before Redis 7.0, the queue pops from each in turn.
#[tokio::test]
async fn priority_lists_do_without_lmpop() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let redis = ground.connect_without(&["-lmpop"]).await;
    let config = QueueConfig::of(QueueKind::Priority, 3);
    let recipe = RecipeBackend::new(&redis, PriorityLists::default());
    let jobs = recipe.open(&name("jobs"), &config).await;
    let jobs = jobs.expect("it opens");
    push_on_each_level(&mut foreign);
    assert_eq!(lease_bodies(&jobs, 2).await, ["h", "n1"]);
    assert_eq!(lease_bodies(&jobs, 9).await, ["n2", "l"]);
    assert_eq!(lease_bodies(&jobs, 9).await, [] as [Bytes; 0]);
}

#[tokio::test]
async fn priority_lists_of_ours_are_popped_by_others() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let AnyQueue::Priority(jobs) = ground.open(PriorityLists::default(), "jobs").await else {
        panic!("another kind");
    };
    let batch = [("l", -10), ("n", 0), ("h", 10), ("h2", 10)];
    let batch = batch.map(|(body, priority)| Push::new(body).with_priority(priority));
    jobs.push(&batch).await.expect("it pushes");
    ground.holds(&[
        "list {jobs}:high: h2 | h",
        "list {jobs}:low: l",
        "list {jobs}:normal: n",
    ]);
    let mut popped = Vec::new();
    for _ in 0..4 {
        let (_, body): (String, String) =
            foreign.run(&["BRPOP", "{jobs}:high", "{jobs}:normal", "{jobs}:low", "5"]);
        popped.push(body);
    }
    assert_eq!(popped, ["h", "h2", "n", "l"]);
    let received = jobs.receive(1, PATIENCE, Duration::ZERO).await;
    assert_eq!(received.expect("it polls"), []);
}

#[tokio::test]
async fn a_priority_has_one_list_and_a_list_one_priority() {
    let ground = Ground::start().await;
    let kind = QueueConfig::of(QueueKind::Priority, 3);
    for levels in [
        vec![(1, "a"), (1, "b")],
        vec![(1, "a"), (2, "a")],
        vec![(1, "dead")],
        vec![],
    ] {
        let recipe = PriorityLists::default().levels(levels.clone());
        let recipe = RecipeBackend::new(&ground.redis, recipe);
        let opened = recipe.open(&name("jobs"), &kind).await;
        let error = opened.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{levels:?}: {error}");
    }
    let recipe = PriorityLists::default().levels([(1, "slow"), (2, "fast")]);
    let jobs = ground.open(recipe, "jobs").await;
    let _: u64 = ground.foreign().run(&["LPUSH", "{jobs}:slow", "s"]);
    let _: u64 = ground.foreign().run(&["LPUSH", "{jobs}:fast", "f"]);
    assert_eq!(take_all_and_ack(&jobs, 2).await, ["f", "s"]);
}
