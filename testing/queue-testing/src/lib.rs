//! Helpers for the tests of several crates: [`property`] tries random values, [`interleave`] tries orders
//! of threads, [`chain`] reads the causes of errors, [`until`] waits for events.

pub mod chain;
pub mod interleave;
pub mod property;
pub mod until;
