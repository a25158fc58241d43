//! Cursors: the places after which pages go on.

use std::{borrow::Cow, collections::BTreeMap};

use queue_core::{
    Cursor, Page,
    call::{Answer, Call},
};

/// Pairs of cursors: the backend's and the model's for the same page.
///
/// The number in a cursor is the backend's own business. Its meaning is not: the place at which
/// that page ended. Two listings may give the same number, so each has cursors of its own, by the
/// name of its call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Cursors(BTreeMap<(&'static str, Cursor), Cursor>);

impl Cursors {
    /// The call with the model's cursor in place of the backend's. `None` if no known page ended there, for example
    /// because its history was lost.
    pub(super) fn known<'a>(&self, call: &'a Call) -> Option<Cow<'a, Call>> {
        let (Call::DeadLetters(page) | Call::List(page) | Call::Peek(_, page) | Call::Groups(page)) =
            call
        else {
            return Some(Cow::Borrowed(call));
        };
        let Some(after) = page.after else {
            return Some(Cow::Borrowed(call));
        };
        let page = Page::after(*self.0.get(&(call.name(), after))?, page.limit);
        Some(Cow::Owned(match call {
            Call::List(_) => Call::List(page),
            Call::Groups(_) => Call::Groups(page),
            Call::Peek(place, _) => Call::Peek(*place, page),
            _ => Call::DeadLetters(page),
        }))
    }

    /// Learns the cursors of one page of this call from both answers.
    pub(super) fn note(&mut self, call: &Call, answer: &Answer, expected: &Answer) {
        let (theirs, ours) = match (answer, expected) {
            (Answer::DeadLetters(page), Answer::DeadLetters(expected)) => {
                (page.next, expected.next)
            }
            (Answer::Items(page), Answer::Items(expected)) => (page.next, expected.next),
            (Answer::Peeked(page), Answer::Peeked(expected)) => (page.next, expected.next),
            (Answer::Groups(page), Answer::Groups(expected)) => (page.next, expected.next),
            _ => return,
        };
        if let (Some(theirs), Some(ours)) = (theirs, ours) {
            self.0.insert((call.name(), theirs), ours);
        }
    }
}
