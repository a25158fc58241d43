//! The backend's clock, as the journal has it from the executions.

use crate::{
    check::{
        branch::{Branch, Done},
        span::Span,
    },
    history::Moment,
};

/// The largest difference between two readings of the clock in a call in real time, in ms: the
/// backend and the journal both cut their times to whole ones.
const GRAIN: u64 = 2;

/// The latest time that the backend's clock had shown at each execution.
pub(super) struct TokenClock(Vec<(u64, u64)>);

impl TokenClock {
    pub(super) fn of(branch: &Branch<'_>) -> Self {
        let moments = branch.calls.iter().flat_map(|done| done.executed.iter());
        let mut moments: Vec<(u64, u64)> = moments
            .map(|moment| (moment.order, moment.at.as_millis()))
            .collect();
        moments.sort_unstable();
        let mut furthest = 0;
        for (_, at) in &mut moments {
            furthest = furthest.max(*at);
            *at = furthest;
        }
        Self(moments)
    }

    pub(super) fn span(&self, done: &Done<'_>) -> Span {
        let record = done.record;
        let span = Span {
            call: record.id,
            ..Span::NEVER
        };
        let (Some(first), Some(last)) = (done.executed.first(), done.executed.last()) else {
            let ended = record.ended.as_ref().filter(|_| done.answer.is_some());
            let end = ended.map_or((u64::MAX, u64::MAX), |ended| {
                (ended.at.order, ended.at.at.as_millis() + GRAIN)
            });
            return Span {
                first: record.began.order,
                last: end.0,
                earliest: record.began.at.as_millis().saturating_sub(GRAIN),
                latest: end.1,
                clock: end.1,
                ..span
            };
        };
        let at = |moment: &Moment| moment.at.as_millis();
        let moments = self.0.partition_point(|(order, _)| *order <= last.order);
        Span {
            first: first.order,
            last: last.order,
            earliest: done.executed.iter().map(at).min().unwrap_or(0),
            latest: done.executed.iter().map(at).max().unwrap_or(u64::MAX),
            clock: self.0[moments - 1].1,
            ..span
        }
    }
}
