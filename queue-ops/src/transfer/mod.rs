//! Messages from one queue to another: exported as lines of JSON, imported, or moved.
//!
//! Each message is pushed under a dedup key of its transfer and its id. So a transfer that broke can be repeated for
//! seven days, and pushes nothing twice (L9).

mod exporting;
mod importing;
mod line;
mod message;
mod moving;
mod present;

pub use self::{
    exporting::{Exported, export},
    importing::{Transferred, import},
    message::{ExportedBody, ExportedGroup, ExportedMessage, ExportedPlace, ExportedTimeToLive},
    moving::move_messages,
};
