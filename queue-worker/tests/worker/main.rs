//! The worker in virtual time, on queues in memory: a test for each statement of its documentation.

mod batch_slots;
mod batches;
mod contexts;
mod durable;
mod environment;
mod fairness;
mod handing_over;
mod health;
mod heartbeats;
mod layers;
mod leases;
mod lists;
mod looks;
mod operators;
mod outage;
mod outcomes;
mod panics;
mod pauses;
#[cfg(feature = "planted")]
mod planted;
mod rate;
mod refusals;
mod registration;
mod results;
mod round_trips;
mod router;
mod settings;
mod shutdown;
#[cfg(all(unix, feature = "signal"))]
mod signals;
mod slow_answers;
mod spy;
mod states;
mod steering;
mod threads;
