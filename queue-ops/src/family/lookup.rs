//! Looking messages up by their ids, with their states: `find` says only where they are.

use std::collections::{BTreeMap, BTreeSet};

use queue_core::{
    Bytes, Cursor, ErrorKind, Found, Headers, Leasing, MessageId, Page, Place, Result, Standing,
};

/// Entries of a page.
const PAGE: usize = 100;

/// A place in which messages are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Listing {
    Ready,
    Delayed,
    Leased,
    Dead,
}

impl Listing {
    /// The listing that shows a message, if any does.
    pub(super) const fn of(found: &Found) -> Option<Self> {
        match found {
            Found::Present { standing, .. } => Some(match standing {
                Standing::Ready => Self::Ready,
                Standing::Delayed { .. } => Self::Delayed,
                Standing::Leased { .. } => Self::Leased,
            }),
            Found::Dead { .. } => Some(Self::Dead),
            Found::Done(_) | Found::Gone | Found::NeverWas => None,
        }
    }
}

/// A message as a listing shows it.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) headers: Headers,
    pub(super) state: Option<Bytes>,
}

/// The length of a message's state.
pub(super) const fn state_size(found: &Found) -> usize {
    match found {
        Found::Present { state_size, .. } | Found::Dead { state_size, .. } => *state_size,
        Found::Done(_) | Found::Gone | Found::NeverWas => 0,
    }
}

/// The wanted messages that are among the first `most` entries of a listing. A published strategy may have no
/// such listing: then none.
pub(super) async fn look_up(
    queue: &dyn Leasing,
    listing: Listing,
    mut wanted: BTreeSet<MessageId>,
    most: usize,
) -> Result<BTreeMap<MessageId, Listed>> {
    let mut found = BTreeMap::new();
    let mut page = Page::first(PAGE);
    for _ in 0..most.div_ceil(PAGE) {
        let (entries, next) = match read(queue, listing, page).await {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Configuration => break,
            Err(error) => return Err(error),
        };
        found.extend(entries.into_iter().filter(|(id, _)| wanted.remove(id)));
        match next {
            Some(next) if !wanted.is_empty() => page = Page::after(next, PAGE),
            _ => break,
        }
    }
    Ok(found)
}

async fn read(
    queue: &dyn Leasing,
    listing: Listing,
    page: Page,
) -> Result<(Vec<(MessageId, Listed)>, Option<Cursor>)> {
    let place = match listing {
        Listing::Ready => Place::Ready,
        Listing::Delayed => Place::Delayed,
        Listing::Leased => Place::Leased,
        Listing::Dead => {
            let letters = queue.dead_letters(page).await?;
            let entries = letters.entries.into_iter().map(|letter| {
                let (headers, state) = (letter.headers, letter.state);
                (letter.id, Listed { headers, state })
            });
            return Ok((entries.collect(), letters.next));
        }
    };
    let peeked = queue.peek(place, page).await?;
    let entries = peeked.entries.into_iter().map(|one| {
        let (headers, state) = (one.message.headers, one.state);
        (one.message.id, Listed { headers, state })
    });
    Ok((entries.collect(), peeked.next))
}
