//! Durable jobs: steps whose results stay with the message, sleeps, and children.

mod children;
mod join;
mod journal;
mod look;
mod name;
mod parents;
mod sleep;
mod spawn;
mod step;

pub(crate) use self::parents::WaitingParents;
pub use self::{
    children::{Children, FailedChild, Joined},
    name::StepName,
};
