//! The slots of a cron expression in a time zone (C5).

use croner::Cron;
use jiff::{
    Timestamp as Instant, ToSpan,
    civil::DateTime,
    tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneTransition},
};

/// An expression in a zone. The expression chooses among the times of a calendar without changes; this maps those times to
/// instants, because croner takes few of them for fixed.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    cron: Cron,
    pub(crate) zone: TimeZone,
    goes_on: bool,
}

/// Whether an expression goes on through both changes: `*` or the range of all hours is in its field for the hour, alone
/// or with a step. The times of any other expression are fixed.
fn goes_on(cron: &Cron) -> bool {
    let fields: Vec<&str> = cron.pattern.as_str().split_whitespace().collect();
    // The seconds in front are optional.
    let hours = fields[usize::from(fields.len() > 5) + 1];
    hours.split(',').any(|part| {
        let range = part.split('/').next().unwrap_or(part);
        let ends: Vec<_> = range.split('-').map(str::parse::<u8>).collect();
        range == "*" || ends == [Ok(0), Ok(23)]
    })
}

impl Expression {
    pub(crate) fn new(cron: Cron, zone: TimeZone) -> Self {
        let goes_on = goes_on(&cron);
        planted!(OnlyOneTimeIsFixed => goes_on =
            cron.determine_job_type() == croner::JobType::IntervalWildcard);
        Self {
            cron,
            zone,
            goes_on,
        }
    }

    /// The first slot after this time; none if there is no further one.
    pub(crate) fn after(&self, time: Instant) -> Option<Instant> {
        if !self.goes_on {
            let next = self.cron.find_next_occurrence(&self.reached(time), false);
            return self.instant(next.ok()?);
        }
        let (mut from, mut inclusive) = (time, false);
        loop {
            let offset = self.zone.to_offset(from);
            let local = offset.to_datetime(from);
            let next = self.cron.find_next_occurrence(&local, inclusive).ok()?;
            let slot = offset.to_timestamp(next).ok()?;
            match self.change_after(from) {
                Some(change) if change.timestamp() <= slot => from = change.timestamp(),
                _ => return Some(slot),
            }
            inclusive = true;
        }
    }

    /// The last slot that is not after this time; none if there is no earlier one.
    pub(crate) fn before(&self, time: Instant) -> Option<Instant> {
        if !self.goes_on {
            let last = self
                .cron
                .find_previous_occurrence(&self.reached(time), true);
            return self.instant(last.ok()?);
        }
        let mut from = time;
        loop {
            let offset = self.zone.to_offset(from);
            let local = offset.to_datetime(from);
            let last = self.cron.find_previous_occurrence(&local, true).ok()?;
            let slot = offset.to_timestamp(last).ok()?;
            match self.change_before(from) {
                Some(change) if slot < change.timestamp() => {
                    from = change.timestamp().checked_sub(1.nanosecond()).ok()?;
                }
                _ => return Some(slot),
            }
        }
    }

    /// The first change of the offset after this time.
    fn change_after(&self, time: Instant) -> Option<TimeZoneTransition<'_>> {
        let mut offset = self.zone.to_offset(time);
        let mut changes = self.zone.following(time);
        changes.find(|change| std::mem::replace(&mut offset, change.offset()) != change.offset())
    }

    /// The last change of the offset that is not after this time.
    fn change_before(&self, time: Instant) -> Option<TimeZoneTransition<'_>> {
        let end = time.checked_add(1.nanosecond()).ok()?;
        self.zone
            .preceding(end)
            .find(|change| self.offset_until(change.timestamp()) != Some(change.offset()))
    }

    /// The offset just before this time.
    fn offset_until(&self, time: Instant) -> Option<Offset> {
        let before = time.checked_sub(1.nanosecond()).ok()?;
        Some(self.zone.to_offset(before))
    }

    /// The instant of a fixed time: the first one if it exists twice, and the first moment after the gap if it does not
    /// exist. A later time never has an earlier instant.
    fn instant(&self, local: DateTime) -> Option<Instant> {
        let times = self.zone.to_ambiguous_timestamp(local);
        match times.offset() {
            AmbiguousOffset::Gap { after, .. } => {
                let change = self.change_after(after.to_timestamp(local).ok()?)?;
                Some(change.timestamp())
            }
            _ => times.earlier().ok(),
        }
    }

    /// The last fixed time whose instant is not after this one.
    fn reached(&self, time: Instant) -> DateTime {
        let local = self.zone.to_datetime(time);
        match self.zone.to_ambiguous_timestamp(local).offset() {
            // For the second time: the clock had gone on to the end of these times before.
            AmbiguousOffset::Fold { before, after } if self.zone.to_offset(time) == after => {
                let end = self
                    .change_before(time)
                    .map(|change| before.to_datetime(change.timestamp()));
                let last = end.and_then(|end| end.checked_sub(1.nanosecond()).ok());
                last.unwrap_or(local)
            }
            _ => local,
        }
    }
}
