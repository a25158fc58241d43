//! The largest part of a request that a server accepts. A larger part ends the connection, and with it the calls of all
//! other callers, each time that its caller retries.
//!
//! If the server reports its limits, no such request is sent. Otherwise, a connection that ends under a large request
//! makes that size suspect. Requests of a suspect size use separate connections, until one of them gets a reply.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use queue_core::{Error, ErrorKind, Outcome};
use redis::{Arg, Cmd};

use crate::error::Failure;

/// A server's limits are at least 1 MiB, and a proxy's limits may be smaller. A request without such a part is no cause
/// of a disconnect.
const LARGE: usize = 128 * 1024;
/// The number of separate connections that must end under requests of a size before the size is taken for the cause.
const PROOF: u32 = 2;
const WAY_OUT: &str = "raise that setting, or send smaller values";

/// The bytes of the largest part of a request.
pub fn largest_part<'a>(commands: impl IntoIterator<Item = &'a Cmd>) -> usize {
    let parts = commands.into_iter().flat_map(Cmd::args_iter);
    let sizes = parts.map(|part| match part {
        Arg::Simple(bytes) => bytes.len(),
        _ => 0,
    });
    sizes.max().unwrap_or(0)
}

/// A server's limit that is below the largest part that calls send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    setting: &'static str,
    bytes: u64,
}

impl Limit {
    /// The limit of this setting; `None` if no call sends more than `largest` bytes in a part, and this is no less.
    pub(super) fn of(setting: &'static str, bytes: u64, largest: u64) -> Option<Self> {
        (bytes < largest).then_some(Self { setting, bytes })
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn takes(&self, size: usize) -> bool {
        // The buffer also holds the end of a line.
        size as u64 + 2 <= self.bytes
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.setting, self.bytes)
    }
}

/// The sizes that one server accepts, as far as they are known.
#[derive(Debug, Default)]
pub struct AcceptedSizes {
    /// Whether anything is known. Mostly nothing is, and then a call checks nothing else.
    is_watched: AtomicBool,
    state: Mutex<KnownSizes>,
}

#[derive(Debug, Default)]
struct KnownSizes {
    limit: Option<Limit>,
    suspect: Option<Suspect>,
}

/// The smallest size under which a connection ended.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    size: usize,
    /// The number of separate connections that ended under this size.
    alone: u32,
}

impl AcceptedSizes {
    /// Sets the limit that the server reports.
    pub(super) fn set_limit(&self, limit: Option<Limit>) {
        self.change(|state| state.limit = limit);
    }

    /// Whether a request whose largest part has `size` bytes uses a separate connection.
    ///
    /// # Errors
    ///
    /// `Configuration` if the server would end the connection.
    pub fn needs_own_connection(
        &self,
        size: impl FnOnce() -> usize,
        address: &str,
    ) -> Result<bool, Error> {
        if !self.is_watched.load(Ordering::Acquire) {
            return Ok(false);
        }
        let size = size();
        let state = self.lock();
        if let Some(limit) = state.limit.filter(|limit| !limit.takes(size)) {
            let text = format!(
                "nothing was sent: the request has a part of {size} bytes, and {address} takes none beyond its \
                 {limit}: {WAY_OUT}"
            );
            return Err(Error::new(ErrorKind::Configuration, text));
        }
        Ok(state.suspect.is_some_and(|suspect| size >= suspect.size))
    }

