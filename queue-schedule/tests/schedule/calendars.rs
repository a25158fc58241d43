//! Slots in zones with daylight saving, against a calendar that looks at every minute (C5).

use std::collections::BTreeSet;

use jiff::{Timestamp as Instant, ToSpan, civil::Date, tz::TimeZone};
use queue_core::*;
use queue_memory::MemoryBackend;
use queue_schedule::*;
use tokio::time::sleep;

use crate::{
    environment::*,
    oracle::{Drawn, changes},
    random::{Random, seeds},
};

async fn year(expression: &str, zone: &str) -> Vec<u64> {
    let backend = MemoryBackend::starting_at(Timestamp::from_millis(START));
    let mut environment = Environment::on(Queues::new(backend)).await;
    environment.poll = 6 * HOUR;
    let periodic = Periodic::cron("daily", expression, zone).unwrap();
    let scheduler = environment.scheduler(periodic).await;
    let mut slots = Vec::new();
    let collect = async {
        for _ in 0..365 {
            sleep(DAY).await;
            let fired = environment.fired().await;
            slots.extend(
                fired
                    .into_iter()
                    .map(|second| START + second as u64 * 1_000),
            );
        }
    };
    scheduler.run_until(collect).await.unwrap();
    slots
}

/// From a change of a zone to the next day: the slots by the search, and by the oracle.
fn check_change(random: &Random, zone: &TimeZone, change: Instant) {
    let has_seconds = random.below(20) == 0;
    let drawn = Drawn::new(random, zone.to_datetime(change), has_seconds);
    let after = if has_seconds { 2.hours() } else { 26.hours() };
    let (begin, end) = (change - 2.hours(), change + after);
    let expected = drawn.slots(zone, begin, end);
    let name = zone.iana_name().unwrap();
    let found = slots(&drawn.text, name, begin, end);
    let shown: Vec<String> = found.iter().map(Instant::to_string).collect();
    assert_eq!(
        found, expected,
        "`{}` in {name}: {shown:?} at the change of {change}",
        drawn.text
    );
}

/// The slots of an expression after `begin`, to `end`.
fn slots(expression: &str, zone: &str, begin: Instant, end: Instant) -> Vec<Instant> {
    let periodic = Periodic::cron("random", expression, zone).unwrap();
    let time = |instant: Instant| Timestamp::from_millis(instant.as_millisecond() as u64);
    let slots = std::iter::successors(Some(time(begin)), |slot| periodic.slot_after(*slot));
    let slots = slots.skip(1).take_while(|slot| *slot <= time(end));
    let instant = |slot: Timestamp| Instant::from_millisecond(slot.as_millis() as i64).unwrap();
    slots.map(instant).collect()
}

#[test]
fn c5_random_expressions_have_the_slots_that_a_clock_shows_at_every_change() {
    let changes = changes();
    let random = Random::new(57);
    let mut zones = BTreeSet::new();
    for _ in 0..seeds(100) * 15 {
        let (zone, change) = &changes[random.below(changes.len() as u64) as usize];
        zones.insert(zone.iana_name());
        check_change(&random, zone, *change);
    }
    assert!(zones.len() > 100, "only {} zones", zones.len());
}

/// Checks expressions of a zone on a day, with their slots from the local midnight before, in UTC.
fn check_day(zone: &str, date: &str, table: &[(&str, &str)]) {
    let date: Date = date.parse().unwrap();
    let zoned = TimeZone::get(zone).unwrap();
    let midnight = |date: Date| date.to_zoned(zoned.clone()).unwrap().timestamp();
    let begin = midnight(date) - 1.second();
    let end = midnight(date.tomorrow().unwrap()) - 1.second();
    for (expression, expected) in table {
        let found = slots(expression, zone, begin, end).into_iter();
        let found = found.map(|slot| slot.strftime("%H:%M").to_string());
        let found = found.collect::<Vec<_>>().join(" ");
        assert_eq!(found, *expected, "`{expression}` in {zone} on {date}");
    }
}

/// The hour from 2 does not exist.
#[test]
#[rustfmt::skip]
fn c5_a_fixed_time_in_a_skipped_hour_comes_at_its_end_and_others_go_on() {
    check_day("Europe/Berlin", "2026-03-29", &[
        ("30 2 * * *", "01:00"),
        ("0,30 2 * * *", "01:00"),
        ("0 2,3,14 * * *", "01:00 12:00"),
        ("@daily", "23:00"),
        ("0 1-22/7 * * *", "00:00 06:00 13:00 20:00"),
        ("0 */2 1-31 * *", "23:00 02:00 04:00 06:00 08:00 10:00 12:00 14:00 16:00 18:00 20:00"),
        ("0 0-23/8 * * *", "23:00 06:00 14:00"),
    ]);
}

