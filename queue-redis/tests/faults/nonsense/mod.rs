//! A server, or something between, that answers nonsense: every call ends in time with an error of the right
//! outcome, and afterwards the same backend works.
//!
//! Nonsense that is a good answer to another question passes for one: only TLS tells it. But a slip of replies
//! ends as soon as one of them cannot be read.

// A test's own future awaits them all.
#![allow(clippy::future_not_send)]

mod peer;
mod places;
mod replies;
mod slips;
