//! The part of the configuration that all kinds share; each kind's own part is beside its trait. The first
//! open fixes it.
//!
//! The backend stores attempts, the dead-letter cap, capacity, ageing and pace with the queue; a later open
//! that differs fails with [`ConfigMismatch`](crate::ErrorKind::ConfigMismatch). `max_body` alone is a limit
//! of this process: no backend stores or compares it.

use std::{fmt, time::Duration};

use crate::{Error, Result, in_millis, limits, millis_ceil};

/// The version of the stored layout; opening a queue of another one fails with `ConfigMismatch`.
pub const LAYOUT_VERSION: u32 = 1;

const DEFAULT_MAX_ATTEMPTS: u32 = 5;
const DEFAULT_DEAD_LETTER_CAP: u64 = 10_000;
const MAX_DEAD_LETTER_CAP: u64 = 1 << 32;

/// The configuration that the leasing kinds share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LeasingConfig {
    /// Deliveries of a message before it goes to the dead letters (L6). 5 by default.
    pub max_attempts: u32,
    /// The most dead letters that the queue keeps; beyond it a new one displaces the oldest (L13).
    /// 10,000 by default; zero keeps none.
    pub dead_letter_cap: u64,
    /// The most messages that all consumers together may have under leases (Q1). No limit by default.
    pub at_once: Option<u32>,
    /// The most messages that the queue hands out in a time (Q2). No limit by default.
    pub rate: Option<LeaseRate>,
    /// Bytes of body and headers in one message that this handle accepts. 1 MiB by default.
    pub max_body: usize,
}

impl Default for LeasingConfig {
    fn default() -> Self {
        Self {
            max_attempts: DEFAULT_MAX_ATTEMPTS,
            dead_letter_cap: DEFAULT_DEAD_LETTER_CAP,
            at_once: None,
            rate: None,
            max_body: limits::DEFAULT_MAX_BODY,
        }
    }
}

impl LeasingConfig {
    pub(crate) fn check(&self) -> Result<()> {
        if self.max_attempts == 0 {
            return Err(Error::invalid(
                "max_attempts is 0: a message needs at least 1 attempt",
            ));
        }
        if self.dead_letter_cap > MAX_DEAD_LETTER_CAP {
            return Err(Error::invalid(format!(
                "a dead_letter_cap of {}: at most 2^32",
                self.dead_letter_cap
            )));
        }
        if self.at_once == Some(0) {
            return Err(Error::invalid(
                "an at_once of 0 would never hand out anything: at least 1; pause the queue instead",
            ));
        }
        if let Some(rate) = &self.rate {
            rate.check("a rate", "queue")?;
        }
        check_max_body(self.max_body)
    }

    pub(crate) fn check_stored(&self, stored: &Self) -> Result<()> {
        same("max_attempts", stored.max_attempts, self.max_attempts)?;
        same(
            "dead_letter_cap",
            stored.dead_letter_cap,
            self.dead_letter_cap,
        )?;
        same("at_once", Limit(stored.at_once), Limit(self.at_once))?;
        same("rate", Limit(stored.rate), Limit(self.rate))
    }
}

/// How many messages a queue, or a group of a grouped queue, hands out in a time, over all its consumers (Q2, Q3): a
/// token bucket with `most` tokens, which gets them back evenly within `per`.
///
/// In any time of length t the queue or the group hands out at most `most` + `most` · t / `per` messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LeaseRate {
    /// The messages: 1 to 1,000,000.
    pub most: u32,
    /// The time, in whole milliseconds: 1 ms to 24 h.
    pub per: Duration,
}

const MAX_RATE: u32 = 1_000_000;
const LONGEST_RATE: Duration = Duration::from_secs(24 * 60 * 60);

impl LeaseRate {
    /// `most` messages in each `per`.
    pub const fn new(most: u32, per: Duration) -> Self {
        Self { most, per }
    }

    /// Checks the rate of a queue or of a group. An error begins with `name`, and says to pause `whole` for none.
    pub(crate) fn check(&self, name: &str, whole: &str) -> Result<()> {
        let Self { most, per } = *self;
        if most == 0 || most > MAX_RATE {
            return Err(Error::invalid(format!(
                "{name} of {most} messages: 1 to {MAX_RATE} are allowed; pause the {whole} for none"
            )));
        }
        check_optional(&format!("{name}'s time"), Some(per), LONGEST_RATE)
    }
}

impl fmt::Display for LeaseRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.most, in_millis(self.per))
    }
}

/// A limit, for comparing and showing.
pub(crate) struct Limit<T>(pub(crate) Option<T>);

impl PartialEq for Limit<u32> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// As stored, in whole milliseconds.
impl PartialEq for Limit<LeaseRate> {
    fn eq(&self, other: &Self) -> bool {
        let stored = |rate: LeaseRate| (rate.most, millis_ceil(rate.per));
        self.0.map(stored) == other.0.map(stored)
    }
}

