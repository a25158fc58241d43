//! A year of slots in zones with daylight saving, against a calendar that looks at every minute (C5).

use jiff::{Timestamp as Instant, civil::DateTime, tz::TimeZone};
use queue_core::*;
use queue_memory::MemoryBackend;
use queue_schedule::*;
use tokio::time::sleep;

use crate::environment::*;

/// The slots of a fixed time of day, by each minute of two years: the first minute of each local day that shows the
/// time or a later one.
fn naive(zone: &str, hour: i8, minute: i8, from: u64, to: u64) -> Vec<u64> {
    let zone = TimeZone::get(zone).unwrap();
    let mut slots = Vec::new();
    let local = |at: u64| -> DateTime {
        let instant = Instant::from_millisecond(at as i64).unwrap();
        zone.to_datetime(instant)
    };
    let mut last = None;
    // From a day before, so that the first day is whole.
    let mut at = from - 86_400_000;
    while at <= to {
        let now = local(at);
        let reached = (now.hour(), now.minute()) >= (hour, minute);
        if reached && last != Some(now.date()) {
            last = Some(now.date());
            slots.push(at);
        }
        at += 60_000;
    }
    slots.retain(|slot| *slot > from);
    slots
}

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

#[tokio::test(start_paused = true)]
pub(crate) async fn c5_a_fixed_time_comes_once_a_day_through_both_changes() {
    let times = [
        ("Europe/Berlin", 2, 30),
        ("Europe/Berlin", 3, 0),
        ("America/New_York", 1, 30),
        ("America/New_York", 2, 30),
        ("Australia/Lord_Howe", 1, 45),
        ("Australia/Lord_Howe", 2, 15),
    ];
    for (zone, hour, minute) in times {
        let expression = format!("{minute} {hour} * * *");
        let expected = naive(zone, hour, minute, START, START + 365 * 86_400_000);
        assert!((364..=366).contains(&expected.len()));
        assert_eq!(
            year(&expression, zone).await,
            expected,
            "{expression} in {zone}"
        );
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
