//! The promises of a Redis queue when things go wrong. These tests go beyond the suite, on real
//! servers of their own.

#![cfg(unix)]
// The test's own future awaits all tasks.
#![allow(clippy::future_not_send)]

mod clocks;
mod damage;
mod foreign;
mod ground;
mod memory;
mod nonsense;
#[path = "../support/patient.rs"]
mod patient;
mod recreated;
mod refused_writes;
mod scripts;
mod subject;
mod verbs;
