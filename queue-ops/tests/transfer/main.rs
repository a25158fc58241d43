//! Messages are carried from queue to queue as they are, and each once.

#![cfg(all(unix, feature = "cli"))]

mod beside_others;
mod commands;
mod format;
mod groups;
mod round_trips;
mod setting;
