//! Values that know no queue: names, ids, times, limits, pages, counts and errors.

mod counters;
pub(crate) mod deadline;
mod error;
mod headers;
mod holder;
mod id;
pub(crate) mod in_json;
mod kind;
pub mod limits;
mod millis;
mod name;
mod page;
mod sanitized;
mod time;
mod time_to_live;
mod timestamps;
mod trace_parent;

pub use self::{
    counters::{Counters, Depth},
    deadline::caller_deadline,
    error::{Error, ErrorKind, Outcome, Result, with_sources},
    headers::Headers,
    holder::Holder,
    id::{MessageId, Receipt, Token},
    kind::QueueKind,
    millis::{in_millis, millis_ceil},
    name::QueueName,
    page::{Cursor, Page, Paged},
    sanitized::{is_unprintable, sanitized},
    time::{Due, Timestamp},
    time_to_live::{Outdated, TimeToLive},
    trace_parent::TraceParent,
};
