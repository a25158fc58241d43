//! A client whose requests are changed, or refused, on their way to a real server.

#![cfg(unix)]

mod bugs;
mod half_way;
mod planted;
mod verbs;
mod wire;
