//! Durable jobs: steps whose results stay with the message, sleeps, and children.

mod batch;
mod chain;
mod children;
mod join;
mod journal;
mod member;
mod name;
mod sleep;
mod spawn;
mod step;

pub use self::{
    batch::{Batch, BatchReport, OnFailure, batches},
    chain::{Chain, chains},
    children::{Children, Joined},
    name::StepName,
};
