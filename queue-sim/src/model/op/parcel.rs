//! What is put in.

use std::{sync::LazyLock, time::Duration};

use bytes::Bytes;
use queue_core::{Headers, Push, limits};

use super::Round;

/// What the long bodies share, so that a batch of them costs nothing.
static LONG: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![b'l'; limits::MAX_BATCH_BYTES]));

/// A body of so many equal bytes, so that equal bodies occur (D3) and a failure prints small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// The byte; a body of more than a kilobyte is made of the letter l.
    pub byte: u8,
    /// How many.
    pub len: usize,
    /// Whether it has a header beside it.
    pub header: bool,
}

/// Something to push: a body, and perhaps a dedup key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parcel {
    /// What it says.
    pub body: Body,
    /// The dedup key and its window.
    pub mark: Option<Mark>,
}

/// A dedup key and its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// A number for the key: equal numbers, equal keys. 254 is an empty key, 255 one that is too
    /// long.
    pub key: u8,
    /// How long a repeat is a duplicate.
    pub window: Duration,
}

impl Parcel {
    /// One byte, no header, no dedup key.
    pub const PLAIN: Self = Self {
        body: Body {
            byte: b'p',
            len: 1,
            header: false,
        },
        mark: None,
    };

    pub(in crate::model) fn push(self) -> Push {
        let push = Push::new(self.body.bytes()).with_headers(self.body.headers());
        match self.mark {
            Some(mark) => push.with_dedup(key(mark.key), mark.window),
            None => push,
        }
    }
}

impl Body {
    pub(in crate::model) fn bytes(self) -> Bytes {
        if (1_024..=LONG.len()).contains(&self.len) {
            LONG.slice(..self.len)
        } else {
            Bytes::from(vec![self.byte; self.len])
        }
    }

    pub(in crate::model) fn headers(self) -> Headers {
        if self.header {
            Headers::new().with("h", "1")
        } else {
            Headers::new()
        }
    }
}

impl Round {
    /// What is put in.
    pub(in crate::model) fn parcels(&self) -> Vec<Parcel> {
        let parcel = |n: usize| Parcel {
            mark: self.keys.map(|first| Mark {
                key: ((usize::from(first) + n) % 250) as u8,
                window: Duration::from_millis(20),
            }),
            ..Parcel::PLAIN
        };
        (0..limits::MAX_BATCH).map(parcel).collect()
    }
}

/// The key with this number.
pub(in crate::model) fn key(number: u8) -> Bytes {
    match number {
        254 => Bytes::new(),
        255 => Bytes::from(vec![b'k'; 257]),
        _ => Bytes::from(vec![b'k', number]),
    }
}
