//! What several crates' tests need: [`property`] tries random values, [`interleave`] tries orders of
//! threads.

pub mod interleave;
pub mod property;
