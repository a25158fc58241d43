//! Faults of every sort, one after another in a random order, while messages of every kind of queue flow.
//! Every message is accounted for, and afterwards the servers have their memory and their connections back,
//! and the client its tasks.
//!
//! Each scene has servers of its own, and they play beside each other. `QUEUE_FAULT_ROUNDS` is the number
//! of rounds of each fault. The default suits a busy machine and two minutes: ten rounds of short faults,
//! and fewer failovers, because the servers need a second or more to agree. `QUEUE_FAULT_SECONDS` adds
//! rounds until that time is over. `QUEUE_FAULT_SEED`, which each run prints, sets the order.

mod clusters;
mod copies;
mod one_server;
mod operator;
mod operators;
mod remains;
mod rounds;
mod sentinels;
mod servers;