impl<T: fmt::Display> fmt::Display for Limit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(limit) => limit.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// The setters that every leasing kind's configuration has.
macro_rules! leasing_setters {
    () => {
        /// How often a message is delivered before it goes to the dead letters (L6).
        #[must_use]
        pub fn with_max_attempts(mut self, attempts: u32) -> Self {
            self.leasing.max_attempts = attempts;
            self
        }

        /// How many dead letters are kept (L13).
        #[must_use]
        pub fn with_dead_letter_cap(mut self, cap: u64) -> Self {
            self.leasing.dead_letter_cap = cap;
            self
        }

        /// How many messages all consumers together may have under leases (Q1).
        ///
        /// This is a limit of the queue, whatever number of processes consumes it. A worker's
        /// `concurrency` and `at_most` are limits of that worker.
        #[must_use]
        pub fn with_at_once(mut self, most: u32) -> Self {
            self.leasing.at_once = Some(most);
            self
        }

        /// How many messages the queue hands out in a time, over all consumers (Q2). Redeliveries count.
        ///
        /// A worker's `rate` is a limit of that worker.
        #[must_use]
        pub fn with_rate(mut self, most: u32, per: std::time::Duration) -> Self {
            self.leasing.rate = Some($crate::LeaseRate::new(most, per));
            self
        }

        /// How many bytes of body and headers a message may have, up to
        /// [`MAX_BATCH_BYTES`](crate::limits::MAX_BATCH_BYTES). A limit of this handle, not stored.
        #[must_use]
        pub fn with_max_body(mut self, bytes: usize) -> Self {
            self.leasing.max_body = bytes;
            self
        }
    };
}

/// The checks of a configuration that has only the shared fields.
macro_rules! plain_checks {
    () => {
        /// Checks the limits, as every open does first.
        ///
        /// # Errors
        ///
        /// `Invalid`, naming the value.
        pub fn check(&self) -> Result<()> {
            self.leasing.check()
        }

        /// Checks this against the stored configuration.
        ///
        /// # Errors
        ///
        /// `ConfigMismatch`, naming both values.
        pub fn check_stored(&self, stored: &Self) -> Result<()> {
            self.leasing.check_stored(&stored.leasing)
        }
    };
}

pub(crate) use {leasing_setters, plain_checks};

/// The error of an open that asks for another value than the stored one.
pub fn config_mismatch(what: &str, stored: impl fmt::Display, asked: impl fmt::Display) -> Error {
    let way_out = match what {
        // A removal loses messages, so it is no way out of a layout that this version does not know.
        "kind" => {
            "open it as that, use another name, or remove it by Queues::remove or `qk remove`"
        }
        _ => "open it with the stored value, or use another name",
    };
    mismatch(what, stored, asked, way_out)
}

pub(crate) fn mismatch(
    what: &str,
    stored: impl fmt::Display,
    asked: impl fmt::Display,
    way_out: &str,
) -> Error {
    Error::new(
        crate::ErrorKind::ConfigMismatch,
        format!("the stored {what} is {stored}, this open asks for {asked}: {way_out}"),
    )
}

pub(crate) fn same<V: PartialEq + fmt::Display>(what: &str, stored: V, asked: V) -> Result<()> {
    if stored == asked {
        return Ok(());
    }
    let way_out = "open it with the stored value, change that by Queues::reconfigure or `qk reconfigure`, or use \
                   another name";
    Err(mismatch(what, stored, asked, way_out))
}

/// An optional duration in whole milliseconds, as backends store it, for comparing and showing.
pub(crate) struct Millis(pub(crate) Option<Duration>);

impl PartialEq for Millis {
    fn eq(&self, other: &Self) -> bool {
        self.0.map(millis_ceil) == other.0.map(millis_ceil)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(duration) => f.write_str(&in_millis(duration)),
            None => f.write_str("none"),
        }
    }
}

pub(crate) fn check_max_body(bytes: usize) -> Result<()> {
    if bytes == 0 || bytes > limits::MAX_BATCH_BYTES {
        return Err(Error::invalid(format!(
            "a max_body of {bytes} bytes: 1 to {} is allowed",
            limits::MAX_BATCH_BYTES
        )));
    }
    Ok(())
}

pub(crate) fn check_optional(what: &str, value: Option<Duration>, longest: Duration) -> Result<()> {
    match value {
        Some(duration) if duration.is_zero() || duration > longest => Err(Error::invalid(format!(
            "{what} of {}: between 1 ms and {} is allowed; leave it out for none",
            in_millis(duration),
            in_millis(longest)
        ))),
        _ => Ok(()),
    }
}
