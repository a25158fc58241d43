//! Faults of every sort, one after another in a random order, while messages of every kind of queue flow.
//! Every message is accounted for, and afterwards the servers have their memory and their connections back,
//! and the client its tasks.
//!
//! Each scene has servers of its own, and they play beside each other. `QUEUE_CHAOS_ROUNDS` is how many of
//! each fault there are. By default there are as many as a busy machine plays in two minutes: ten of
//! what is over in a moment, and fewer of failovers, which wait for a second or more until the servers agree.
//! `QUEUE_CHAOS_SECONDS` goes on with more until so much time is over. `QUEUE_CHAOS_SEED`, which each run
//! prints, sets the order.

mod clusters;
mod copies;
mod one_server;
mod operator;
mod operators;
mod remains;
mod rounds;
mod sentinels;
mod servers;
