//! The checks, on handwritten histories: each rule passes a good one, and fails one that is only
//! slightly wrong.

mod bounded;
mod cancelling;
mod delay;
mod distinct;
mod handing_over;
mod history_builder;
mod leases;
mod messages;
mod order;
mod outdating;
mod peeking;
mod rotating;
mod runs;
mod waiting;
