//! Helpers for the tests of several crates: [`property`] tries random values, [`interleave`] tries orders
//! of threads, [`chain`] reads the causes of errors, [`until`] waits for events, [`disk`] mounts a small disk.

pub mod chain;
pub mod disk;
pub mod interleave;
pub mod property;
pub mod until;
