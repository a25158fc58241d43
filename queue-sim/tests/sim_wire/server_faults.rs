//! Faults that strike the server, and all processes with it.

use std::time::Duration;

use queue_core::*;
use queue_sim::{
    history::{CallEnd, Event},
    plan::Process,
    wire::RedisEnvironment,
    world::{EPOCH, Fault},
};
use tokio::time;

use crate::set::{LEASE_TIME, SECOND, lease_one, play};

#[test]
fn a_server_that_forgets_its_scripts_executes_each_call_once() {
    let plan = "v1:1.1.server=2";
    let mut environment = RedisEnvironment::start().unwrap();
    let faults = [Fault::ScriptsFlushed];
    let history = play(&mut environment, &faults, plan, async |set| {
        let queue = set.reliable(1).await;
        set.step(1, 1);
        let _pushed = queue.push_one("a").await.unwrap();
        let _pushed = queue.push_one("b").await.unwrap();
        assert_eq!(queue.depth().await.unwrap().ready, 2);
    });
    let flushed = Event::Fault("scripts flushed", Process(1));
    assert!(history.events.iter().any(|(_, event)| *event == flushed));
    assert!(
        history
            .records
            .iter()
            .all(|record| record.executed.len() == 1)
    );
}

#[test]
fn a_clock_that_steps_back_is_the_servers_alone() {
    // The clock steps back by a whole lease.
    let plan = "v1:1.1.server=3,1.1.delay=2";
    let mut environment = RedisEnvironment::start().unwrap();
    let history = play(&mut environment, &[Fault::ClockBack], plan, async |set| {
        let queue = set.reliable(1).await;
        let _pushed = queue.push_one("a").await.unwrap();
        lease_one(&*queue, LEASE_TIME).await.unwrap();
        time::sleep(LEASE_TIME).await;
        set.step(1, 1);
        assert!(
            lease_one(&*queue, LEASE_TIME).await.is_none(),
            "it is leased still"
        );
        time::sleep(LEASE_TIME).await;
        assert!(lease_one(&*queue, LEASE_TIME).await.is_some());
    });
    let times: Vec<u64> = history
        .records
        .iter()
        .map(|record| record.executed[0].at.as_millis() - EPOCH.as_millis())
        .collect();
    assert_eq!(times, [0, 0, 0, 20]);
}

#[test]
fn a_failover_undoes_what_came_after_its_replica_fell_behind() {
    let plan = "v1:1.1.server=4,1.2.server=4";
    let mut environment = RedisEnvironment::start().unwrap();
    let history = play(&mut environment, &[Fault::RolledBack], plan, async |set| {
        let queue = set.reliable(1).await;
        let _pushed = queue.push_one("kept").await.unwrap();
        set.step(1, 1);
        let _pushed = queue.push_one("lost").await.unwrap();
        let stale = lease_one(&*queue, SECOND).await.unwrap();
        assert_eq!(stale.body, "kept");
        set.step(1, 2);
        // The fault cuts its connection, with all others.
        let error = queue.push_one("cut off").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        set.step(1, 3);
        assert_eq!(queue.depth().await.unwrap().ready, 1);
        assert!(
            queue.ack(stale.receipt).await.is_err(),
            "it matches nothing"
        );
    });
    let events = history.events.iter();
    let mut to = events.filter_map(|(at, event)| match event {
        Event::RolledBack { to } => Some((*to, at.order)),
        _ => None,
    });
    let (to, at) = to.next().expect("rolled back");
    let undone: Vec<bool> = history
        .records
        .iter()
        .map(|record| {
            let executed = record.executed.first();
            executed.is_some_and(|moment| to < moment.order && moment.order <= at)
        })
        .collect();
    // Kept, lost, leased, cut off, and later calls.
    assert_eq!(undone, [false, true, true, false, false, false]);
}

#[test]
fn a_killed_server_keeps_what_it_has_written_down() {
    let plan = "v1:1.1.server=5";
    let mut environment = RedisEnvironment::builder().with_restarts().start().unwrap();
    let history = play(&mut environment, &[Fault::Restarted], plan, async |set| {
        let queue = set.reliable(1).await;
        let _pushed = queue.push_one("a").await.unwrap();
        set.step(1, 1);
        let error = queue.push_one("b").await.unwrap_err();
        assert_eq!(error.outcome(), queue_core::Outcome::Unknown);
        set.step(1, 2);
        time::sleep(SECOND).await;
        assert_eq!(queue.depth().await.unwrap().ready, 1);
    });
    let cut_off = &history.records[1];
    assert_eq!(cut_off.executed, []);
}

#[test]
fn a_process_is_cut_off_for_a_while() {
    let plan = "v1:1.1.server=1";
    let mut environment = RedisEnvironment::start().unwrap();
    let history = play(&mut environment, &[Fault::Partition], plan, async |set| {
        let (queue, other) = (set.reliable(1).await, set.reliable(2).await);
        set.step(1, 1);
        assert!(queue.push_one("a").await.is_err());
        let _pushed = other.push_one("b").await.unwrap();
        assert_eq!(other.depth().await.unwrap().ready, 1);
        time::sleep(SECOND).await;
        assert_eq!(
            queue.depth().await.unwrap().ready,
            2,
            "everything has arrived"
        );
    });
    let late = history.records[0].executed[0].at;
    assert_eq!(late, EPOCH.plus_millis(44));
    let outcome = &history.records[0].ended.as_ref().unwrap().outcome;
    assert!(matches!(outcome, CallEnd::Unknown(..)));
}

#[test]
fn a_refused_connection_is_an_error_that_says_so() {
    let plan = "v1:1.0.server=1";
    let mut environment = RedisEnvironment::start().unwrap();
    play(&mut environment, &[Fault::Refused], plan, async |set| {
        let error = set.world.connect(Process(1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.outcome(), queue_core::Outcome::NotApplied);
        set.world.connect(Process(1)).await.unwrap();
    });
}

#[test]
fn healing_lets_everything_arrive_and_ends_half_open_connections() {
    let plan = "v1:1.1.request=3";
    let mut environment = RedisEnvironment::start().unwrap();
    let history = play(&mut environment, &[Fault::Late], plan, async |set| {
        let queue = set.reliable(1).await;
        set.step(1, 1);
        let push = queue.push_one("a");
        assert!(time::timeout(Duration::from_millis(2), push).await.is_err());
        set.world.heal().await;
        assert_eq!(set.time(), 3);
        assert_eq!(queue.depth().await.unwrap().ready, 1);
    });
    assert_eq!(history.records[0].executed[0].at, EPOCH.plus_millis(2));
}
