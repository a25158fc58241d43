//! The page for operators over its HTTP surface, in this process: doors, links, tables, verbs, and more than a page.

#![cfg(feature = "web")]

mod doors;
mod large;
mod links;
mod machines;
mod redacted;
#[cfg(feature = "schedules")]
mod schedules;
mod shown;
mod site;
mod verbs;
