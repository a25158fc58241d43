//! The definition of a schedule.

use std::{fmt, time::Duration};

use queue_core::{Error, Result, Timestamp, millis_ceil};
use serde::{Deserialize, Serialize};

use super::calendar::{Calendar, Rule};

/// Bytes in the name of a schedule, at most.
const MAX_NAME: usize = 128;
/// Missed slots that run, at most.
const MAX_MISSED: u32 = 100;

/// Rule for slots that passed while no scheduler ran (C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Missed {
    /// Nothing: the next slot is the first one to come.
    #[default]
    Skip,
    /// The latest of them runs at once.
    RunOnce,
    /// The latest ones run at once, up to this number of them, 1 to 100.
    RunAll(u32),
}

/// A schedule: a name, when it has slots, and what to do about missed ones.
#[must_use = "it does nothing until a scheduler has it"]
#[derive(Clone)]
pub struct Periodic {
    pub(crate) name: String,
    pub(crate) rule: Rule,
    pub(crate) calendar: Calendar,
    pub(crate) missed: Missed,
    pub(crate) unless_running: bool,
}

impl fmt::Debug for Periodic {
    /// Without what was read of the rule, which is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Periodic")
            .field("name", &self.name)
            .field("rule", &self.rule)
            .field("missed", &self.missed)
            .field("unless_running", &self.unless_running)
            .finish_non_exhaustive()
    }
}

impl Periodic {
    /// Slots by a cron expression in a time zone.
    ///
    /// The expression has five fields (minute, hour, day of the month, month, day of the week), or six with the
    /// seconds in front. A field is `*`, a list, a range or a step. Months and days may have names; `L` is the last, `#`
    /// the nth weekday, `W` the nearest one. The zone has a name of the IANA database, such as `Europe/Berlin` or `UTC`.
    /// With a `*` in the field for the hour, the slots go on through changes to daylight saving; other times are fixed
    /// (C5).
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name, an expression that cannot be read or never has a slot, and an unknown zone.
    pub fn cron(
        name: impl Into<String>,
        expression: impl Into<String>,
        zone: impl Into<String>,
    ) -> Result<Self> {
        let rule = Rule::Cron {
            expression: expression.into(),
            zone: zone.into(),
        };
        Self::new(name.into(), rule)
    }

    /// Slots at each multiple of an interval, counted from 1970-01-01 in UTC: the same for all programs.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name, and for an interval below a second or above a hundred years.
    pub fn every(name: impl Into<String>, interval: Duration) -> Result<Self> {
        let millis = millis_ceil(interval);
        Self::new(name.into(), Rule::Every { millis })
    }

    /// Reads a rule as [`ScheduleInfo::rule`](crate::ScheduleInfo::rule) shows it: `0 3 * * * (Europe/Berlin)`, or `every
    /// 60000 ms`, also with `s`, `min`, `h` or `d`.
    ///
    /// # Errors
    ///
    /// The errors of [`cron`](Self::cron) and [`every`](Self::every), and `Invalid` for a text of another form.
    pub fn read(name: impl Into<String>, rule: &str) -> Result<Self> {
        let rule = rule.trim();
        let malformed = || {
            let forms = "`0 3 * * * (Europe/Berlin)`, or `every 15 min`, with ms, s, min, h or d";
            Error::invalid(format!("the rule {rule:?} of a schedule: {forms}"))
        };
        if let Some(interval) = rule.strip_prefix("every ") {
            let interval = interval.trim();
            let digits = interval.find(|next: char| !next.is_ascii_digit());
            let (count, unit) = interval.split_at(digits.ok_or_else(malformed)?);
            let millis = match unit.trim() {
                "ms" => 1,
                "s" => 1_000,
                "min" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(malformed()),
            };
            let count: u64 = count.parse().map_err(|_| malformed())?;
            return Self::every(name, Duration::from_millis(count.saturating_mul(millis)));
        }
        let zoned = rule
            .strip_suffix(')')
            .and_then(|rule| rule.rsplit_once('('));
        let (expression, zone) = zoned.ok_or_else(malformed)?;
        Self::cron(name, expression.trim(), zone.trim())
    }

    fn new(name: String, rule: Rule) -> Result<Self> {
        check_name(&name)?;
        Ok(Self {
            calendar: Calendar::of(&rule)?,
            name,
            rule,
            missed: Missed::default(),
            unless_running: false,
        })
    }

    /// Sets what happens with missed slots. They are skipped by default.
    pub const fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// Skips a slot while the message of the last one is ready, delayed or leased (C6). A dead letter does not count.
    ///
    /// So the slots are not pushed ahead: a slot comes if a scheduler runs at its time, and one that is more than a
    /// minute late is a missed one. [`Schedules::run_now`](crate::Schedules::run_now) runs it all the same.
    pub const fn unless_running(mut self) -> Self {
        self.unless_running = true;
        self
    }

    /// The first slot after this time; none if there is no further one.
    pub fn slot_after(&self, time: Timestamp) -> Option<Timestamp> {
        self.calendar.after(time)
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self.missed {
            Missed::RunAll(slots) if slots == 0 || slots > MAX_MISSED => {
                Err(Error::invalid(format!(
                    "{slots} missed slots of the schedule `{}` to run: 1 to {MAX_MISSED}",
                    self.name
                )))
            }
            Missed::RunAll(slots) if slots > 1 && self.unless_running => {
                Err(Error::invalid(format!(
                    "{slots} missed slots of the schedule `{}` to run, of which one may run at a time: use `RunOnce`",
                    self.name
                )))
            }
            _ => Ok(()),
        }
    }
}

/// # Errors
///
/// `Invalid` if the name is empty, longer than 128 bytes, or has a control character.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
        return Err(Error::invalid(format!(
            "the name {name:?} of a schedule: 1 to {MAX_NAME} bytes, without control characters"
        )));
    }
    Ok(())
}
