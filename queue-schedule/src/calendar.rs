//! When a schedule has its slots.

use std::{fmt, iter::successors, str::FromStr, time::Duration};

use croner::Cron;
use jiff::{Timestamp as Instant, Zoned, tz::TimeZone};
use queue_core::{Error, Result, Timestamp, in_millis};
use serde::{Deserialize, Serialize};

/// The shortest interval.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest interval: a hundred years.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Longer than any change to daylight saving, in milliseconds.
const LONGEST_CHANGE: u64 = 3 * 60 * 60 * 1_000;

/// A rule for slots, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    Cron(Box<Cron>, TimeZone),
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
                let calendar = Self::Cron(Box::new(cron), time_zone);
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
    ///
    /// A fixed time that a change to daylight saving skips has its slot at the first moment after the gap. A fixed time
    /// that exists twice has its slot at the first of the two (C5). An expression with a `*` for the hour goes on through
    /// both changes, hour by hour, as an interval does.
    pub(crate) fn after(&self, time: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(millis) => {
                let next = (time.as_millis() / millis + 1) * millis;
                Some(Timestamp::from_millis(next))
            }
            Self::Cron(cron, zone) => {
                let next = cron.find_next_occurrence(&zoned(time, zone)?, false).ok()?;
                timestamp(&next)
            }
        }
    }

    /// The latest slots after `done` and not after `now`, at most `most`, in order.
    pub(crate) fn latest(&self, done: Timestamp, now: Timestamp, most: usize) -> Vec<Timestamp> {
        let begin = match self {
            Self::Every(millis) => {
                let last = now.as_millis() / millis * millis;
                last.saturating_sub(millis.saturating_mul(most as u64))
            }
            Self::Cron(cron, zone) => {
                let Some(mut begin) = zoned(now, zone) else {
                    return Vec::new();
                };
                // The search backwards only finds where to begin: at a change to daylight saving it need not find the
                // slots that the search forwards finds.
                for _ in 0..=most {
                    match cron.find_previous_occurrence(&begin, false) {
                        Ok(earlier) => begin = earlier,
                        Err(_) => break,
                    }
                }
                let begin = timestamp(&begin).unwrap_or_default().as_millis();
                begin.saturating_sub(LONGEST_CHANGE)
            }
        };
        let first = self.after(Timestamp::from_millis(begin).max(done));
        let slots = successors(first, |slot| self.after(*slot));
        let mut slots: Vec<_> = slots.take_while(|slot| *slot <= now).collect();
        slots.drain(..slots.len().saturating_sub(most));
        slots
    }

    /// This time in the schedule's zone; in UTC for an interval.
    pub(crate) fn local(&self, time: Timestamp) -> Option<Zoned> {
        match self {
            Self::Cron(_, zone) => zoned(time, zone),
            Self::Every(_) => zoned(time, &TimeZone::UTC),
        }
    }
}

fn zoned(time: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    let millis = i64::try_from(time.as_millis()).ok()?;
    let instant = Instant::from_millisecond(millis).ok()?;
    Some(Zoned::new(instant, zone.clone()))
}

fn timestamp(time: &Zoned) -> Option<Timestamp> {
    let millis = u64::try_from(time.timestamp().as_millisecond()).ok()?;
    Some(Timestamp::from_millis(millis))
}