    /// Notes the result of a request with this largest part: its failure, if it failed. `alone` if it used a separate
    /// connection, while another one to the same server stayed open.
    ///
    /// # Errors
    ///
    /// `Configuration` if the size is the cause.
    pub fn note_result(
        &self,
        failure: Option<&Failure>,
        size: impl FnOnce() -> usize,
        alone: bool,
        address: &str,
    ) -> Result<(), Error> {
        let is_cause = failure.is_some_and(Failure::is_of_size);
        match failure {
            Some(Failure::Cut(_)) => {}
            _ if is_cause => {}
            Some(Failure::Silent(_) | Failure::OutOfStep) => return Ok(()),
            Some(Failure::Refused(_)) | None => {
                if self.is_watched.load(Ordering::Acquire) {
                    self.clear(size());
                }
                return Ok(());
            }
        }
        let size = size();
        if size < LARGE {
            return Ok(());
        }
        let mut times = 0;
        self.change(|state| {
            let known = state.suspect.unwrap_or(Suspect { size, alone: 0 });
            let suspect = Suspect {
                size: known.size.min(size),
                alone: known.alone.saturating_add(alone.into()),
            };
            times = suspect.alone;
            state.suspect = Some(suspect);
        });
        let settings = "proto-max-bulk-len or its client-query-buffer-limit";
        if is_cause {
            let text = format!(
                "{address} ended the connection: the request has a part of {size} bytes, which is more than its \
                 {settings} lets in: {WAY_OUT}"
            );
            return Err(Error::new(ErrorKind::Configuration, text));
        }
        if alone && times >= PROOF {
            let text = format!(
                "{address} ended {times} connections, each under one request with a part of {size} bytes, and \
                 kept another open: its {settings}, or that of something between, is smaller: {WAY_OUT}"
            );
            let error = Error::new(ErrorKind::Configuration, text);
            return Err(error.with_outcome(Outcome::Unknown));
        }
        Ok(())
    }

    /// Notes that a request of this size got a reply.
    fn clear(&self, size: usize) {
        let clears = |suspect: Suspect| size >= suspect.size;
        if self.lock().suspect.is_some_and(clears) {
            self.change(|state| state.suspect = None);
        }
    }

    fn change(&self, change: impl FnOnce(&mut KnownSizes)) {
        let mut state = self.lock();
        change(&mut state);
        let is_watched = state.limit.is_some() || state.suspect.is_some();
        self.is_watched.store(is_watched, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, KnownSizes> {
        // No code panics while it holds this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    const SIZE: usize = 2 * 1024 * 1024;

    fn cut() -> Failure {
        Failure::Cut(io::Error::from(io::ErrorKind::BrokenPipe).into())
    }

    fn goes_alone(sizes: &AcceptedSizes, size: usize) -> bool {
        sizes
            .needs_own_connection(|| size, "here")
            .expect("no limit is known")
    }

    #[test]
    fn a_part_beyond_a_known_limit_is_not_sent() {
        let sizes = AcceptedSizes::default();
        sizes.set_limit(Limit::of("proto-max-bulk-len", 1_048_576, 8_000_000));
        assert!(!goes_alone(&sizes, 1_048_574));
        let error = sizes
            .needs_own_connection(|| 1_048_575, "here")
            .expect_err("it is too large");
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert_eq!(error.outcome(), Outcome::NotApplied);
        for part in ["1048575", "proto-max-bulk-len", "1048576", "here"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        sizes.set_limit(None);
        assert!(!goes_alone(&sizes, 1_048_575));
    }

    #[test]
    fn a_size_under_which_connections_end_goes_alone_and_then_is_the_cause() {
        let sizes = AcceptedSizes::default();
        let heard = |size, alone| sizes.note_result(Some(&cut()), || size, alone, "here");
        heard(LARGE - 1, false).expect("it is small");
        assert!(!goes_alone(&sizes, SIZE));
        heard(SIZE, false).expect("it may be an accident");
        assert!(goes_alone(&sizes, SIZE) && goes_alone(&sizes, SIZE + 1));
        assert!(!goes_alone(&sizes, SIZE - 1), "others go on");
        heard(SIZE, true).expect("it may be an accident");
        let error = heard(SIZE, true).expect_err("it is the cause");
        assert!(!error.is_transient(), "{error:?}");
        assert_eq!(error.outcome(), Outcome::Unknown);
        for part in ["2097152", "proto-max-bulk-len", "client-query-buffer-limit"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(goes_alone(&sizes, SIZE), "others stay spared");
    }

    #[test]
    fn a_size_that_is_answered_is_no_longer_suspect() {
        let sizes = AcceptedSizes::default();
        let heard = |failure: Option<Failure>, size| {
            sizes.note_result(failure.as_ref(), || size, false, "here")
        };
        heard(Some(cut()), SIZE).expect("it may be an accident");
        heard(None, SIZE - 1).expect("it is answered");
        assert!(goes_alone(&sizes, SIZE));
        heard(Some(Failure::OutOfStep), SIZE).expect("it says nothing of the size");
        assert!(goes_alone(&sizes, SIZE));
        heard(None, SIZE).expect("it is answered");
        assert!(!goes_alone(&sizes, SIZE));
    }
}
