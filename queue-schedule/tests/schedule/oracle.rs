//! Random expressions, and a calendar without croner that goes through a zone's time step by step (C5).

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp as Instant, ToSpan, civil::DateTime, tz::TimeZone};

use crate::random::Random;

/// A random expression, with what its fields stand for.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) text: String,
    /// Whether its times go on through both changes.
    goes_on: bool,
    pub(crate) has_seconds: bool,
    seconds: BTreeSet<i8>,
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    /// None for `*`.
    days: Option<BTreeSet<i8>>,
    months: BTreeSet<i8>,
    /// None for `*`; Sunday is 0.
    weekdays: Option<BTreeSet<i8>>,
}

/// A field of an expression: its text and its values; `all` allows a `*`, with or without a step.
fn field(random: &Random, first: i8, last: i8, all: bool) -> (String, BTreeSet<i8>) {
    let value = || first + random.below((last - first + 1) as u64) as i8;
    match random.below(if all { 7 } else { 5 }) {
        0 | 1 => {
            let one = value();
            (one.to_string(), [one].into())
        }
        2 => {
            let values: BTreeSet<i8> = (0..2 + random.below(3)).map(|_| value()).collect();
            let mut texts: Vec<String> = values.iter().map(i8::to_string).collect();
            if random.below(2) == 0 {
                texts.reverse();
            }
            (texts.join(","), values)
        }
        3 => {
            // A range that begins later than the first value is no range of all.
            let begin = (first + 1).max(value());
            let end = begin + random.below((last - begin + 1) as u64) as i8;
            (format!("{begin}-{end}"), (begin..=end).collect())
        }
        4 => {
            let begin = (first + 1).max(value());
            let step = 2 + random.below(6);
            let values = (begin..=last).step_by(step as usize).collect();
            (format!("{begin}-{last}/{step}"), values)
        }
        5 => ("*".to_owned(), (first..=last).collect()),
        _ => {
            let step = 2 + random.below(7);
            let values = (first..=last).step_by(step as usize).collect();
            let texts = [format!("*/{step}"), format!("{first}-{last}/{step}")];
            (texts[random.below(2) as usize].clone(), values)
        }
    }
}

impl Drawn {
    /// An expression near this time of day, which a change skips or repeats: else few random ones would meet it.
    pub(crate) fn new(random: &Random, near: DateTime, has_seconds: bool) -> Self {
        let (second, seconds) = match has_seconds {
            true => field(random, 0, 59, true),
            false => ("0".to_owned(), [0].into()),
        };
        let (minute, minutes) = field(random, 0, 59, true);
        let goes_on = random.below(3) == 0;
        let (hour, hours) = loop {
            let (text, values) = field(random, 0, 23, goes_on);
            let is_near = values.iter().any(|hour| (hour - near.hour()).abs() <= 1);
            let is_all = text.contains('*') || text.starts_with("0-23");
            if is_near && is_all == goes_on {
                break (text, values);
            }
        };
        let (day, days) = match random.below(4) {
            0 => {
                let (text, mut values) = field(random, 1, 31, false);
                values.insert(near.day());
                (format!("{text},{}", near.day()), Some(values))
            }
            _ => ("*".to_owned(), None),
        };
        let (month, months) = match random.below(4) {
            0 => (
                format!("{}", near.month()),
                [near.month()].into_iter().collect(),
            ),
            _ => ("*".to_owned(), (1..=12).collect()),
        };
        let (weekday, weekdays) = match random.below(4) {
            0 => {
                let (text, values) = field(random, 0, 6, false);
                (text, Some(values))
            }
            _ => ("*".to_owned(), None),
        };
        let mut text = format!("{minute} {hour} {day} {month} {weekday}");
        if has_seconds {
            text = format!("{second} {text}");
        }
        Self {
            text,
            goes_on,
            has_seconds,
            seconds,
            minutes,
            hours,
            days,
            months,
            weekdays,
        }
    }

    /// Whether the expression has this time; of two fields for the day, either is enough.
    fn has(&self, time: DateTime) -> bool {
        let weekday = time.weekday().to_sunday_zero_offset();
        let day = self.days.as_ref().map(|days| days.contains(&time.day()));
        let weekday = self.weekdays.as_ref().map(|days| days.contains(&weekday));
        let on_this_day = match (day, weekday) {
            (Some(day), Some(weekday)) => day || weekday,
            (one, other) => one.or(other).unwrap_or(true),
        };
        self.seconds.contains(&time.second())
            && self.minutes.contains(&time.minute())
            && self.hours.contains(&time.hour())
            && self.months.contains(&time.month())
            && on_this_day
    }

    /// The slots from `begin` to `end`, by each minute or second. A fixed time comes at the first moment at which the
    /// clock shows it or a later one.
    pub(crate) fn slots(&self, zone: &TimeZone, begin: Instant, end: Instant) -> Vec<Instant> {
        let step = match self.has_seconds {
            true => 1,
            false => 60,
        };
        let mut slots = Vec::new();
        // From hours before, so that no earlier change is under way.
        let mut now = begin.checked_sub(3.hours()).unwrap();
        let mut shown = zone.to_datetime(now);
        while now < end {
            now += SignedDuration::from_secs(step);
            let local = zone.to_datetime(now);
            let mut comes = self.goes_on && self.has(local);
            // The times that the clock shows first now, or has skipped.
            while shown < local {
                shown = shown.checked_add(step.seconds()).unwrap();
                comes |= !self.goes_on && self.has(shown);
            }
            if comes && now > begin {
                slots.push(now);
            }
        }
        slots
    }
}

/// Every change of the offset of every zone, from 2000 to 2037.
pub(crate) fn changes() -> Vec<(TimeZone, Instant)> {
    let begin: Instant = "2000-01-01T00:00Z".parse().unwrap();
    let end: Instant = "2038-01-01T00:00Z".parse().unwrap();
    let mut changes = Vec::new();
    for name in jiff::tz::db().available() {
        let Ok(zone) = TimeZone::get(name.as_str()) else {
            continue;
        };
        let mut offset = zone.to_offset(begin);
        for change in zone.following(begin) {
            if change.timestamp() > end {
                break;
            }
            if std::mem::replace(&mut offset, change.offset()) != change.offset() {
                changes.push((zone.clone(), change.timestamp()));
            }
        }
    }
    changes
}
