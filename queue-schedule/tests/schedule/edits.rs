//! A rule that an operator sets in place of the program's.

use queue_core::{ErrorKind, Timestamp};
use queue_schedule::*;
use tokio::time::sleep;

use crate::environment::{DAY, Environment, HOUR, MINUTE, SECOND, START, minutely};

fn every(name: &str, rule: &str) -> Periodic {
    Periodic::read(name, rule).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_edited_schedule_has_slots_by_its_new_rule_alone() {
    let environment = Environment::new().await;
    let schedules = &environment.schedules;
    let hourly = || Periodic::every("hourly", HOUR).unwrap();
    let scheduler = environment.scheduler(hourly()).await;
    let steps = async {
        sleep(HOUR + MINUTE).await;
        assert_eq!(environment.fired().await, [3_600]);
        // The next slot was pushed ahead, and goes.
        assert!(
            schedules
                .edit(&every("hourly", "every 15 min"))
                .await
                .unwrap()
        );
        sleep(HOUR).await;
        assert_eq!(environment.fired().await, [4_500, 5_400, 6_300, 7_200]);
        let listed = schedules.list().await.unwrap().remove(0);
        assert_eq!(
            (&*listed.rule, listed.program_rule.as_deref()),
            ("every 900000 ms", Some("every 3600000 ms"))
        );
        // Back to the program's own.
        assert!(schedules.edit(&hourly()).await.unwrap());
        sleep(HOUR).await;
        assert_eq!(environment.fired().await, [10_800]);
        assert_eq!(schedules.list().await.unwrap()[0].program_rule, None);
        let zoned = every("hourly", "30 3 * * * (Europe/Berlin)");
        assert!(schedules.edit(&zoned).await.unwrap());
        sleep(DAY).await;
        assert_eq!(environment.fired().await, [86_400 + 9_000]);
    };
    scheduler.run_until(steps).await.unwrap();
    assert!(
        !schedules.edit(&minutely()).await.unwrap(),
        "there is none of this name"
    );
}

#[tokio::test(start_paused = true)]
async fn an_edit_outlasts_a_restart_and_ends_with_another_definition_of_the_program() {
    let environment = Environment::new().await;
    let schedules = &environment.schedules;
    environment.run(minutely(), 90 * SECOND).await;
    assert_eq!(environment.fired().await, [60]);
    schedules
        .edit(&every("minutely", "every 1 h"))
        .await
        .unwrap();
    // The program starts again, by either call.
    environment.run(minutely(), HOUR).await;
    assert_eq!(environment.fired().await, [3_600]);
    let change = async |periodic| {
        let mut scheduler = Scheduler::new(schedules);
        scheduler
            .change_job(periodic, "jobs", crate::environment::report)
            .await
            .unwrap();
        scheduler.run_until(sleep(10 * MINUTE)).await.unwrap();
        environment.fired().await.len()
    };
    assert_eq!(change(minutely()).await, 0);
    assert_eq!(change(minutely().missed(Missed::RunOnce)).await, 10);
    assert_eq!(schedules.list().await.unwrap()[0].program_rule, None);
}

#[tokio::test(start_paused = true)]
async fn a_disabled_schedule_stays_disabled_when_it_is_edited() {
    let environment = Environment::new().await;
    let schedules = &environment.schedules;
    let scheduler = environment.scheduler(minutely()).await;
    let steps = async {
        schedules.disable("minutely").await.unwrap();
        schedules
            .edit(&every("minutely", "every 2 min"))
            .await
            .unwrap();
        sleep(10 * MINUTE).await;
        assert_eq!(environment.fired().await, [0_i64; 0]);
        schedules.enable("minutely").await.unwrap();
        sleep(5 * MINUTE).await;
        assert_eq!(environment.fired().await, [720, 840]);
    };
    scheduler.run_until(steps).await.unwrap();
}

#[test]
fn a_rule_is_read_as_it_is_shown() {
    let next = |rule: &str| {
        let slot = every("a", rule).slot_after(Timestamp::from_millis(START));
        (slot.unwrap().as_millis() - START) / 1_000
    };
    for (rule, seconds) in [
        ("every 60000 ms", 60),
        (" every 90 s ", 90),
        ("every 15 min", 900),
        ("every 2h", 7_200),
        ("every 1 d", 86_400),
        ("0 3 * * * (Europe/Berlin)", 7_200),
        ("15 0 3 * * * (UTC)", 10_815),
    ] {
        assert_eq!(next(rule), seconds, "{rule}");
    }
    for rule in [
        "",
        "every",
        "every min",
        "every 5",
        "every 5 weeks",
        "every -5 min",
        "every 0 s",
        "every 99999999999999999999 s",
        "0 3 * * *",
        "0 3 * * * (Nowhere)",
        "0 3 * * (UTC)",
        "(UTC)",
        "0 3 * * * UTC)",
        "61 3 * * * (UTC)",
    ] {
        let error = Periodic::read("a", rule).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{rule}: {error}");
    }
}
