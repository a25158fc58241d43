//! The worker in virtual time, on queues in memory: what it does for each line of its description.

mod ground;
mod outage;
mod outcomes;
mod round_trips;
mod spy;
