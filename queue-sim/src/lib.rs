//! Proof for queue-kit.
//!
//! [`mod@conformance`] is one suite of cases, each named by its rule of `CONTRACT.md`, that any
//! backend can be put through: [`conformance!`] makes a `#[test]` of each case. A backend in this
//! process plays it on [`InVirtualTime`] and [`OnThreads`], another one on its own [`Harness`]. The
//! page `docs/write-your-own-backend.md` in the repository builds a backend step by step.
//!
//! [`model`] has a naive reference model of each kind, and compares any backend with it, operation
//! by operation.
//!
//! And there is a simulator: runs of several clients under faults, in virtual time, each of them
//! the same again for the same decisions. [`run::Runs`] plays and checks many of them and shrinks
//! what fails; [`report`] shows that as lanes in time. A run's parts, in order: its decisions
//! ([`plan`]), the executor that they drive ([`engine`]), what the clients do ([`workload`]) and
//! on what ([`world`]), what is written down of it ([`history`]), and how that is judged
//! ([`check`]). The program `sim` does all of it from the command line.
//!
//! [`mod@sim`] plays your own producers and handlers under crashes, lost replies and expired leases:
//! the page `docs/simulate-your-logic.md` shows how.

pub mod call;
pub mod check;
pub mod conformance;
pub mod engine;
mod harness;
pub mod history;
mod in_process;
pub mod model;
pub mod plan;
#[cfg(all(unix, feature = "redis"))]
pub mod redis;
pub mod report;
pub mod run;
pub mod sim;
mod standstill;
pub mod workload;
pub mod world;

pub use self::{
    harness::{Capabilities, Capability, Harness, Play},
    in_process::{InVirtualTime, OnThreads},
};
