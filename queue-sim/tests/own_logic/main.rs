//! A user's own logic under the simulator: the checks that keep a simulation honest, and what a
//! simulation tells. The worked examples are those of `docs/simulate-your-logic.md`, which the test
//! `pages` follows.

mod asked;
#[cfg(all(unix, feature = "redis"))]
mod gift_feed;
mod honest;
mod jobs;
mod kept;
mod several_queues;
mod told;
mod worth;
