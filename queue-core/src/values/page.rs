//! Reading a long listing page by page.

use super::{Result, limits};

/// The place at which the next page starts. Only the backend that returned it knows what the number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Cursor(u64);

impl Cursor {
    /// A backend's numbers are below this, so that a listing of several partitions can add the partition.
    pub const LIMIT: u64 = (1 << 58) - 1;

    /// The cursor at this number of the backend's.
    pub const fn new(position: u64) -> Self {
        Self(position)
    }

    /// The backend's number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The page of a listing to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Page {
    /// The end of the last page; `None` starts at the beginning.
    pub after: Option<Cursor>,
    /// The most entries: 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
}

impl Page {
    /// The first page.
    pub const fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }

    /// The page after that cursor.
    pub const fn after(cursor: Cursor, limit: usize) -> Self {
        Self {
            after: Some(cursor),
            limit,
        }
    }

    /// Checks the length.
    ///
    /// # Errors
    ///
    /// `Invalid` for zero, or for more than [`limits::MAX_PAGE`].
    pub fn check(self) -> Result<()> {
        limits::check_page(self.limit)
    }
}

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Paged<T> {
    /// The entries: no more than the caller asked for, and fewer where their bodies would pass
    /// [`limits::MAX_BATCH_BYTES`] (but always one).
    pub entries: Vec<T>,
    /// The start of the next page; `None` at the end.
    pub next: Option<Cursor>,
}

impl<T> Paged<T> {
    /// These entries, and the start of the next page.
    pub const fn new(entries: Vec<T>, next: Option<Cursor>) -> Self {
        Self { entries, next }
    }
}
