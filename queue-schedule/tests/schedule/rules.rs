//! The rules C1 to C4, one scheduler or a few, without faults.

use std::{sync::Arc, time::Duration};

use queue_core::*;
use queue_schedule::*;
use tokio::time::sleep;

use crate::environment::*;

#[tokio::test(start_paused = true)]
async fn c1_each_slot_comes_once_whatever_number_of_schedulers() {
    let environment = Environment::new().await;
    let minutely = || minutely().missed(Missed::RunAll(3));
    let run = || environment.run(minutely(), 10 * MINUTE + SECOND);
    tokio::join!(run(), run(), run(), run());
    // Four find the same missed slots.
    sleep(150 * SECOND).await;
    let run = || environment.run(minutely(), 30 * SECOND);
    tokio::join!(run(), run(), run(), run());
    assert_eq!(
        environment.fired().await,
        (1..=13).map(|n| n * 60).collect::<Vec<_>>()
    );
}

#[tokio::test(start_paused = true)]
pub(crate) async fn c2_a_slot_comes_at_its_time_though_every_scheduler_has_died() {
    let environment = Environment::new().await;
    let daily = Periodic::cron("daily", "0 3 * * *", "UTC").unwrap();
    environment.run(daily, SECOND).await;
    sleep(3 * HOUR - 2 * SECOND).await;
    assert!(environment.fired().await.is_empty());
    sleep(2 * SECOND).await;
    assert_eq!(environment.fired().await, [3 * 3600]);
}

