//! Random sequences of calls on one queue, one call after another and without faults.
//!
//! Runs of lanes under faults ([`run`](crate::run)) meet the bounds of a call rarely. A sequence is
//! made to meet them: batches of 127, 128 and 129 entries, rounds of 128 messages that expire together,
//! durations at the edges of what is valid, time that moves to a millisecond before, at or after the
//! next change. [`strategy`] generates sequences for proptest, which also shrinks them; [`play()`] plays
//! one on a backend; [`check`](crate::check::check()) judges the history, as that of any other run.
//!
//! A sequence is *total*: every sequence can be played on every queue of its kind. Receipts, ids, due
//! times and cursors are only known once the queue has answered, so [`symbol`]s stand for them.

mod play;
pub mod strategy;
pub mod symbol;

use std::fmt;

use queue_core::{QueueConfig, Timestamp, call::Call};

pub use self::play::{goals, play};

/// A configuration, and what is done to a fresh queue that has it.
#[derive(Clone, PartialEq, Eq)]
pub struct Sequence {
    /// How the queue is configured.
    pub config: QueueConfig,
    /// What is done to it.
    pub steps: Vec<Step>,
}

/// One step of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Time passes.
    Wait(Wait),
    /// A call is made, with [`symbol`]s in it.
    Call(Call),
}

/// How much time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// So many milliseconds.
    For(u64),
    /// Until the next moment at which something changes by itself (a deadline, a due time, the end of
    /// a dedup window), and so many milliseconds after it or before it.
    Next(i8),
}

/// Nobody waits longer than this many milliseconds: due times go up to 2^53, and the clock does not.
const LONGEST_WAIT: u64 = 8 * 24 * 60 * 60 * 1_000;

impl Wait {
    /// How many milliseconds that is from now, with the next change there.
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

/// How much of a step is shown: a batch of large bodies is long.
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
