//! Each command of `qk` with each of its options: its words, its status, what it changes, and what stays as it was.

#![cfg(all(unix, feature = "cli"))]

mod dead;
mod families;
mod folder;
mod groups;
mod many;
#[cfg(feature = "outbox")]
mod outbox;
mod output;
mod paging;
mod pasted;
mod push;
mod reading;
mod rights;
mod schedules;
mod site;
mod verbs;
mod watch;
mod web;
