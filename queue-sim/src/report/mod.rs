//! Reports for people: a failure as lanes in time, and the totals of many runs in a line.

mod held;
mod lanes;
mod layout;
mod leases;
mod replay;
mod rows;
mod rules;
mod summary;
mod timeline;
mod values;
mod wording;

pub(crate) use self::{
    lanes::{named_lanes, parting_lanes},
    timeline::marks,
};
pub use self::{
    replay::{relapse, replay_line, story},
    rules::rule,
    summary::summary,
    timeline::{lanes_in_time, timeline},
};
