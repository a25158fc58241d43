//! Where pages go on.

use std::{borrow::Cow, collections::BTreeMap};

use queue_core::{
    Cursor, Page,
    call::{Answer, Call},
};

/// The cursors that a backend gave, each with the one that the model gave for the same page.
///
/// What a cursor's number means is its backend's own business; what it stands for is not: the place
/// at which that page ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Cursors(BTreeMap<Cursor, Cursor>);

impl Cursors {
    /// The call with the model's cursor in the place of the backend's. `None` if no page is known to
    /// have ended there: one of a history that was lost, say.
    pub(super) fn known<'a>(&self, call: &'a Call) -> Option<Cow<'a, Call>> {
        let (Call::DeadLetters(page) | Call::List(page)) = call else {
            return Some(Cow::Borrowed(call));
        };
        let Some(after) = page.after else {
            return Some(Cow::Borrowed(call));
        };
        let page = Page::after(*self.0.get(&after)?, page.limit);
        Some(Cow::Owned(match call {
            Call::List(_) => Call::List(page),
            _ => Call::DeadLetters(page),
        }))
    }

    /// The backend answered a call so, and the model this.
    pub(super) fn note(&mut self, answer: &Answer, expected: &Answer) {
        let (theirs, ours) = match (answer, expected) {
            (Answer::DeadLetters(page), Answer::DeadLetters(expected)) => {
                (page.next, expected.next)
            }
            (Answer::Items(page), Answer::Items(expected)) => (page.next, expected.next),
            _ => return,
        };
        if let (Some(theirs), Some(ours)) = (theirs, ours) {
            self.0.insert(theirs, ours);
        }
    }
}
