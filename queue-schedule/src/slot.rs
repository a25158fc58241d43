//! One time of a schedule.

use std::fmt;

use queue_core::Timestamp;

use super::calendar::Calendar;

/// A time at which a schedule runs.
#[derive(Debug, Clone)]
pub struct Slot {
    pub(crate) at: Timestamp,
    pub(crate) local: LocalTime,
    pub(crate) asked: bool,
}

impl Slot {
    pub(crate) fn new(at: Timestamp, asked: bool, calendar: &Calendar) -> Self {
        let local = calendar.local(at).unwrap_or_default();
        Self {
            at,
            local: LocalTime {
                year: local.year(),
                month: local.month().unsigned_abs(),
                day: local.day().unsigned_abs(),
                hour: local.hour().unsigned_abs(),
                minute: local.minute().unsigned_abs(),
                second: local.second().unsigned_abs(),
            },
            asked,
        }
    }

    /// The slot's time.
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// The slot's time in the schedule's zone; in UTC for an interval.
    pub const fn local(&self) -> LocalTime {
        self.local
    }

    /// Whether an operator has asked for it by [`run_now`](crate::Schedules::run_now).
    pub const fn is_asked_for(&self) -> bool {
        self.asked
    }
}

/// A date and a time of day in a schedule's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct LocalTime {
    /// The year.
    pub year: i16,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
    /// The hour.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second.
    pub second: u8,
}

impl LocalTime {
    /// The date: `2026-11-27`.
    pub fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = (self.hour, self.minute, self.second);
        write!(f, "{} {hour:02}:{minute:02}:{second:02}", self.date())
    }
}
