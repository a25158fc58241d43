//! The configurations of queues, which the first open fixes.
//!
//! The backend stores attempts, the dead-letter cap, capacity, ageing and pace with the queue; a
//! later open that differs fails with [`ConfigMismatch`](crate::ErrorKind::ConfigMismatch).
//! `max_body` alone is this process's own limit: no backend stores or compares it.

use std::{fmt, time::Duration};

use crate::{Error, Result, in_millis, limits, millis_ceil};

/// The version of the stored layout; opening a queue of another one fails with `ConfigMismatch`.
pub const LAYOUT_VERSION: u32 = 4;

const DEFAULT_MAX_ATTEMPTS: u32 = 5;
const DEFAULT_DEAD_LETTER_CAP: u64 = 10_000;
const MAX_DEAD_LETTER_CAP: u64 = 1 << 32;
const MAX_CAPACITY: usize = u32::MAX as usize;
const MAX_AGEING: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_PACE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The configuration that the leasing kinds share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LeasingConfig {
    /// Deliveries of a message before it goes to the dead letters (L6). 5 by default.
    pub max_attempts: u32,
    /// The most dead letters that the queue keeps; beyond it a new one displaces the oldest (L13).
    /// 10,000 by default; zero keeps none.
    pub dead_letter_cap: u64,
    /// Bytes of body and headers in one message that this handle accepts. 1 MiB by default.
    pub max_body: usize,
}

impl Default for LeasingConfig {
    fn default() -> Self {
        Self {
            max_attempts: DEFAULT_MAX_ATTEMPTS,
            dead_letter_cap: DEFAULT_DEAD_LETTER_CAP,
            max_body: limits::DEFAULT_MAX_BODY,
        }
    }
}

impl LeasingConfig {
    fn check(&self) -> Result<()> {
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
        check_max_body(self.max_body)
    }

    fn check_stored(&self, stored: &Self) -> Result<()> {
        same("max_attempts", stored.max_attempts, self.max_attempts)?;
        same(
            "dead_letter_cap",
            stored.dead_letter_cap,
            self.dead_letter_cap,
        )
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

        /// How many bytes of body and headers a message may have, up to
        /// [`limits::MAX_BATCH_BYTES`]. A limit of this handle, not stored.
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

/// A reliable queue's configuration.
///
/// ```
/// use queue_core::ReliableConfig;
///
/// let config = ReliableConfig::default().with_max_attempts(3).with_dead_letter_cap(100);
/// assert_eq!(config.leasing.max_attempts, 3);
/// assert!(config.check().is_ok());
/// assert!(config.with_max_attempts(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct ReliableConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
}

impl ReliableConfig {
    leasing_setters!();

    plain_checks!();
}

/// A delay queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct DelayConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
}

impl DelayConfig {
    leasing_setters!();

    plain_checks!();
}

/// A priority queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct PriorityConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
    /// The waiting time that weighs as much as one step of priority (P4); `None` is strict
    /// priority.
    pub ageing: Option<Duration>,
}

impl PriorityConfig {
    leasing_setters!();

    /// The error of a change of the ageing while messages are ready.
    pub fn ageing_of_ready(ready: u64) -> Error {
        Error::invalid(format!(
            "another ageing while {ready} messages are ready would change their order: change it when \
             nothing is ready"
        ))
    }

    /// Makes one step of priority worth this much waiting, 1 ms to 24 h, so that strict priority
    /// cannot starve less urgent messages (P4).
    #[must_use]
    pub fn with_ageing(mut self, per_step: Duration) -> Self {
        self.ageing = Some(per_step);
        self
    }

    /// Checks the limits, as every open does first.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the value.
    pub fn check(&self) -> Result<()> {
        self.leasing.check()?;
        check_optional("ageing", self.ageing, MAX_AGEING)
    }

    /// Checks this against the stored configuration.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values.
    pub fn check_stored(&self, stored: &Self) -> Result<()> {
        self.leasing.check_stored(&stored.leasing)?;
        same("ageing", Millis(stored.ageing), Millis(self.ageing))
    }
}

/// A bounded queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BoundedConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
    /// The most messages, ready, delayed and leased together (B1): 1 to 2^32 − 1.
    pub capacity: usize,
}

impl BoundedConfig {
    /// The default configuration with this capacity.
    pub fn new(capacity: usize) -> Self {
        Self {
            leasing: LeasingConfig::default(),
            capacity,
        }
    }

