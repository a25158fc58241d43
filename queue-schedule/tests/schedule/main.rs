//! Periodic jobs in virtual time, on queues in memory: a test for each rule.

mod calendars;
mod environment;
#[cfg(feature = "planted")]
mod planted;
mod rules;
mod storms;
