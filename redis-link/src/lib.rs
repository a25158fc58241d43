//! Connections to Redis, and requests with an exact outcome: to one server, through TLS, behind Sentinel, or to a
//! cluster. The backend `queue-redis` uses it.
//!
//! The redis crate packs requests and reads replies. This crate opens connections, tests them, replaces them, and
//! resends only requests that certainly did not run. It does not know what its owner stores. The owner passes what
//! depends on that: `Needs` (scripts, rights, sizes), the meanings of its scripts' errors, the limits of a batch, and a
//! `Companion` for each node.
//!
//! Of queue-core it uses errors, times, the tasks of its caller, and the copies that a caller asks for.
//!
//! Programs use `queue-redis`, which passes on the types of [`connection`]. All else is hidden here: it serves the crates of
//! this repository alone, and any release may change it.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// A point at which a test lets another thread run. See `queue_testing::interleave`.
macro_rules! step {
    () => {
        #[cfg(test)]
        queue_testing::interleave::step();
    };
}

#[doc(hidden)]
pub mod batching;
mod call;
mod client;
mod clock;
#[doc(hidden)]
pub mod cluster;
pub mod connection;
mod erased_arc;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod node;
mod panic;
mod resend;
mod script;
mod waits;

#[doc(hidden)]
pub use self::{
    call::ScriptCall,
    client::{Client, Route, Servers},
    clock::Clock,
    erased_arc::ErasedArc,
    resend::{ScriptOwner, Undone, send_calls},
    script::Script,
};
