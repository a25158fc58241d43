//! What callers have beside the primitives, on queues in memory and in virtual time: calls that
//! wait, typed handles, and the bodies that a trait's methods have by default.

mod defaults;
mod troubled;
mod typed;
mod waiting;
