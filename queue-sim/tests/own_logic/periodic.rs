//! Schedulers in several processes, under all faults of the simulator, on both backends: the rules C1 to C3 and C6.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use queue_core::{
    Json, Push, QueueName, ReliableConfig,
    call::{Answer, Call},
};
use queue_schedule::{
    Missed, Periodic, Scheduler, Schedules, Slot,
    planted::{Bug, plant},
};
use queue_sim::{
    history::CallEnd,
    sim::{BoxError, Drained, Rules, Run, RunRecord, Sim, check, sim},
    world::EPOCH,
};
use queue_worker::Context;
use serde::{Deserialize, Serialize};

const SCHEDULERS: usize = 3;

/// Every 20 s for five minutes from the beginning of a run, which is 2027-01-15 08:00 UTC. The next slot is a year away,
/// so a run comes to its end.
const EXPRESSION: &str = "*/20 0-4 8 15 1 *";

#[derive(Debug, Serialize, Deserialize)]
struct Tick {
    slot: u64,
}

/// Runs a scheduler; begins again after an error.
async fn schedule(run: &Run, periodic: fn() -> Periodic) {
    let again = async {
        while let Err(_fault) = serve(run, periodic()).await {
            run.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        biased;
        () = again => {}
        () = run.sleep(left(run)) => {}
    }
}

async fn serve(run: &Run, periodic: Periodic) -> Result<(), BoxError> {
    let schedules = Schedules::open(run.queues(), "schedules").await?;
    let mut scheduler = Scheduler::new(&schedules).poll(Duration::from_secs(30));
    let tick = |slot: &Slot| {
        let slot = slot.at().as_millis();
        Ok(Push::new(Json::write(&Tick { slot })?))
    };
    scheduler.add_push(periodic, "ticks", tick).await?;
    Ok(scheduler.run_until(run.sleep(left(run))).await?)
}

/// The time until no scheduler runs any more. A run is over once its queue is empty after that.
fn left(run: &Run) -> Duration {
    let end = EPOCH.plus_millis(10 * 60_000);
    end.since(run.now())
}

fn ticks(name: &str, periodic: fn() -> Periodic) -> Sim {
    let config = ReliableConfig::default().with_max_attempts(1_000);
    let mut sim = sim(name)
        .reliable::<Tick>("ticks", config)
        .producer(|_| async {
            // All pushes of the schedulers have arrived by then.
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            Ok(())
        })
        .workers(2)
        .handler(|run: &Run| {
            let run = run.clone();
            move |_: Tick, _: Context| {
                let run = run.clone();
                async move {
                    run.sleep(Duration::from_secs(u64::from(run.choose(40))))
                        .await;
                }
            }
        })
        .and();
    for number in 0..SCHEDULERS {
        sim = sim.process(&format!("scheduler {number}"), move |run| async move {
            schedule(&run, periodic).await;
            Ok(())
        });
    }
    sim.check(Rules::all())
        .check(Drained::within(Duration::from_secs(3_600)))
        .check(check::that("C1: one message for each slot", once_a_slot))
        .check(check::that("C2: no slot is early", never_early))
        .seeds(16)
}

/// The messages that were delivered: of each id the slot, and the time of its first delivery.
fn delivered(run: &RunRecord) -> BTreeMap<u64, (u64, u64)> {
    let mut first = BTreeMap::new();
    for record in &run.history.records {
        let Some(CallEnd::Ok(answer)) = record.ended.as_ref().map(|ended| &ended.outcome) else {
            continue;
        };
        let (Answer::Leased(leased) | Answer::SettledAndLeased(_, leased)) = answer else {
            continue;
        };
        for delivery in &leased.deliveries {
            let slot = delivery
                .headers
                .get("slot")
                .and_then(|slot| slot.parse().ok());
            let at = record
                .ended
                .as_ref()
                .map_or(0, |ended| ended.at.at.as_millis());
            let id = delivery.receipt.id.get();
            first.entry(id).or_insert((slot.expect("a number"), at));
        }
    }
    first
}

fn once_a_slot(run: &RunRecord) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (id, (slot, _)) in delivered(run) {
        if !seen.insert(slot) {
            return Err(format!("message {id} is the second one of the slot {slot}"));
        }
    }
    Ok(())
}

