//! What happened in a run: every call, when it began and how it ended, and what is known of what
//! the backend really did.
//!
//! A [`Recorder`] in front of a lane's queues writes each call down; the fault decorator and the
//! wire write down when a call was *executed*, which is the truth that a caller may not know. Rules
//! are checked on the [`History`] afterwards.

mod journal;
mod record;
mod recorder;

pub use self::{
    journal::Journal,
    record::{CallId, Ended, Event, History, Moment, Outcome, Record},
    recorder::{Recorder, current_call},
};