#[tokio::test(start_paused = true)]
async fn c2_a_slot_that_is_far_away_is_pushed_a_day_ahead() {
    let mut environment = Environment::new().await;
    environment.poll = HOUR;
    let monthly = Periodic::cron("monthly", "0 0 10 * *", "UTC").unwrap();
    let scheduler = environment.scheduler(monthly).await;
    let depth = async {
        sleep(11 * DAY).await;
        assert_eq!(environment.jobs.queue().depth().await.unwrap().delayed, 0);
        sleep(DAY + MINUTE).await;
        assert_eq!(environment.jobs.queue().depth().await.unwrap().delayed, 1);
        sleep(DAY).await;
    };
    scheduler.run_until(depth).await.unwrap();
    assert_eq!(environment.fired().await, [13 * 86_400]);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn c2_a_time_to_live_counts_from_the_slot() {
    for (limit, wait, comes) in [
        (MINUTE, Duration::ZERO, true),
        (MINUTE, MINUTE - SECOND, true),
        (MINUTE, MINUTE + SECOND, false),
        (limits::MAX_DELAY, DAY, true),
    ] {
        let environment = Environment::new().await;
        let mut scheduler = Scheduler::new(&environment.schedules);
        let daily = Periodic::cron("daily", "0 3 * * *", "UTC").unwrap();
        let make = move |slot: &Slot| {
            let push = Push::of_job(&report(slot), &Json)?;
            Ok(push.with_time_to_live(TimeToLive::drop_after(limit)))
        };
        scheduler.add_push(daily, "jobs", make).await.unwrap();
        scheduler.run_until(sleep(3 * HOUR)).await.unwrap();
        sleep(wait).await;
        let expected: &[i64] = if comes { &[3 * 3600] } else { &[] };
        assert_eq!(environment.fired().await, expected, "{limit:?} {wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn c2_a_time_to_live_counts_from_the_push_of_a_late_slot() {
    let environment = Environment::new().await;
    let hourly = || {
        Periodic::every("hourly", HOUR)
            .unwrap()
            .missed(Missed::RunOnce)
    };
    for make_late in [false, true] {
        let mut scheduler = Scheduler::new(&environment.schedules);
        let make = |slot: &Slot| {
            let push = Push::of_job(&report(slot), &Json)?;
            Ok(push.with_time_to_live(TimeToLive::drop_after(2 * MINUTE)))
        };
        scheduler.add_push(hourly(), "jobs", make).await.unwrap();
        if make_late {
            scheduler.run_until(sleep(MINUTE)).await.unwrap();
        } else {
            drop(scheduler);
            sleep(90 * MINUTE).await;
        }
    }
    assert_eq!(environment.fired().await, [3600]);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn c3_missed_slots_are_skipped_run_once_or_run_to_a_number() {
    let expected: [(Missed, &[i64]); 4] = [
        (Missed::Skip, &[]),
        (Missed::RunOnce, &[600]),
        (Missed::RunAll(3), &[480, 540, 600]),
        (
            Missed::RunAll(100),
            &[120, 180, 240, 300, 360, 420, 480, 540, 600],
        ),
    ];
    for (missed, slots) in expected {
        for every in [true, false] {
            let environment = Environment::new().await;
            let periodic = || {
                let periodic = match every {
                    true => Periodic::every("minutely", MINUTE),
                    false => Periodic::cron("minutely", "* * * * *", "Europe/Berlin"),
                };
                periodic.unwrap().missed(missed)
            };
            environment.run(periodic(), 30 * SECOND).await;
            // The first slot was pushed ahead; then nobody runs for nine more.
            sleep(10 * MINUTE).await;
            assert_eq!(environment.fired().await, [60]);
            environment.run(periodic(), 25 * SECOND).await;
            assert_eq!(environment.fired().await, slots, "{missed:?} {every}");
            environment.run(periodic(), MINUTE).await;
            assert_eq!(environment.fired().await, [660], "{missed:?} {every}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c4_a_disabled_schedule_has_no_slots_and_goes_on_when_it_is_enabled() {
    let environment = Environment::new().await;
    let scheduler = environment
        .scheduler(minutely().missed(Missed::RunAll(100)))
        .await;
    let schedules = environment.schedules.clone();
    let steer = async {
        sleep(150 * SECOND).await;
        assert!(schedules.disable("minutely").await.unwrap());
        let listed = schedules.list().await.unwrap();
        assert_eq!((listed[0].enabled, listed[0].next), (false, None));
        assert_eq!(environment.fired().await, [60, 120]);
        sleep(10 * MINUTE).await;
        assert!(environment.fired().await.is_empty());
        assert!(schedules.enable("minutely").await.unwrap());
        let listed = schedules.list().await.unwrap();
        assert_eq!(
            listed[0].next,
            Some(Timestamp::from_millis(START + 780_000))
        );
        sleep(MINUTE).await;
        assert_eq!(environment.fired().await, [780]);
        assert!(!schedules.disable("another").await.unwrap());
    };
    scheduler.run_until(steer).await.unwrap();
}

#[tokio::test(start_paused = true)]
pub(crate) async fn c4_a_changed_schedule_has_the_slots_of_the_new_one_only() {
    let environment = Environment::new().await;
    let old = environment.scheduler(minutely()).await;
    let change = async {
        sleep(30 * SECOND).await;
        let every = Periodic::every("minutely", 40 * SECOND).unwrap();
        let mut new = Scheduler::new(&environment.schedules);
        new.change_job(every, "jobs", report).await.unwrap();
        new.run_until(sleep(100 * SECOND)).await.unwrap();
    };
    old.run_until(change).await.unwrap();
    assert_eq!(environment.fired().await, [40, 80, 120]);
    // Its next slot, 160, was pushed ahead.
    sleep(10 * MINUTE).await;
    assert_eq!(environment.fired().await, [160]);
}

#[tokio::test(start_paused = true)]
async fn c4_a_removed_schedule_leaves_nothing_and_may_be_made_again() {
    let environment = Environment::new().await;
    environment.run(minutely(), 10 * SECOND).await;
    assert!(environment.schedules.remove("minutely").await.unwrap());
    assert!(!environment.schedules.remove("minutely").await.unwrap());
    assert_eq!(environment.schedules.list().await.unwrap(), []);
    sleep(5 * MINUTE).await;
    assert!(environment.fired().await.is_empty());
    let other = Periodic::every("minutely", 2 * MINUTE).unwrap();
    environment.run(other, 2 * MINUTE).await;
    assert_eq!(environment.fired().await, [360]);
}

#[tokio::test(start_paused = true)]
async fn schedules_are_listed_by_name_with_what_each_is() {
    let environment = Environment::new().await;
    environment
        .queues
        .delay("delay")
        .open::<Jobs>()
        .await
        .unwrap();
    let mut scheduler = Scheduler::new(&environment.schedules);
    let nightly = Periodic::cron("nightly", "0 3 * * *", "Europe/Berlin").unwrap();
    let b = Periodic::every("b", HOUR).unwrap().unless_running();
    let a = Periodic::every("a", MINUTE).unwrap();
    scheduler.add_job(nightly, "delay", report).await.unwrap();
    scheduler.add_job(b, "jobs", report).await.unwrap();
    scheduler.add_job(a, "jobs", report).await.unwrap();
    assert!(environment.schedules.disable("b").await.unwrap());
    let listed = environment.schedules.list().await.unwrap();
    let shown: Vec<_> = listed
        .iter()
        .map(|one| {
            let next = one.next.map(|next| (next.as_millis() - START) / 1_000);
            (
                &*one.name,
                &*one.rule,
                &*one.queue,
                one.unless_running,
                one.enabled,
                next,
            )
        })
        .collect();
    let expected = [
        ("a", "every 60000 ms", "jobs", false, true, Some(60)),
        ("b", "every 3600000 ms", "jobs", true, false, None),
        (
            "nightly",
            "0 3 * * * (Europe/Berlin)",
            "delay",
            false,
            true,
            Some(2 * 3600),
        ),
    ];
    assert_eq!(shown, expected);
    assert!(listed.iter().all(|one| one.problem.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_another_program_has_differently_is_refused_with_both() {
    let environment = Environment::new().await;
    let _stored = environment.scheduler(minutely()).await;
    let mut scheduler = Scheduler::new(&environment.schedules);
    let other = Periodic::every("minutely", HOUR).unwrap();
    let error = scheduler.add_job(other, "jobs", report).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfigMismatch);
    let text = error.to_string();
    assert!(
        text.contains("every 60000 ms") && text.contains("every 3600000 ms"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn delay_and_priority_queues_have_schedules_too() {
    let environment = Environment::new().await;
    environment
        .queues
        .delay("delay")
        .open::<Jobs>()
        .await
        .unwrap();
    environment
        .queues
        .priority("priority")
        .open::<Jobs>()
        .await
        .unwrap();
    let mut scheduler = Scheduler::new(&environment.schedules);
    for queue in ["delay", "priority"] {
        let periodic = Periodic::every(queue, MINUTE).unwrap();
        scheduler.add_job(periodic, queue, report).await.unwrap();
    }
    scheduler
        .run_until(sleep(3 * MINUTE + SECOND))
        .await
        .unwrap();
    for queue in ["delay", "priority"] {
        let stored = environment.queues.stored(queue).await.unwrap().unwrap();
        let depth = stored.queue.leasing().unwrap().depth().await.unwrap();
        assert_eq!((depth.ready, depth.delayed), (3, 1), "{queue}");
    }
}

#[tokio::test(start_paused = true)]
async fn bad_schedules_are_refused_with_the_way_out() {
    let refused = [
        (Periodic::cron("n", "0 3 * *", "UTC").map(drop), "`0 3 * *`"),
        (
            Periodic::cron("n", "0 0 30 2 *", "UTC").map(drop),
            "has no slot",
        ),
        (
            Periodic::cron("n", "0 3 * * *", "Europe/Berlyn").map(drop),
            "Europe/Berlyn",
        ),
        (
            Periodic::every("n", SECOND / 2).map(drop),
            "an interval of 500 ms",
        ),
        (Periodic::every("", SECOND).map(drop), "the name \"\""),
    ];
    for (result, says) in refused {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(says), "{error}");
    }
    let environment = Environment::new().await;
    environment
        .queues
        .bounded("bounded", 5)
        .open::<Jobs>()
        .await
        .unwrap();
    let mut scheduler = Scheduler::new(&environment.schedules);
    scheduler.add_job(minutely(), "jobs", report).await.unwrap();
    let other = || Periodic::every("other", MINUTE).unwrap();
    for (periodic, queue, says) in [
        (other(), "nowhere", "does not exist"),
        (other(), "bounded", "a schedule on a bounded queue"),
        (other(), "schedules", "a schedule on a rotating queue"),
        (minutely(), "jobs", "two schedules `minutely`"),
        (other().missed(Missed::RunAll(0)), "jobs", "0 missed slots"),
        (
            other().missed(Missed::RunAll(101)),
            "jobs",
            "101 missed slots",
        ),
    ] {
        let error = scheduler
            .add_job(periodic, queue, report)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_is_removed_though_its_queue_is_gone() {
    let environment = Environment::new().await;
    environment.run(minutely(), 10 * SECOND).await;
    let removal = Removal::UnlessLeased;
    assert!(environment.queues.remove("jobs", removal).await.unwrap());
    assert!(environment.schedules.disable("minutely").await.unwrap());
    assert!(environment.schedules.remove("minutely").await.unwrap());
    assert_eq!(environment.schedules.list().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn c6_a_slot_is_skipped_while_the_last_one_runs() {
    let environment = Environment::new().await;
    let queue = Arc::clone(environment.jobs.queue());
    let run = || environment.run(minutely().unless_running(), 10 * MINUTE + SECOND);
    let consumer = async {
        // The slot at one minute stays ready for a minute and a half, then it is leased until minute five.
        sleep(150 * SECOND).await;
        let depth = queue.depth().await.unwrap();
        assert_eq!((depth.ready, depth.delayed), (1, 0));
        let first = queue.receive_one(5 * MINUTE, Duration::ZERO).await.unwrap();
        sleep(150 * SECOND).await;
        queue.ack(first.unwrap().receipt).await.unwrap();
        sleep(90 * SECOND).await;
        assert_eq!(environment.fired().await, [360]);
        // A retry is a run that goes on; a dead letter is none.
        sleep(60 * SECOND).await;
        let next = queue.receive_one(MINUTE, Duration::ZERO).await.unwrap();
        let retry = Settlement::retry(next.unwrap().receipt, 90 * SECOND);
        assert_eq!(queue.settle_one(retry).await.unwrap(), Settled::Done);
        sleep(100 * SECOND).await;
        let again = queue.receive_one(MINUTE, Duration::ZERO).await.unwrap();
        let again = again.unwrap();
        assert_eq!(again.attempt, 2);
        let buried = Settlement::bury(again.receipt, "enough");
        assert_eq!(queue.settle_one(buried).await.unwrap(), Settled::Dead);
    };
    // The number of schedulers does not matter.
    tokio::join!(run(), run(), run(), consumer);
    assert_eq!(environment.fired().await, [600]);
}

#[tokio::test(start_paused = true)]
async fn c6_a_run_that_is_asked_for_comes_while_one_runs() {
    let environment = Environment::new().await;
    let scheduler = environment.scheduler(minutely().unless_running()).await;
    let steer = async {
        sleep(65 * SECOND).await;
        assert!(environment.schedules.run_now("minutely").await.unwrap());
        sleep(10 * SECOND).await;
        assert_eq!(environment.fired().await, [60, 65]);
    };
    scheduler.run_until(steer).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c6_a_slot_that_is_a_minute_late_is_a_missed_one() {
    let one = || Periodic::every("hourly", HOUR).unwrap().unless_running();
    let expected: [(Missed, Duration, &[i64]); 3] = [
        (Missed::Skip, 30 * SECOND, &[3600]),
        (Missed::Skip, 90 * SECOND, &[]),
        (Missed::RunOnce, 90 * SECOND, &[3600]),
    ];
    for (missed, late, slots) in expected {
        let environment = Environment::new().await;
        environment.run(one().missed(missed), SECOND).await;
        sleep(HOUR + late - SECOND).await;
        environment.run(one().missed(missed), SECOND).await;
        assert_eq!(environment.fired().await, slots, "{missed:?} {late:?}");
    }
    let environment = Environment::new().await;
    let mut scheduler = Scheduler::new(&environment.schedules);
    let all = one().missed(Missed::RunAll(5));
    let refused = scheduler.add_job(all, "jobs", report).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("5 missed slots of the schedule `hourly`"),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn c6_a_run_that_is_given_up_leaves_the_last_one_the_last() {
    let environment = Environment::new().await;
    let mut scheduler = Scheduler::new(&environment.schedules);
    let make = |slot: &Slot| match slot.is_asked_for() {
        true => Err(Error::new(ErrorKind::Codec, "no body today")),
        false => Push::of_job(&report(slot), &Json),
    };
    let one = minutely().unless_running();
    scheduler.add_push(one, "jobs", make).await.unwrap();
    let steer = async {
        sleep(65 * SECOND).await;
        assert!(environment.schedules.run_now("minutely").await.unwrap());
        sleep(2 * MINUTE).await;
        assert_eq!(environment.fired().await, [60]);
    };
    scheduler.run_until(steer).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c6_the_last_one_of_another_queue_does_not_count() {
    let environment = Environment::new().await;
    let other = environment
        .queues
        .reliable("other")
        .open::<Jobs>()
        .await
        .unwrap();
    let foreign = other
        .queue()
        .push_one(Push::new("1"))
        .await
        .unwrap()
        .id()
        .unwrap();
    let hourly = || Periodic::every("hourly", HOUR).unwrap().unless_running();
    environment.run(hourly(), HOUR + SECOND).await;
    let queue = environment.jobs.queue();
    let peeked = queue.peek(Place::Ready, Page::first(2)).await.unwrap();
    assert_eq!(peeked.entries[0].message.id, foreign, "the same id");
    let mut scheduler = Scheduler::new(&environment.schedules);
    let changed = scheduler.change_job(hourly(), "other", report);
    changed.await.unwrap();
    scheduler.run_until(sleep(HOUR)).await.unwrap();
    assert_eq!(other.queue().depth().await.unwrap().ready, 2);
}
