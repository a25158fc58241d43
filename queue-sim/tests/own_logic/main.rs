//! A user's own logic under the simulator: the two worked examples of the page
//! `docs/simulate-your-logic.md`, and the checks that keep a simulation honest.

mod asked;
mod gift_feed;
mod honest;
mod jobs;
mod kept;
mod order_timeouts;
mod several_queues;
mod told;
mod worth;
