//! Families of durable jobs: a job, the steps that it remembers, and the children that it pushed.

mod cancel;
mod lookup;
mod steps;

pub use self::{
    cancel::{CancelledFamily, CancelledIn, cancel_family},
    steps::{ChildrenSeen, Family, ParentJob, StepSeen, StepState, family, found_as_json},
};
