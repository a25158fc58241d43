//! Helpers for the tests of several crates: [`property`] tries random values, [`interleave`] tries orders
//! of threads.

pub mod interleave;
pub mod property;
