//! When a schedule has its slots.

use std::{fmt, iter::successors, str::FromStr, time::Duration};

use croner::Cron;
use jiff::{Timestamp as Instant, civil::DateTime, tz::TimeZone};
use queue_core::{Error, Result, Timestamp, in_millis};
use serde::{Deserialize, Serialize};

use super::expression::Expression;

/// The shortest interval.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest interval: a hundred years.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A rule for slots, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Rule {
    /// By a cron expression in a time zone.
    Cron { expression: String, zone: String },
    /// Each multiple of so many milliseconds since 1970.
    Every { millis: u64 },
}

impl Rule {
    /// What operators read.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Cron { expression, zone } => format!("{expression} ({zone})"),
            Self::Every { millis } => {
                format!("every {}", in_millis(Duration::from_millis(*millis)))
            }
        }
    }
}

/// The fields of an expression; one of six has the seconds in front of them.
const FIELDS: [&str; 5] = [
    "minute",
    "hour",
    "day of the month",
    "month",
    "day of the week",
];

/// The error for an expression that cannot be read, which names the field if only one is wrong.
fn unreadable(expression: &str, error: &impl fmt::Display) -> Error {
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let is_wrong = |at: usize| {
        let mut others = ["*"; 5];
        others[at] = fields[at];
        Cron::from_str(&others.join(" ")).is_err()
    };
    let wrong = match fields.len() {
        5 => (0..5).find(|at| is_wrong(*at)),
        _ => None,
    };
    let wrong = wrong.map(|at| format!("the {} `{}`: ", FIELDS[at], fields[at]));
    Error::invalid(format!(
        "the cron expression `{expression}`: {}{error} Its fields are {}, such as `30 2 * * *`",
        wrong.unwrap_or_default(),
        FIELDS.join(", ")
    ))
}

/// A rule that has been read.
#[derive(Debug, Clone)]
pub(crate) enum Calendar {
    Cron(Box<Expression>),
    Every(u64),
}

impl Calendar {
    /// # Errors
    ///
    /// `Invalid` for an expression that cannot be read or has no slot, an unknown zone, and an interval below a
    /// second or above a hundred years.
    pub(crate) fn of(rule: &Rule) -> Result<Self> {
        match rule {
            Rule::Cron { expression, zone } => {
                let cron =
                    Cron::from_str(expression).map_err(|error| unreadable(expression, &error))?;
                let time_zone = TimeZone::get(zone).map_err(|error| {
                    Error::invalid(format!(
                        "the time zone `{zone}`: {error}; zones have names such as Europe/Berlin"
                    ))
                })?;
                planted!(ZoneWithoutDaylightSaving => time_zone =
                    TimeZone::fixed(time_zone.to_offset(Instant::UNIX_EPOCH)));
                let calendar = Self::Cron(Box::new(Expression::new(cron, time_zone)));
                // The search ends with the year 5000.
                if calendar.after(Timestamp::from_millis(0)).is_none() {
                    return Err(Error::invalid(format!(
                        "the cron expression `{expression}` has no slot: no day is as it asks"
                    )));
                }
                Ok(calendar)
            }
            Rule::Every { millis } => {
                let interval = Duration::from_millis(*millis);
                if interval < SHORTEST || interval > LONGEST {
                    return Err(Error::invalid(format!(
                        "an interval of {}: 1 s to 100 years; for shorter ones use a rotating queue with a pace",
                        in_millis(interval)
                    )));
                }
                Ok(Self::Every(*millis))
            }
        }
    }

    /// The first slot after this time; none if there is no further one.
    pub(crate) fn after(&self, time: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(millis) => {
                let next = (time.as_millis() / millis + 1).checked_mul(*millis)?;
                Some(Timestamp::from_millis(next))
            }
            Self::Cron(expression) => timestamp(expression.after(instant(time)?)?),
        }
    }

    /// The last slot that is not after this time; none if there is no earlier one.
    fn before(&self, time: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(millis) => {
                let last = time.as_millis() / millis * millis;
                Some(Timestamp::from_millis(last))
            }
            Self::Cron(expression) => timestamp(expression.before(instant(time)?)?),
        }
    }

    /// The latest slots after `done` and not after `now`, at most `most`, in order.
    pub(crate) fn latest(&self, done: Timestamp, now: Timestamp, most: usize) -> Vec<Timestamp> {
        let slots = successors(self.before(now), |slot| {
            let earlier = slot.as_millis().checked_sub(1)?;
            self.before(Timestamp::from_millis(earlier))
        });
        let mut slots: Vec<_> = slots.take_while(|slot| *slot > done).take(most).collect();
        slots.reverse();
        slots
    }

    /// This time in the schedule's zone; in UTC for an interval.
    pub(crate) fn local(&self, time: Timestamp) -> Option<DateTime> {
        let zone = match self {
            Self::Cron(expression) => &expression.zone,
            Self::Every(_) => &TimeZone::UTC,
        };
        Some(zone.to_datetime(instant(time)?))
    }
}

fn instant(time: Timestamp) -> Option<Instant> {
    let millis = i64::try_from(time.as_millis()).ok()?;
    Instant::from_millisecond(millis).ok()
}

fn timestamp(time: Instant) -> Option<Timestamp> {
    let millis = u64::try_from(time.as_millisecond()).ok()?;
    Some(Timestamp::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two days around a change of each zone, every 13 minutes.
    #[test]
    fn the_latest_slots_are_the_last_ones_of_the_search_forwards() {
        let zones = [
            ("Europe/Berlin", "2026-03-29T01:00Z"),
            ("Europe/Berlin", "2026-10-25T01:00Z"),
            ("America/Santiago", "2026-09-06T04:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T15:00Z"),
            ("Antarctica/Casey", "2020-03-07T16:00Z"),
            ("Pacific/Apia", "2011-12-30T10:00Z"),
        ];
        let expressions = [
            "0,30 2 * * *",
            "0 0,2,23 * * *",
            "*/20 * * * *",
            "0 */2 * * *",
            "0 3 30,31 * *",
        ];
        let hours = 3_600_000;
        for ((zone, change), expression) in zones
            .iter()
            .flat_map(|zone| expressions.map(|one| (zone, one)))
        {
            let calendar = Calendar::of(&Rule::Cron {
                expression: expression.to_owned(),
                zone: (*zone).to_owned(),
            });
            let calendar = calendar.unwrap();
            let change = timestamp(change.parse().unwrap()).unwrap().as_millis();
            let begin = Timestamp::from_millis(change - 24 * hours);
            let slots = successors(calendar.after(begin), |slot| calendar.after(*slot));
            let end = change + 24 * hours;
            let slots: Vec<_> = slots.take_while(|slot| slot.as_millis() <= end).collect();
            for now in (change - 20 * hours..end).step_by(780_000) {
                let now = Timestamp::from_millis(now);
                let so_far = slots.iter().copied().take_while(|slot| *slot <= now);
                let so_far: Vec<_> = so_far.collect();
                for most in [1, 3, 100] {
                    let expected = &so_far[so_far.len().saturating_sub(most)..];
                    let latest = calendar.latest(begin, now, most);
                    assert_eq!(
                        latest, expected,
                        "{expression} in {zone} at {now:?}, {most}"
                    );
                }
            }
        }
    }
}
