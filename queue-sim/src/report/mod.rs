//! Reports for people: a failure as a history view, and the totals of many runs in a line.

mod columns;
mod file;
mod held;
mod layout;
mod leases;
mod picture;
mod replay;
mod rows;
mod rules;
mod shown;
mod summary;
mod timeline;
mod values;
mod wording;

pub(crate) use self::{
    columns::{named_columns, parting_rows},
    file::keep_picture,
    picture::Picture,
    shown::Shown,
    timeline::marks,
};
pub use self::{
    replay::{failure_report, relapse, replay_line},
    rules::rule,
    summary::summary,
    timeline::{history_view, picture, timeline},
};
