//! Each finding, from both sides of its thresholds and beside other findings, in virtual time.

mod beside;
mod families;
mod folder;
mod handlers;
mod rates;
mod samples;
mod server;
mod thresholds;
mod told;
