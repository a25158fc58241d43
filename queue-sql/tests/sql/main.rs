//! The outbox, the relay and the inbox on real databases, and on queues in memory.

mod drivers;
mod edges;
mod once;
mod poolers;
mod rights;
mod support;
mod watched;
