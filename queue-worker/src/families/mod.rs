//! Families of jobs, as a worker sees them: looks at children, and parents that wait for them.

mod look;
mod parents;

pub use self::look::FailedChild;
pub(crate) use self::{
    look::{Look, look, results},
    parents::{Waiting, WaitingParents},
};
