//! The simulator of queue-kit, for who simulates their own producers and handlers, and for who proves
//! a backend.
//!
//! [`mod@sim`] plays your own producers and handlers under crashes, lost replies and expired leases:
//! the page `docs/simulate-your-logic.md` in the repository shows how.
//!
//! Beneath it are runs of several clients under faults, in virtual time, each of them the same again
//! for the same decisions. [`run::Runs`] plays and checks many of them and shrinks what fails;
//! [`report`] shows that as lanes in time. A run's parts, in order: its decisions ([`plan`]), the
//! executor that they drive ([`engine`]), what the clients do ([`workload`]) and on what ([`world`];
//! on a real Redis, `wire`), what is written down of it ([`history`]), and how that is judged
//! ([`check`]). The program `sim` does all of it from the command line.
//!
//! [`model`] has a naive reference model of each kind. [`sequence`] plays random calls of one client,
//! which meet the bounds of batches, pages and bodies.

pub mod check;
pub mod engine;
pub mod history;
pub mod model;
pub mod plan;
pub mod report;
pub mod run;
pub mod sequence;
pub mod sim;
#[cfg(all(unix, feature = "redis"))]
pub mod wire;
pub mod workload;
pub mod world;