fn never_early(run: &RunRecord) -> Result<(), String> {
    match delivered(run).iter().find(|(_, (slot, at))| at < slot) {
        Some((id, (slot, at))) => Err(format!("message {id} of the slot {slot} came at {at}")),
        None => Ok(()),
    }
}

/// From the first one to the last one, every slot comes, however late.
fn every_slot(run: &RunRecord) -> Result<(), String> {
    let mut slots: Vec<u64> = delivered(run).values().map(|(slot, _)| *slot).collect();
    slots.sort_unstable();
    match slots.windows(2).find(|slots| slots[1] - slots[0] != 20_000) {
        Some(gap) => Err(format!("there are slots between {} and {}", gap[0], gap[1])),
        None => Ok(()),
    }
}

/// No message is pushed before the one before is settled for good.
fn one_at_a_time(run: &RunRecord) -> Result<(), String> {
    let queue = QueueName::new("ticks").expect("a name");
    let mut pushed = BTreeMap::new();
    let mut acked = BTreeMap::new();
    for record in run
        .history
        .records
        .iter()
        .filter(|record| record.queue == queue)
    {
        let began = record.began.order;
        match (
            &record.call,
            record.ended.as_ref().map(|ended| &ended.outcome),
        ) {
            (Call::Push(_), Some(CallEnd::Ok(Answer::Pushed(ids)))) => {
                let ended = record.ended.as_ref().map_or(0, |ended| ended.at.order);
                // A push that repeats another has its id.
                if let Some(id) = ids[0].id() {
                    pushed.entry(id).or_insert(ended);
                }
            }
            (Call::Settle(settlements) | Call::SettleAndLease(settlements, ..), _) => {
                for settlement in settlements {
                    acked.entry(settlement.receipt.id).or_insert(began);
                }
            }
            _ => {}
        }
    }
    let ids: Vec<_> = pushed.iter().collect();
    for pair in ids.windows(2) {
        let [(before, _), (id, pushed)] = pair else {
            continue;
        };
        if acked.get(before).is_none_or(|acked| acked > *pushed) {
            return Err(format!("message {id} was pushed while {before} was there"));
        }
    }
    Ok(())
}

fn all_slots() -> Periodic {
    let periodic = Periodic::cron("ticks", EXPRESSION, "UTC").expect("it is sound");
    periodic.missed(Missed::RunAll(100))
}

fn one_at_once() -> Periodic {
    let periodic = Periodic::cron("ticks", EXPRESSION, "UTC").expect("it is sound");
    periodic.unless_running()
}

fn periodic() -> Sim {
    let every = check::that("C3: every slot", every_slot);
    ticks("periodic jobs", all_slots).check(every)
}

fn one_periodic() -> Sim {
    let one = check::that("C6: one at a time", one_at_a_time);
    ticks("periodic jobs, one at a time", one_at_once).check(one)
}

#[test]
fn every_slot_comes_once_and_in_time() {
    periodic().run();
}

#[test]
fn one_runs_at_a_time() {
    one_periodic().run();
}

#[cfg(all(unix, feature = "redis"))]
#[test]
fn schedules_hold_their_rules_on_redis() {
    let server = || queue_sim::wire::RedisEnvironment::start().expect("a redis-server");
    periodic().seeds(8).backend(server).run();
    one_periodic().seeds(8).backend(server).run();
}

#[test]
fn each_planted_bug_is_found() {
    for (bug, sim, rule) in [
        (Bug::SlotWithoutAKey, periodic(), "C1"),
        (Bug::SlotIsDueAtOnce, periodic(), "C2"),
        (Bug::MissedAreSkipped, periodic(), "C3"),
        (Bug::RunsWhileRunning, one_periodic(), "C6"),
    ] {
        let planted = plant(bug);
        let broken = sim.try_run().expect_err(rule);
        drop(planted);
        assert!(broken.to_string().contains(rule), "{bug:?}: {broken}");
    }
}
