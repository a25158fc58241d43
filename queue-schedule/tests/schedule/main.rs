//! Periodic jobs in virtual time, on queues in memory: a test for each rule.

mod calendars;
mod costs;
mod edits;
mod environment;
mod isolation;
mod oracle;
#[cfg(feature = "planted")]
mod planted;
mod random;
mod rules;
mod runs;
mod storms;
