//! The page for operators over its HTTP surface, in this process: doors, links, tables, verbs, and more than a page.

#![cfg(feature = "web")]

mod adding;
mod asking;
mod bodies;
mod doors;
mod families;
mod filter;
mod large;
mod links;
mod list;
mod machines;
mod redacted;
#[cfg(feature = "schedules")]
mod schedules;
mod shown;
mod site;
mod times;
mod verbs;
