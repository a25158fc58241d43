//! The due time that a message has at some moment, as far as it is known.

use queue_core::{Disposition, Due, Rescheduled, Settled};

use super::{Facts, Happened, MessageLife, What, due, millis};
use crate::check::span::Span;

/// The event that set a due time, and the earliest and the latest possible due time, in ms.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct DueTime<'a> {
    pub(in crate::check) by: Happened<'a>,
    pub(in crate::check) earliest: u64,
    pub(in crate::check) latest: u64,
}

impl<'a> Facts<'a> {
    /// The due times of which the message has one then, by its push, a retry, a defer or a move. None if nobody knows.
    pub(in crate::check) fn dues(
        &self,
        life: MessageLife<'_, 'a>,
        then: &Span,
    ) -> Vec<DueTime<'a>> {
        let Some(push) = life.push().map(|at| &self.pushes[at]) else {
            return Vec::new();
        };
        if life.may_be_revived(&push.span, then) {
            return Vec::new();
        }
        let set = life.perhaps_before(then).filter_map(|happened| {
            let (sure, (earliest, latest)) = match happened.what {
                What::Accepted(at) => (true, self.due_of(&self.pushes[at])),
                What::Rescheduled(_, Some(Rescheduled::TooLate)) => return None,
                What::Rescheduled(to, moved) => (moved.is_some(), due(to, &happened.span)),
                What::Settled(_, disposition, None | Some(Settled::Done)) => {
                    let (Disposition::Retry { delay, .. } | Disposition::Defer { delay }) =
                        disposition
                    else {
                        return None;
                    };
                    let after = |time: u64| time.saturating_add(millis(*delay));
                    let span = happened.span;
                    let sure = !matches!(happened.what, What::Settled(_, _, None));
                    (sure, (after(span.earliest), after(span.latest)))
                }
                _ => return None,
            };
            let by = *happened;
            Some((
                sure && by.span.before(then),
                DueTime {
                    by,
                    earliest,
                    latest,
                },
            ))
        });
        let set: Vec<_> = set.collect();
        // Without the backend's own times, a time on its clock and a time on ours cannot be compared.
        let by_clock = |(_, time): &(bool, DueTime<'_>)| match time.by.what {
            What::Accepted(at) => matches!(self.pushes[at].due, Some(Due::At(_))),
            What::Rescheduled(to, _) => matches!(to, Due::At(_)),
            _ => false,
        };
        if !self.case.history.has_truth && set.iter().any(by_clock) {
            return Vec::new();
        }
        let is_last = |time: &DueTime<'_>| {
            let mut later = set.iter().filter(|(sure, _)| *sure);
            !later.any(|(_, later)| time.by.span.before(&later.by.span))
        };
        set.iter().map(|(_, time)| *time).filter(is_last).collect()
    }
}
