//! Asks a server for copies of a connection's writes.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use queue_core::{Confirmation, Copies, Error, ErrorKind, Outcome, Result};
use redis::{Cmd, Value};

use super::Channel;
use crate::error::{Failure, Lack, Refusal};

/// A write that leaves nothing behind.
const WRITE: &str = include_str!("../../lua/confirm.lua");

/// The number of copies to ask for, and the server's address.
#[derive(Debug)]
pub struct CopiesAsked {
    confirmation: Confirmation,
    address: String,
    waits: AtomicU64,
}

impl CopiesAsked {
    /// The request to the server at this address.
    pub const fn new(confirmation: Confirmation, address: String) -> Self {
        Self {
            confirmation,
            address,
            waits: AtomicU64::new(0),
        }
    }

    /// Waits for copies of everything that the server had done before: writes to `key` and waits for copies of the
    /// write. Both commands use this connection together, so a failover between them is noticed: a demoted primary ends
    /// the wait with an error.
    ///
    /// If the server cannot wait any more, the connection is replaced, because the next one is checked first.
    ///
    /// The write returns a unique word. So the reply that follows it belongs to the wait, and no other number is taken
    /// for copies.
    pub async fn wait(&self, channel: &Channel, key: &str) -> Copies {
        let mut write = redis::cmd("EVAL");
        let word = format!("copies {}", self.waits.fetch_add(1, Ordering::Relaxed));
        write.arg(WRITE).arg(1).arg(key).arg(&word);
        let within = self.confirmation.within;
        let wait = self.command(self.confirmation.replicas, within);
        let answers = channel.request_wait([write, wait], within);
        let mut answers = match answers.await {
            Ok(answers) => answers.into_iter(),
            Err(failure) => return self.unknown(failure),
        };
        match (answers.next(), answers.next()) {
            (_, Some(Err(failure))) => {
                channel.give_up();
                self.unknown(failure)
            }
            (Some(Err(failure)), _) => self.unknown(failure),
            (Some(Ok(Value::BulkString(said))), Some(Ok(answer))) if said == word.as_bytes() => {
                self.counted(&answer)
            }
            _ => {
                channel.mark_suspect();
                self.unknown(Failure::OutOfStep)
            }
        }
    }

    fn unknown(&self, failure: Failure) -> Copies {
        // The calls before have taken effect; the outcome of the wait does not matter.
        let reason = failure.into_error(&self.address);
        Copies::Unknown(reason.with_outcome(Outcome::NotApplied).to_string())
    }

    fn command(&self, replicas: u16, within: Duration) -> Cmd {
        let millis = within.as_nanos().div_ceil(1_000_000);
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        if self.confirmation.flushed {
            let mut command = redis::cmd("WAITAOF");
            command.arg(1).arg(replicas).arg(millis);
            return command;
        }
        let mut command = redis::cmd("WAIT");
        command.arg(replicas).arg(millis);
        command
    }

    fn counted(&self, answer: &Value) -> Copies {
        let (flushed, replicas) = match answer {
            Value::Int(replicas) => (0, *replicas),
            Value::Array(counts) => match counts[..] {
                [Value::Int(flushed), Value::Int(replicas)] => (flushed, replicas),
                _ => (0, 0),
            },
            _ => (0, 0),
        };
        let asked = &self.confirmation;
        let flushed = flushed > 0;
        if replicas >= asked.replicas.into() && (flushed || !asked.flushed) {
            return Copies::Enough;
        }
        let replicas = replicas.unsigned_abs();
        Copies::Fewer { replicas, flushed }
    }

    /// Asks for zero copies. Every server that can count copies replies at once.
    pub(super) async fn check(&self, channel: &Channel) -> Result<()> {
        match channel
            .request(&self.command(0, Duration::from_millis(1)))
            .await
        {
            Ok(_) => Ok(()),
            Err(Failure::Refused(refusal)) => Err(self.unable(Refusal::of(&refusal))),
            Err(failure) => Err(failure.into_error(&self.address)),
        }
    }

    fn unable(&self, refusal: Refusal<'_>) -> Error {
        let Refusal { code, message, .. } = refusal;
        let way_out = match Lack::of(refusal) {
            Some(Lack::Forbidden) => "allow its user the command",
            Some(Lack::Missing) if self.confirmation.flushed => {
                "Redis has WAITAOF from 7.2 on, and so has Valkey: ask for replicas that have received the \
                 changes, not for what is flushed"
            }
            Some(Lack::Missing) => {
                "somebody renamed WAIT, or something between does not know it: nothing can be confirmed"
            }
            None => {
                "turn its appendonly on, or ask for replicas that have received the changes, not for what is \
                 flushed"
            }
        };
        Error::new(
            ErrorKind::Configuration,
            format!(
                "{} cannot tell whether anything is {}: {code} {message} ({way_out})",
                self.address, self.confirmation
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_enough_if_every_requested_copy_is_reported() {
        let read = |asked, answer| CopiesAsked::new(asked, "here".to_owned()).counted(&answer);
        let two = || Confirmation::replicas(2);
        let fewer = |replicas, flushed| Copies::Fewer { replicas, flushed };
        assert_eq!(read(two(), Value::Int(2)), Copies::Enough);
        assert_eq!(read(two(), Value::Int(1)), fewer(1, false));
        let both = |flushed, replicas| [flushed, replicas].map(Value::Int).to_vec();
        for (answer, copies) in [
            (both(1, 2), Copies::Enough),
            (both(0, 2), fewer(2, false)),
            (both(1, 1), fewer(1, true)),
            (vec![Value::Int(1)], fewer(0, false)),
        ] {
            assert_eq!(read(two().and_flushed(), Value::Array(answer)), copies);
        }
    }
}
