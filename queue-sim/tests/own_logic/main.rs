//! Somebody's own logic under the simulator: two worked examples, which the page
//! `docs/simulate-your-logic.md` tells, and what keeps a simulation honest.

mod asked;
mod gift_feed;
mod honest;
mod jobs;
mod kept;
mod order_timeouts;
mod several_queues;
mod told;
mod worth;
