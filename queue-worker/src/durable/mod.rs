//! Durable jobs: steps whose results stay with the message, sleeps, and children.

mod batch;
mod chain;
mod children;
mod join;
mod journal;
mod look;
mod member;
mod name;
mod parents;
mod sleep;
mod spawn;
mod step;

pub(crate) use self::parents::WaitingParents;
pub use self::{
    batch::{Batch, BatchReport, OnFailure, batches},
    chain::{Chain, chains},
    children::{Children, FailedChild, Joined},
    name::StepName,
};
