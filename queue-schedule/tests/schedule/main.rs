//! Periodic jobs in virtual time, on queues in memory: a test for each rule.

mod calendars;
mod environment;
mod rules;
mod storms;
