//! The simulator of queue-kit, for users who simulate their own producers and handlers, and for
//! authors who prove a backend.
//!
//! [`mod@sim`] plays your own producers and handlers under crashes, lost replies and expired leases:
//! the page `docs/simulate-your-logic.md` in the repository shows how.
//!
//! Beneath it are runs of several clients under faults, in virtual time. The same decisions always play the same run.
//! [`run::Runs`] plays and checks many runs, and shrinks a failure; [`report`] shows the failure as a history view. A
//! run consists of its decisions ([`plan`]), the executor that follows them ([`engine`]), the clients' work
//! ([`workload`]) and its environment ([`world`]; on a real Redis, `wire`). Its history ([`history`]) goes through the
//! checks ([`check`]). The program `sim` does all of it from the command line.
//!
//! [`model`] has a naive reference model of any queue. [`sequence`] plays random calls of one
//! client, which reach the bounds of batches, pages and bodies.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod check;
pub mod engine;
pub mod history;
pub mod model;
mod named;
pub mod plan;
pub mod report;
pub mod run;
pub mod sequence;
pub mod sim;
#[cfg(all(unix, feature = "redis"))]
pub mod wire;
pub mod workload;
pub mod world;
