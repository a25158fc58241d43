//! The published strategies on a real server: the commands of other programs, the calls that each queue
//! refuses, and the keys of its messages.

#![cfg(unix)]

mod companions;
mod foreign;
mod ground;
mod losses;
mod migration;
mod mistakes;
mod opening;
mod pops;
mod ranges;
mod recipes;
mod refusals;
mod settings;
mod settling;
mod unknown;
mod wire_bounded;
mod wire_delay;
mod wire_json;
mod wire_lists;
mod wire_rings_and_streams;
mod wire_topics;

use queue_testing::until;
