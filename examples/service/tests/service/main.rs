//! The service, as a program of its own, from outside.

#![cfg(unix)]

mod deployed;
mod endpoints;
mod killed;
mod mounted;
mod page;
mod process;
#[cfg(feature = "postgres")]
mod shop;