/// The hour from 2 exists twice.
#[test]
#[rustfmt::skip]
fn c5_a_fixed_time_in_a_repeated_hour_comes_once_and_others_go_on() {
    check_day("Europe/Berlin", "2026-10-25", &[
        ("0,30 2 * * *", "00:00 00:30"),
        ("0 2,14 * * *", "00:00 13:00"),
        ("0 0 2 * * *", "00:00"),
        ("0 1,*/6,2 * * *", "22:00 23:00 00:00 01:00 05:00 11:00 17:00"),
        ("30 0-23 * * *", "22:30 23:30 00:30 01:30 02:30 03:30 04:30 05:30 06:30 07:30 08:30 09:30 10:30 \
                          11:30 12:30 13:30 14:30 15:30 16:30 17:30 18:30 19:30 20:30 21:30 22:30"),
    ]);
}

/// Midnight does not exist; the hour from 23 exists twice.
#[test]
fn c5_a_day_begins_late_where_midnight_is_skipped() {
    let zone = "America/Santiago";
    check_day(zone, "2026-09-06", &[("0 0,12 * * *", "04:00 15:00")]);
    check_day(zone, "2026-04-04", &[("0 23 * * *", "02:00")]);
}

/// Half an hour from 2 does not exist; three hours do not exist, and exist twice.
#[test]
#[rustfmt::skip]
fn c5_a_change_by_another_time_than_an_hour_skips_and_repeats_that_time() {
    check_day("Australia/Lord_Howe", "2026-10-04", &[("0,15,45 2 * * *", "15:30 15:45")]);
    let zone = "Antarctica/Casey";
    check_day(zone, "2019-10-04", &[("0 3,4,5,7 * * *", "19:00 20:00")]);
    check_day(zone, "2020-03-08", &[("0 0-3 * * *", "13:00 14:00 15:00 19:00")]);
}

/// The whole day does not exist, and the next one has its own times.
#[test]
fn c5_a_fixed_time_of_a_skipped_day_comes_at_its_end() {
    let table = [
        ("0 3,9 * * *", "10:00 13:00 19:00"),
        ("0 3 30 * *", "10:00"),
        ("0 3 29 * *", ""),
    ];
    check_day("Pacific/Apia", "2011-12-31", &table);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn c5_a_fixed_time_comes_once_a_day_through_both_changes() {
    let expressions = [
        ("Europe/Berlin", "30 2 * * *", 365),
        ("Europe/Berlin", "0,30 2 * * *", 729),
        ("Europe/Berlin", "0 2,14 * * *", 730),
        ("America/New_York", "30 1 * * *", 365),
        ("America/New_York", "*/20 2 * * *", 1_093),
        ("America/Santiago", "0 0,12 * * *", 730),
        ("Australia/Lord_Howe", "45 1 * * *", 365),
        ("Australia/Lord_Howe", "15 2 * * *", 365),
    ];
    for (zone, expression, number) in expressions {
        let found = year(expression, zone).await;
        let instant = |at: u64| Instant::from_millisecond(at as i64).unwrap();
        let (begin, end) = (instant(START), instant(START + 365 * 86_400_000));
        let found: Vec<_> = found.into_iter().map(instant).collect();
        assert_eq!(found, slots(expression, zone, begin, end), "{expression}");
        assert_eq!(found.len(), number, "{expression} in {zone}");
    }
}

#[tokio::test(start_paused = true)]
async fn c5_every_hour_goes_on_through_both_changes() {
    for zone in ["Europe/Berlin", "America/New_York"] {
        let slots = year("0 * * * *", zone).await;
        assert_eq!(slots.len(), 365 * 24, "{zone}");
        assert!(
            slots.windows(2).all(|pair| pair[1] - pair[0] == 3_600_000),
            "{zone}"
        );
    }
}

#[test]
fn a_wrong_expression_or_zone_is_named_with_a_right_one() {
    for (expression, zone, right) in [
        ("61 * * * *", "Europe/Berlin", "the minute `61`: "),
        ("0 3 * jam *", "Europe/Berlin", "the month `jam`: "),
        ("0 3 * *", "Europe/Berlin", "`30 2 * * *`"),
        ("every day", "Europe/Berlin", "`30 2 * * *`"),
        ("0 3 * * *", "Europe/Berln", "Europe/Berlin"),
    ] {
        let error = Periodic::cron("daily", expression, zone).expect_err("it is refused");
        let text = error.to_string();
        let wrong = if zone == "Europe/Berln" {
            zone
        } else {
            expression
        };
        assert!(text.contains(wrong) && text.contains(right), "{text}");
    }
}
