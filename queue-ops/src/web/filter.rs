//! The dead letters that somebody means by a part of their reasons, and how many there are.

use queue_core::{DeadLetter, Error, Leasing, MessageId, Page, limits};
use serde::Deserialize;

/// Letters that are read to count those that match. A diagnosis reads as many.
const MOST: usize = 10_000;
/// Letters that are shown.
const SHOWN: usize = 100;

/// A part of the reasons, as `qk dead revive --reason` takes it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Filter {
    #[serde(default)]
    reason: String,
}

/// The letters that match a filter now.
#[derive(Debug, Default)]
pub(super) struct Matching {
    pub(super) count: u64,
    /// The first of them.
    pub(super) first: Vec<DeadLetter>,
    /// The letters that were read.
    pub(super) read: u64,
    /// Whether these were all.
    pub(super) is_whole: bool,
}

impl Filter {
    pub(super) fn new(reason: &str) -> Self {
        let reason = reason.to_owned();
        Self { reason }
    }

    pub(super) fn reason(&self) -> &str {
        self.reason.trim()
    }

    /// A filter without a reason means no letter: all letters are never meant by leaving something out.
    pub(super) fn is_empty(&self) -> bool {
        self.reason().is_empty()
    }

    pub(super) fn is_of(&self, letter: &DeadLetter) -> bool {
        !self.is_empty() && letter.why().contains(self.reason())
    }

    /// The ids of those letters that match.
    pub(super) fn ids(&self, letters: &[DeadLetter]) -> Vec<MessageId> {
        let matching = letters.iter().filter(|letter| self.is_of(letter));
        matching.map(|letter| letter.id).collect()
    }

    /// Counts the letters that match, of the first 10,000. Changes nothing.
    pub(super) async fn count(&self, leasing: &dyn Leasing) -> Result<Matching, Error> {
        let mut matching = Matching::default();
        let mut page = Page::first(limits::MAX_PAGE);
        loop {
            let letters = leasing.dead_letters(page).await?;
            matching.read += letters.entries.len() as u64;
            for letter in letters.entries {
                if self.is_of(&letter) {
                    matching.count += 1;
                    if matching.first.len() < SHOWN {
                        matching.first.push(letter);
                    }
                }
            }
            match letters.next {
                None => {
                    matching.is_whole = true;
                    return Ok(matching);
                }
                Some(_) if matching.read >= MOST as u64 => return Ok(matching),
                Some(next) => page = Page::after(next, limits::MAX_PAGE),
            }
        }
    }
}
