//! Random sequences of calls on one queue: one call after another, without faults.
//!
//! Runs of processes under faults ([`run`](crate::run)) rarely reach the bounds of a call. Sequences reach them, with
//! batches of 127, 128 and 129 entries, rounds of 128 messages that expire together, and durations at the limits of the
//! valid range. Time moves to a millisecond before, at or after the next change. [`strategy`] generates sequences for
//! proptest, which also shrinks them. [`play()`] plays one on a backend. [`check`](crate::check::check()) judges its
//! history, as it judges any run's.
//!
//! A sequence is *total*: every queue of its kind can play it. Receipts, ids, due times and cursors are known only from
//! the queue's answers, so [`symbol`]s replace them.

mod play;
pub mod strategy;
pub mod symbol;

use std::fmt;

use queue_core::{QueueConfig, Timestamp, call::Call};

pub use self::play::{goals, play};

/// A configuration, and steps on a fresh queue that has it.
#[derive(Clone, PartialEq, Eq)]
pub struct Sequence {
    /// The queue's configuration.
    pub config: QueueConfig,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One step of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Time passes.
    Wait(TimeStep),
    /// The client makes a call, with [`symbol`]s in it.
    Call(Call),
}

/// An amount of time that passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeStep {
    /// A number of milliseconds.
    For(u64),
    /// The time until the next change that comes without a call, plus or minus a number of milliseconds. Such a change
    /// is a deadline, a due time, or the end of a time to live or of a dedup window.
    Next(i8),
}

/// The longest wait in milliseconds: due times go up to the year 9999, and the clock does not.
const LONGEST_WAIT: u64 = 8 * 24 * 60 * 60 * 1_000;

impl TimeStep {
    /// This wait in milliseconds, if it is `now` and the next change comes at `change`.
    fn millis(self, now: Timestamp, change: Option<Timestamp>) -> u64 {
        match self {
            Self::For(millis) => millis,
            Self::Next(past) => change.map_or(0, |change| {
                let until = change.as_millis().saturating_add_signed(past.into());
                let millis = until.saturating_sub(now.as_millis());
                if millis > LONGEST_WAIT { 0 } else { millis }
            }),
        }
    }
}

/// The most characters of a step that its output shows: a batch of large bodies is long.
const SHOWN: usize = 400;

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.config)?;
        for step in &self.steps {
            let mut text = format!("{step:?}");
            if let Some((cut, _)) = text.char_indices().nth(SHOWN) {
                text.truncate(cut);
                text.push('…');
            }
            writeln!(f, "{text}")?;
        }
        Ok(())
    }
}
