//! The service, as a program of its own, from outside.

#![cfg(unix)]

mod deployed;
mod endpoints;
mod killed;
mod page;
mod process;
