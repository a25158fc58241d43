//! The page for operators: who may do what, what it costs, what it shows of hostile data, and each page and action in
//! a real browser.

#![cfg(all(unix, feature = "cli"))]

mod browser;
mod cost;
mod driver;
mod guarded;
mod hostile;
mod site;
