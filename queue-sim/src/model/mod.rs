//! Reference models, with which the checks compare a backend: one model of the kinds that lease, and one of the ring.
//!
//! `CONTRACT.md` is a model's only source. A model is naive on purpose: it keeps every message of its history in one
//! `Vec`, and computes every answer by a scan and a sort. It shares no code with a backend, and neither the limits nor
//! the order with `queue-core`. It shares only the types of the answers, so that the checks can compare them. Time is
//! an argument, and no call waits.

mod bucket;
mod cancel;
mod entry;
mod find;
mod groups;
mod kinds;
mod leasing;
mod limits;
mod line;
mod mark;
mod operator;
mod order;
mod peek;
mod places;
mod push;
mod rates;
mod reschedule;
mod turns;
mod view;

pub use self::{kinds::*, leasing::LeasingModel};
pub(crate) use self::{peek::UNDETERMINED, view::PlaceView};

/// A model's answer: what the backend must answer, or the kind of its error.
pub type ModelResult<T> = std::result::Result<T, queue_core::ErrorKind>;