    leasing_setters!();

    /// Checks the limits, as every open does first.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the value.
    pub fn check(&self) -> Result<()> {
        self.leasing.check()?;
        check_capacity(self.capacity)
    }

    /// Checks this against the stored configuration. `resized` says that a
    /// [`resize`](crate::BoundedQueue::resize) has changed the capacity: from then on the stored
    /// one wins, and this does not compare it.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values; for the capacity also the open that changes it,
    /// [`Queues::bounded_or_resize`](crate::Queues::bounded_or_resize).
    pub fn check_stored(&self, stored: &Self, resized: bool) -> Result<()> {
        self.leasing.check_stored(&stored.leasing)?;
        if resized || stored.capacity == self.capacity {
            return Ok(());
        }
        Err(mismatch(
            "capacity",
            stored.capacity,
            self.capacity,
            "open it with the stored value, change the capacity to this one by bounded_or_resize \
             (open_or_resize of a backend), or use another name",
        ))
    }
}

/// A rotating queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RotatingConfig {
    /// The time from a visit until the item is due again (T4); `None` rotates as fast as callers
    /// ask.
    pub pace: Option<Duration>,
    /// Bytes of body and headers in one item that this handle accepts. 1 MiB by default.
    pub max_body: usize,
}

impl Default for RotatingConfig {
    fn default() -> Self {
        Self {
            pace: None,
            max_body: limits::DEFAULT_MAX_BODY,
        }
    }
}

impl RotatingConfig {
    /// The error of a change of the pace of a ring with too many items.
    pub fn pace_of_many(items: u64) -> Error {
        Error::invalid(format!(
            "another pace for a ring of {items} items: at most {} are allowed; insert them into a \
             new ring",
            limits::MAX_REPACED
        ))
    }

    /// Visits each item at most once in this time, 1 ms to 365 days (T4).
    #[must_use]
    pub fn with_pace(mut self, pace: Duration) -> Self {
        self.pace = Some(pace);
        self
    }

    /// How many bytes of body and headers an item may have, up to [`limits::MAX_BATCH_BYTES`]. A
    /// limit of this handle, not stored.
    #[must_use]
    pub fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Checks the limits, as every open does first.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the value.
    pub fn check(&self) -> Result<()> {
        check_optional("pace", self.pace, MAX_PACE)?;
        check_max_body(self.max_body)
    }

    /// Checks this against the stored configuration.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values.
    pub fn check_stored(&self, stored: &Self) -> Result<()> {
        same("pace", Millis(stored.pace), Millis(self.pace))
    }
}

/// Checks a bounded queue's capacity: 1 to 2^32 − 1.
///
/// # Errors
///
/// `Invalid`, naming the value.
pub fn check_capacity(capacity: usize) -> Result<()> {
    if capacity == 0 || capacity > MAX_CAPACITY {
        return Err(Error::invalid(format!(
            "a capacity of {capacity}: 1 to {MAX_CAPACITY} is allowed"
        )));
    }
    Ok(())
}

/// The error of an open that asks for another value than the stored one.
pub fn config_mismatch(what: &str, stored: impl fmt::Display, asked: impl fmt::Display) -> Error {
    let way_out = "open it with the stored value, or use another name";
    mismatch(what, stored, asked, way_out)
}

fn mismatch(
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

fn same<V: PartialEq + fmt::Display>(what: &str, stored: V, asked: V) -> Result<()> {
    if stored == asked {
        return Ok(());
    }
    let way_out = "open it with the stored value, change that by reconfigure, or use another name";
    Err(mismatch(what, stored, asked, way_out))
}

/// An optional duration in whole milliseconds, as backends store it, for comparing and showing.
struct Millis(Option<Duration>);

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

fn check_max_body(bytes: usize) -> Result<()> {
    if bytes == 0 || bytes > limits::MAX_BATCH_BYTES {
        return Err(Error::invalid(format!(
            "a max_body of {bytes} bytes: 1 to {} is allowed",
            limits::MAX_BATCH_BYTES
        )));
    }
    Ok(())
}

fn check_optional(what: &str, value: Option<Duration>, longest: Duration) -> Result<()> {
    match value {
        Some(duration) if duration.is_zero() || duration > longest => Err(Error::invalid(format!(
            "{what} of {}: between 1 ms and {} is allowed; leave it out for none",
            in_millis(duration),
            in_millis(longest)
        ))),
        _ => Ok(()),
    }
}
