//! The parts of this backend that `queue-file` needs to keep its queues on a disk: values as bytes, calls at a given
//! time, and the states of queues as bytes.
//!
//! The states are deterministic: the same calls at the same times, one after another, give the same state.

pub use crate::{
    clock::at,
    coded::{Coded, put_slice},
};
