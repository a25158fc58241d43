//! Connections to Redis, and requests with an exact outcome: to one server, through TLS, behind Sentinel, or to a
//! cluster. The backend `queue-redis` uses it.
//!
//! The redis crate packs requests and reads replies. This crate opens connections, tests them, replaces them, and
//! resends only requests that certainly did not run. It knows nothing of queues. Its owner passes its needs (scripts,
//! rights, a companion for each node) as data: `Needs` and `Companion`.
//!
//! Programs use `queue-redis`, which passes on the types of [`connection`]. All else is hidden here: it serves that crate
//! alone, and any release may change it.

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
mod confirmer;
pub mod connection;
mod erased_arc;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod node;
mod panic;
mod script;
mod waits;

#[doc(hidden)]
pub use self::{
    call::ScriptCall,
    client::{Client, Route, Servers},
    clock::Clock,
    confirmer::Confirmer,
    erased_arc::ErasedArc,
    script::Script,
};
