//! The nights: each is a way in which a queue stands still, and the first line of the diagnosis names it. On memory
//! where it can happen there, and on a real server, through the program `qk`.

#![cfg(unix)]

#[cfg(feature = "cli")]
mod families;
#[cfg(feature = "cli")]
mod folder;
mod in_memory;
#[cfg(feature = "cli")]
mod on_redis;
mod pairs;
mod quiet;
mod refusals;
#[cfg(feature = "cli")]
mod schedules;
mod setups;
mod under_load;
