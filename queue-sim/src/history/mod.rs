//! The history of a run: every call with its beginning and its end, and what the backend really
//! did.
//!
//! A [`Recorder`] in front of a process's queues writes down each call. The fault decorator and the wire write down
//! when the backend *executed* a call: that is the truth, which a caller may not know. The checks read the [`History`]
//! afterwards.

mod journal;
mod record;
mod recorder;

pub use self::{
    journal::Journal,
    record::{CallEnd, CallId, Ended, Event, History, Moment, Record},
    recorder::{Recorder, current_call},
};
