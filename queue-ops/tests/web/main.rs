//! The page for operators: rights, costs, hostile data, and each page and action in a real browser.

#![cfg(all(unix, feature = "cli"))]

mod browser;
mod cost;
mod deployed;
mod driver;
mod guarded;
mod hostile;
mod jobs;
mod site;
mod standstill;
