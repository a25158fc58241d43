//! A setting of the queue that calls change.

use crate::check::span::Span;

/// The values of a setting: the first, and the times of its changes.
pub(super) struct Changes<T> {
    pub(super) first: T,
    pub(super) changes: Vec<(Span, T)>,
}

impl<T: Copy> Changes<T> {
    /// The values that may be in force then.
    pub(super) fn at(&self, then: &Span) -> impl Iterator<Item = T> {
        let overridden = |span: Option<&Span>| {
            self.changes
                .iter()
                .any(|(later, _)| later.before(then) && span.is_none_or(|span| span.before(later)))
        };
        let first = (!overridden(None)).then_some(self.first);
        let changes = self.changes.iter();
        let changed: Vec<T> = changes
            .filter(|(span, _)| span.may_precede(then) && !overridden(Some(span)))
            .map(|(_, value)| *value)
            .collect();
        first.into_iter().chain(changed)
    }
}
